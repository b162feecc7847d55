package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/budget"
	"carrel/core/fault"
	"carrel/graph"
	"carrel/principal"
)

// named makes the resolvers return users whose displayName has n characters.
func (e *edgeUnderTest) named(n int) {
	e.onUser = func(_ context.Context, id string) (*principal.User, error) {
		u := user(id)
		u.DisplayName = strings.Repeat("x", n)
		return u, nil
	}
	e.onMake = func(ctx context.Context, in graph.CreateUserInput) (*graph.CreateUserPayload, error) {
		u, err := e.onUser(ctx, "u:"+in.Tenant+":"+in.Name)
		return &graph.CreateUserPayload{User: u}, err
	}
}

// limitedTo sets the limits on the size of answers.
func limitedTo(bytes, memory int) func(*Config) {
	return func(c *Config) { c.Limits.AnswerBytes, c.Limits.AnswerMemory = bytes, memory }
}

const threeNames = `{user(id:"x"){a:displayName b:displayName c:displayName}}`

func TestAnswerLimit_ExactlyTheLimitPassesAndOneByteMoreFails(t *testing.T) {
	for name, query := range map[string]string{
		"a query":           threeNames,
		"typenames":         `{user(id:"x"){__typename a:__typename b:__typename library{__typename bucket}}}`,
		"several roots":     `{a:user(id:"x"){displayName} b:user(id:"y"){displayName}}`,
		"entities":          entitiesOf(3),
		"the schema":        `{_service{sdl}}`,
		"escaped text":      `{user(id:"\"\"\"\u0001"){id displayName}}`,
		"a null":            `{viewer{id}}`,
		"more than a chunk": threeNames,
	} {
		t.Run(name, func(t *testing.T) {
			within := newEdge(t, nil)
			within.named(100)
			if name == "more than a chunk" {
				within.named(200_000)
			}
			size := len(within.query(t, query, nil).Data)
			for _, limit := range []int{size, size - 1} {
				e := newEdge(t, limitedTo(limit, 256<<20))
				e.onUser, e.onMake = within.onUser, within.onMake
				a := e.query(t, query, nil)
				if _, has := a.keys["data"]; limit == size && (a.code() != "" || len(a.Data) != size) || limit < size &&
					(a.code() != "ANSWER_TOO_LARGE" || has) {
					t.Errorf("%d bytes of %d: %.200s", size, limit, a.Body)
				}
				if held := e.handler.AnswerBytes(); held != 0 {
					t.Errorf("%d bytes are still reserved", held)
				}
			}
		})
	}
}

func TestAnswerLimit_HasTheStatusOfValidationErrors(t *testing.T) {
	e := newEdge(t, limitedTo(100, 256<<20))
	e.named(100)
	for media, status := range map[string]int{"application/json": 200, "application/graphql-response+json": 400} {
		a := e.query(t, threeNames, nil, "Accept: "+media)
		if a.Code != status || a.code() != "ANSWER_TOO_LARGE" || !strings.Contains(a.Errors[0].Message, "more than 100 bytes") {
			t.Errorf("%s: %d %s", media, a.Code, a.Body)
		}
	}
}

func TestAnswerLimit_ExecutedMutationsAreReported(t *testing.T) {
	const one = `createUser(input:{tenant:"a",name:"b",displayName:"B",email:"b@example.org"}){user{displayName}}`
	e := newEdge(t, limitedTo(1000, 256<<20))
	e.named(900)
	a := e.query(t, `mutation{first:`+one+` second:`+one+` third:`+one+`}`, nil, "Authorization: Bearer ann",
		"Accept: application/graphql-response+json")
	if a.Code != 200 || a.code() != "ANSWER_TOO_LARGE" || string(a.Data) != "null" || a.keys["data"] == nil {
		t.Fatalf("%d %s", a.Code, a.Body)
	}
	if got := fmt.Sprint(a.Errors[0].Extensions["executed"]); got != "[first second third]" || e.calls.Load() != 3 {
		t.Errorf("executed: %s by %d calls", got, e.calls.Load())
	}
	if text := a.Errors[0].Message; !strings.Contains(text, "were executed: read what they changed") {
		t.Error(text)
	}
	// After the answer has failed, for which memory is needed, the remaining ones are not executed.
	made := e.onMake
	e.onMake = func(ctx context.Context, in graph.CreateUserInput) (*graph.CreateUserPayload, error) {
		if e.calls.Load() == 5 {
			graph.ExecutionOf(ctx).Body.Hold(512 << 20)
		}
		return made(ctx, in)
	}
	a = e.query(t, `mutation{first:`+one+` second:`+one+` third:`+one+`}`, nil, "Authorization: Bearer ann")
	if got := fmt.Sprint(a.Errors[0].Extensions["executed"]); got != "[first second]" || e.calls.Load() != 5 {
		t.Errorf("executed: %s by %d calls: %s", got, e.calls.Load(), a.Body)
	}
}

func TestAnswerLimit_ErrorsOfAMutationAreShownToo(t *testing.T) {
	const one = `createUser(input:{tenant:"a",name:%q,displayName:"B",email:"b@example.org"}){user{displayName}}`
	e := newEdge(t, limitedTo(1000, 256<<20))
	e.named(2000)
	made := e.onMake
	var cancelled error
	e.onMake = func(ctx context.Context, in graph.CreateUserInput) (*graph.CreateUserPayload, error) {
		if in.Name == "unknown" {
			return nil, &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonOutcomeUnknown, Msg: "the outcome is unknown"}
		}
		cancelled = ctx.Err()
		return made(ctx, in)
	}
	a := e.query(t, fmt.Sprintf(`mutation{a:`+one+` b:`+one+`}`, "unknown", "long"), nil, "Authorization: Bearer ann")
	if len(a.Errors) != 2 || a.code() != "ANSWER_TOO_LARGE" || a.Errors[1].Extensions["code"] != "OUTCOME_UNKNOWN" || cancelled != nil {
		t.Errorf("%v, %s", cancelled, a.Body)
	}
}

// TestAnswerMemory_IsCheckedBeforeAMutation: a mutation is refused before it is executed if no
// memory is free for its answer.
func TestAnswerMemory_IsCheckedBeforeAMutation(t *testing.T) {
	e := newEdge(t, limitedTo(8<<20, 1<<20))
	e.named(1)
	if !e.handler.memory.Hold(budget.Nobody, 1<<20) {
		t.Fatal("no memory is free")
	}
	const one = `mutation{createUser(input:{tenant:"a",name:"b",displayName:"B",email:"b@example.org"}){user{id}}}`
	a := e.query(t, one, nil, "Authorization: Bearer ann")
	if a.Code != 503 || a.code() != "UNAVAILABLE" || a.Header().Get("Retry-After") != "1" || e.calls.Load() != 0 {
		t.Errorf("%d calls, %d %s", e.calls.Load(), a.Code, a.Body)
	}
	e.handler.memory.Free(budget.Nobody, 1<<20)
	if a := e.query(t, one, nil, "Authorization: Bearer ann"); a.code() != "" {
		t.Error(a.Body)
	}
	// After it was executed it must not fail as UNAVAILABLE, because clients would repeat it.
	if !e.handler.memory.Hold(budget.Nobody, 1<<20-64<<10) {
		t.Fatal("no memory is free")
	}
	e.named(100_000)
	a = e.query(t, strings.Replace(one, "{id}", "{displayName}", 1), nil, "Authorization: Bearer ann")
	if a.Code != 200 || a.code() != "ANSWER_TOO_LARGE" || e.calls.Load() != 2 {
		t.Errorf("%d calls, %d %s", e.calls.Load(), a.Code, a.Body)
	}
	if held := e.handler.AnswerBytes(); held != 1<<20-64<<10 {
		t.Errorf("%d bytes are still reserved", held)
	}
}

// TestAnswerMemory_IsHeldUntilTheAnswerIsSent: clients that do not read their answers use up the
// memory. Further requests are refused with a Retry-After, and succeed when the slow clients are
// gone.
func TestAnswerMemory_IsHeldUntilTheAnswerIsSent(t *testing.T) {
	for name, header := range map[string]string{"in one piece": "", "compressed": "Accept-Encoding: gzip\r\n",
		"by events": "Accept: text/event-stream\r\n"} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, limitedTo(8<<20, 20<<20))
			e.named(0)
			long := noise(2_400_000) // more than sockets buffer
			e.onUser = func(_ context.Context, id string) (*principal.User, error) {
				u := user(id)
				u.DisplayName = long
				return u, nil
			}
			addr := start(t, e.handler, DefaultLimits())
			body, _ := json.Marshal(map[string]any{"query": threeNames})
			var conns []net.Conn
			for range 2 {
				c := dial(t, addr)
				fmt.Fprintf(c, "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
					header, len(body), body)
				conns = append(conns, c)
			}
			eventually(t, func() bool { return e.handler.AnswerBytes() > 14<<20 })
			a := e.query(t, threeNames, nil)
			if a.Code != 503 || a.code() != "UNAVAILABLE" || a.Header().Get("Retry-After") != "1" || a.Errors[0].Extensions["retryAfter"] != 1.0 {
				t.Errorf("%d %.200s", a.Code, a.Body)
			}
			if a := e.query(t, `{user(id:"x"){id}}`, nil); a.code() != "" {
				t.Errorf("no memory for a short answer: %s", a.Body)
			}
			_ = conns[0].Close() // this client is gone, the other one reads
			go func() { _, _ = io.Copy(io.Discard, conns[1]) }()
			eventually(t, func() bool { return e.handler.AnswerBytes() == 0 })
			if a := e.query(t, threeNames, nil); a.code() != "" || len(a.Data) < 3*len(long) {
				t.Errorf("afterwards: %.200s", a.Body)
			}
		})
	}
}

// noise returns text that hardly compresses.
func noise(n int) string {
	var b strings.Builder
	for state := uint32(1); b.Len() < n; {
		state = state*1664525 + 1013904223
		fmt.Fprintf(&b, "%08x", state)
	}
	return b.String()[:n]
}

// panicking is a schema that panics before it resolves a field.
type panicking struct{ graph.Executor }

func (panicking) Execute(context.Context, *graph.Execution) gqlerror.List { panic("boom") }

func TestAnswerMemory_IsReleasedHoweverARequestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		onUser func(ctx context.Context, id string) (*principal.User, error)
		change func(*Config)
	}{
		"an error": {onUser: func(context.Context, string) (*principal.User, error) {
			return nil, &fault.Error{Code: fault.NotFound, Msg: "no"}
		}},
		"a panic": {onUser: func(context.Context, string) (*principal.User, error) { panic("boom") }},
		"a panic above the fields": {
			onUser: func(_ context.Context, id string) (*principal.User, error) { return user(id), nil },
			change: func(c *Config) {
				c.Schema = panicking{c.Schema}
			},
		},
		"a deadline": {
			onUser: func(ctx context.Context, _ string) (*principal.User, error) { <-ctx.Done(); return nil, ctx.Err() },
			change: func(c *Config) { c.Limits.Query = time.Millisecond },
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, c.change)
			e.onUser = c.onUser
			e.query(t, `{a:user(id:"x"){id displayName} b:user(id:"y"){id}}`, nil)
			if held := e.handler.AnswerBytes(); held != 0 {
				t.Errorf("%d bytes are still reserved", held)
			}
		})
	}
	t.Run("a client that is gone", func(t *testing.T) {
		e := newEdge(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		e.onUser = func(context.Context, string) (*principal.User, error) { cancel(); return user("x"), nil }
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(`{"query":"{user(id:\"x\"){id}}"}`))
		r.Header.Set("Content-Type", "application/json")
		e.handler.ServeHTTP(httptest.NewRecorder(), r)
		if held := e.handler.AnswerBytes(); held != 0 {
			t.Errorf("%d bytes are still reserved", held)
		}
	})
}

// TestAnswerLimit_TooLargeEventIsReplacedByAnError: if an event is too large, an error is sent
// instead, and the next event is delivered. No memory is reserved between events.
func TestAnswerLimit_TooLargeEventIsReplacedByAnError(t *testing.T) {
	for name, follow := range map[string]func(t *testing.T, addr string) func() string{
		"events": func(t *testing.T, addr string) func() string { return subscribe(t, addr).next },
		"a websocket": func(t *testing.T, addr string) func() string {
			so := opened(t, addr, "")
			so.send(`{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`)
			return so.next
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := newTickingEdge(t, limitedTo(len(`{"ticks":12}`), 1<<20))
			next := follow(t, start(t, e.handler, DefaultLimits()))
			for _, n := range []int{12, 123, 7} {
				s.events <- n
				got := next()
				if want := fmt.Sprintf(`"data":{"ticks":%d}`, n); n != 123 && !strings.Contains(got, want) {
					t.Errorf("%d: %s", n, got)
				}
				if n == 123 && (!strings.Contains(got, "ANSWER_TOO_LARGE") || !strings.Contains(got, `"data":null`)) {
					t.Errorf("%d: %s", n, got)
				}
				eventually(t, func() bool { return e.handler.AnswerBytes() == 0 })
			}
		})
	}
}

// TestAnswerMemory_SubscriptionWithoutMemoryEnds: a subscription without free memory for an event
// ends, so that its client resumes from its last cursor.
func TestAnswerMemory_SubscriptionWithoutMemoryEnds(t *testing.T) {
	s, e := newTickingEdge(t, limitedTo(8<<20, 1<<20))
	addr := start(t, e.handler, DefaultLimits())
	so := opened(t, addr, "")
	so.send(`{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`)
	s.blank = 1 << 20
	s.events <- 1
	if got := so.next(); !strings.Contains(got, `"code":"UNAVAILABLE"`) || !strings.Contains(got, `"retryAfter":1`) {
		t.Errorf("got %s", got)
	}
	if got := so.next(); got != `{"type":"complete","id":"1"}` {
		t.Errorf("got %s", got)
	}
	<-s.ended
	if held := e.handler.AnswerBytes(); held != 0 {
		t.Errorf("%d bytes are still reserved", held)
	}
}

// TestLongAnswers_ArriveWholeOverEveryTransport: long answers are sent in pieces, which clients
// must not notice.
func TestLongAnswers_ArriveWholeOverEveryTransport(t *testing.T) {
	e := newEdge(t, nil)
	e.named(300_000)
	addr := start(t, e.handler, DefaultLimits())
	want := `{"data":{"user":{"a":"` + strings.Repeat("x", 300_000) + `","b":"` + strings.Repeat("x", 300_000) + `","c":"` +
		strings.Repeat("x", 300_000) + `"}}}`
	for name, header := range map[string]string{"in one piece": "", "compressed": "gzip"} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/graphql",
				strings.NewReader(`{"query":"{user(id:\"x\"){a:displayName b:displayName c:displayName}}"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			resp, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: header == ""}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil || string(b) != want {
				t.Errorf("%v: %d bytes, %.100s", err, len(b), b)
			}
			if resp.Uncompressed != (header != "") {
				t.Errorf("compressed: %v", resp.Uncompressed)
			}
		})
	}
	t.Run("a websocket", func(t *testing.T) {
		s := opened(t, addr, "")
		s.conn.SetReadLimit(-1)
		s.send(`{"id":"1","type":"subscribe","payload":{"query":"{user(id:\"x\"){a:displayName b:displayName c:displayName}}"}}`)
		kind, got, err := s.conn.Read(t.Context())
		if err != nil || kind != websocket.MessageText || string(got) != `{"type":"next","id":"1","payload":`+want+`}` {
			t.Errorf("%v: %d bytes, %.100s", err, len(got), got)
		}
	})
	t.Run("events", func(t *testing.T) {
		for _, version := range []string{"1.0", "1.1"} {
			c := dial(t, addr)
			fmt.Fprintf(c, "GET /graphql?query=%%7Buser(id:%%22x%%22)%%7Ba:displayName%%20b:displayName%%20c:displayName%%7D%%7D HTTP/%s\r\nHost: x\r\nConnection: close\r\nAccept: text/event-stream\r\nApollo-Require-Preflight: 1\r\n\r\n", version)
			b, err := io.ReadAll(c)
			if err != nil || !strings.Contains(string(b), "event: next\ndata: "+want+"\n\n") && version == "1.0" {
				t.Errorf("%v: %d bytes, %.400s", err, len(b), b)
			}
			if strings.Count(string(b), "x") < 900_000 {
				t.Errorf("HTTP/%s: %d bytes", version, len(b))
			}
		}
	})
}

// TestAnswerMemory_IsReservedBeforeAnythingIsRead: as much as an operation of its cost may read, up to the limit
// of an answer. Without it nothing is executed.
func TestAnswerMemory_IsReservedBeforeAnythingIsRead(t *testing.T) {
	const page = `{user(id:"x"){library(first:%d){edges{node{id}}}}}` // costs 2, and 2 for each entry
	for _, c := range []struct{ first, reserves, most int }{
		{1, 64 << 10, 8 << 20}, {11, 24 * readBytes, 8 << 20}, {99, 25 * (64 << 10), 8 << 20}, {99, 1 << 20, 1 << 20},
	} {
		held := int64(0)
		e := newEdge(t, limitedTo(c.most, 256<<20))
		e.onUser = func(context.Context, string) (*principal.User, error) {
			held = e.handler.AnswerBytes()
			return nil, nil
		}
		if a := e.query(t, fmt.Sprintf(page, c.first), nil); a.code() != "" || held != int64(c.reserves) {
			t.Errorf("first: %d: %d bytes are reserved, want %d: %s", c.first, held, c.reserves, a.Body)
		}
		e = newEdge(t, limitedTo(c.most, 256<<20))
		if !e.handler.memory.Hold("192.0.2.1", 64<<20-c.reserves+1) {
			t.Fatal("the share is another one")
		}
		if a := e.query(t, fmt.Sprintf(page, c.first), nil); a.code() != "UNAVAILABLE" || e.calls.Load() != 0 {
			t.Errorf("first: %d: %d calls without memory: %s", c.first, e.calls.Load(), a.Body)
		}
	}
}

// TestAnswerMemory_IsReservedForEachEvent, when it is there: a subscription that waits holds none. One without
// memory ends, and the event is not charged.
func TestAnswerMemory_IsReservedForEachEvent(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	r := e.startResults(t.Context(), t)
	defer func() { r.end(); <-s.ended }()
	r.op.account, r.op.cost, r.op.price = e.handler.rates.viewers.account("u:acme:ann"), 512, 50*point
	if !e.handler.memory.Hold("u:acme:ann", 64<<20-512*readBytes) {
		t.Fatal("the share is another one")
	}
	waiting := e.handler.AnswerBytes()
	go func() {
		eventually(t, func() bool { return e.handler.AnswerBytes() == waiting })
		s.events <- 1
	}()
	if done := r.next(); len(done.errors) > 0 {
		t.Fatal(done.errors)
	}
	r.op.release()
	if !e.handler.memory.Hold("u:acme:ann", 1) {
		t.Fatal("more is held")
	}
	before := r.op.account.balance()
	go func() { s.events <- 2 }()
	done := r.next()
	if len(done.errors) != 1 || done.errors[0].Extensions["code"] != codeUnavailable || r.op.account.balance() < before {
		t.Fatalf("got %v, and %d points of %d are left", done.errors, r.op.account.balance(), before)
	}
	if again := r.next(); again != nil {
		t.Errorf("after the end: %v", again)
	}
}
