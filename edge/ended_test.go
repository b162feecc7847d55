package edge

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/graph"
	"carrel/library"
	"carrel/principal"
)

// manyUsers is a query of 100 users, of which each has two fields with a resolver.
const manyUsers = `{"query":"{nodes(ids:[\"x\"]){...on User{id displayName email library{bucket}}}}"}`

func hundredUsers() []library.Node {
	users := make([]library.Node, 100)
	for i := range users {
		users[i] = user("u:acme:ann")
	}
	return users
}

// TestHandler_NoFieldBeginsAfterTheEnd: a resolver that does not look at its context is the last one
// that a query calls after its time is over, or its client has left.
func TestHandler_NoFieldBeginsAfterTheEnd(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := newEdge(t, nil)
			client, leave := context.WithCancel(t.Context())
			e.onMany = func(ctx context.Context, _ []string) ([]library.Node, error) {
				if leaves {
					leave()
				}
				<-ctx.Done()
				return hundredUsers(), nil
			}
			r := httptest.NewRequestWithContext(client, http.MethodPost, "/graphql", strings.NewReader(manyUsers))
			r.Header.Set("Content-Type", "application/json")
			began := time.Now()
			a := e.do(t, r)
			if took := time.Since(began); leaves != (took == 0) || took > 10*time.Second {
				t.Errorf("client leaves %t: the answer took %s", leaves, took)
			}
			if n := e.calls.Load(); n != 1 || a.code() != "TIMEOUT" || strings.Contains(a.Body.String(), "Ann") {
				t.Errorf("client leaves %t: %d resolvers were called; %d %s", leaves, n, a.Code, a.Body)
			}
			if used := e.handler.AnswerBytes(); used != 0 || e.log.Len() > 0 {
				t.Errorf("client leaves %t: %d bytes are reserved; logged: %s", leaves, used, e.log.String())
			}
			leave()
		})
	}
}

const makeBo = `{"query":"mutation{createUser(input:{tenant:\"acme\",name:\"bo\",displayName:\"Bo\",email:\"b@example.org\"}){user{id}}}"}`

// TestHandler_AMutationShowsItsResultAfterTheEnd, because its change was made: its time is over, or its client
// has closed its own side of the connection and still reads.
func TestHandler_AMutationShowsItsResultAfterTheEnd(t *testing.T) {
	for accept, end := range map[string]string{"application/json": "", "text/event-stream": "event: complete\ndata:\n\n"} {
		for _, leaves := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				e := newEdge(t, nil)
				client, leave := context.WithCancel(t.Context())
				defer leave()
				e.onMake = func(ctx context.Context, _ graph.CreateUserInput) (*graph.CreateUserPayload, error) {
					if leaves {
						leave()
					}
					<-ctx.Done()
					return &graph.CreateUserPayload{User: user("u:acme:bo")}, nil
				}
				r := httptest.NewRequestWithContext(client, http.MethodPost, "/graphql", strings.NewReader(makeBo))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", accept)
				w := httptest.NewRecorder()
				e.handler.ServeHTTP(w, r)
				if body := w.Body.String(); strings.Contains(body, "errors") || !strings.Contains(body, "u:acme:bo") || !strings.HasSuffix(body, end) {
					t.Errorf("%s, client leaves %t: %d %s", accept, leaves, w.Code, body)
				}
			})
		}
	}
}

// TestHandler_AMutationIsNotExecutedAfterTheEnd, if it had not begun.
func TestHandler_AMutationIsNotExecutedAfterTheEnd(t *testing.T) {
	e := newEdge(t, nil)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(makeBo))
	r.Header.Set("Content-Type", "application/json")
	if a := e.do(t, r); a.Code != http.StatusGatewayTimeout || a.code() != codeTimeout || e.calls.Load() != 0 {
		t.Errorf("%d calls: %d %s", e.calls.Load(), a.Code, a.Body)
	}
}

// leavingEvent is a subscription whose client leaves while its event is resolved.
type leavingEvent struct {
	graph.Executor
	op     *operation
	leave  func()
	called int // fields that were resolved
}

func (l *leavingEvent) Execute(ctx context.Context, _ *graph.Execution) gqlerror.List {
	ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{Field: graphql.CollectedField{Field: &ast.Field{Alias: "ticks"}}})
	for range 100 {
		_, _ = l.op.resolve(ctx, func(context.Context) (any, error) { l.called++; l.leave(); return 1, nil })
	}
	return nil
}

// TestResults_AnEventThatEndsIsNotSent: a subscription that ends while its event is resolved resolves
// no further fields, and sends no error in place of the event.
func TestResults_AnEventThatEndsIsNotSent(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	ctx, leave := context.WithCancel(t.Context())
	r := e.startResults(ctx, t)
	defer func() { r.end(); <-s.ended }()
	event := &leavingEvent{op: r.op, leave: leave}
	e.handler.graph = event
	go func() { s.events <- 1 }()
	if done := r.next(); done != nil || event.called != 1 {
		t.Errorf("%d fields were resolved; the result is %+v", event.called, done)
	}
}

// TestTransports_AClientThatLeavesEndsItsQuery: the resolver's context ends, on every transport.
func TestTransports_AClientThatLeavesEndsItsQuery(t *testing.T) {
	const body = `{"query":"{user(id:\"x\"){id}}"}`
	post := func(ctx context.Context, server *httptest.Server, accept string) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", accept)
		if answer, err := server.Client().Do(r); err == nil { // an event stream begins before its event
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	}
	for name, c := range map[string]struct {
		http2  bool
		accept string // "": over a websocket
	}{
		"POST":                {false, "application/json"},
		"POST over HTTP/2":    {true, "application/json"},
		"events":              {false, "text/event-stream"},
		"events over HTTP/2":  {true, "text/event-stream"},
		"websocket":           {},
		"websocket, complete": {},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			entered, ended := make(chan struct{}), make(chan struct{})
			e.onUser = func(ctx context.Context, _ string) (*principal.User, error) {
				close(entered)
				select {
				case <-ctx.Done():
					close(ended)
				case <-t.Context().Done():
				}
				return nil, ctx.Err()
			}
			server := httptest.NewUnstartedServer(e.handler)
			server.Config = Server(e.handler, DefaultLimits(), slog.New(slog.DiscardHandler))
			if server.EnableHTTP2 = c.http2; c.http2 {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			var sending sync.WaitGroup
			defer sending.Wait()
			began := time.Now()
			if c.accept == "" {
				so := opened(t, strings.TrimPrefix(server.URL, "http://"), "")
				so.send(`{"id":"1","type":"subscribe","payload":` + body + `}`)
				<-entered
				if strings.HasSuffix(name, "complete") {
					so.send(`{"id":"1","type":"complete"}`)
				} else {
					_ = so.conn.CloseNow()
				}
			} else {
				sending.Go(func() { post(ctx, server, c.accept) })
				<-entered
				leave()
			}
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
			}
			if took := time.Since(began); took > 9*time.Second { // the time of a query is 10 s
				t.Errorf("its query ended after %s", took)
			}
		})
	}
}
