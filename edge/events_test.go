package edge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/principal"
)

const eventsOnly = "Accept: text/event-stream"

func TestEvents_QueryGetsOneResultAndComplete(t *testing.T) {
	const complete = "event: complete\ndata:\n\n"
	for name, c := range map[string]struct {
		body   string
		header []string
		status int
		want   string
	}{
		"a query": {`{"query":"{user(id:\"u:a:b\"){id}}"}`, nil, 200, `event: next` + "\n" + `data: {"data":{"user":{"id":"u:a:b"}}}` +
			"\n\n" + complete},
		"a mutation": {`{"query":"mutation{createUser(input:{tenant:\"a\",name:\"b\",displayName:\"B\",email:\"b@example.org\"}){user{id}}}"}`,
			nil, 200,
			`event: next` + "\n" + `data: {"data":{"createUser":{"user":{"id":"u:a:b"}}}}` + "\n\n" + complete},
		"not valid": {`{"query":"{nothing}"}`, nil, 200, `event: next` + "\n" +
			`data: {"errors":[{"message":"Cannot query field \"nothing\" on type \"Query\".","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}` + "\n\n" + complete},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(c.body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "text/event-stream")
			w := httptest.NewRecorder()
			newEdge(t, nil).handler.ServeHTTP(w, r)
			if got := strings.TrimPrefix(w.Body.String(), ":\n\n"); w.Code != c.status || got != c.want {
				t.Errorf("%d %s", w.Code, cmp.Diff(c.want, got))
			}
			got := [...]string{w.Header().Get("Content-Type"), w.Header().Get("Cache-Control"), w.Header().Get("X-Content-Type-Options")}
			if want := [...]string{"text/event-stream; charset=utf-8", "private, no-store", "nosniff"}; got != want {
				t.Error(cmp.Diff(want, got))
			}
		})
	}
	// A refusal of the HTTP request has an HTTP status.
	if a := newEdge(t, nil).send(t, `{"query":"{__typename}"}`, eventsOnly, "Authorization: Bearer x"); a.Code != 401 ||
		a.code() != "UNAUTHENTICATED" {
		t.Errorf("%d %s", a.Code, a.Body)
	}
	if a := newEdge(t, nil).send(t, `{`, eventsOnly); a.Code != 400 || a.code() != "BAD_REQUEST" {
		t.Errorf("%d %s", a.Code, a.Body)
	}
}

// streamUnderTest is the client's side of an event stream.
type streamUnderTest struct {
	t      *testing.T
	reader *bufio.Reader
	cancel context.CancelFunc
}

// subscribe opens an event stream at an address.
func subscribe(t *testing.T, addr string, header ...string) *streamUnderTest {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/graphql", strings.NewReader(`{"query":"subscription{ticks}"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = resp.Body.Close() })
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("%d %s", resp.StatusCode, b)
	}
	return &streamUnderTest{t, bufio.NewReader(resp.Body), cancel}
}

// next returns the next event that is not a comment, or "" at the end of the stream.
func (s *streamUnderTest) next() string {
	s.t.Helper()
	var event strings.Builder
	for {
		line, err := s.reader.ReadString('\n')
		if err != nil {
			return event.String()
		}
		switch {
		case line == "\n" && event.Len() > 0:
			return strings.TrimSpace(event.String())
		case line != "\n" && line[0] != ':':
			event.WriteString(line)
		}
	}
}

func TestEvents_SubscriptionOutlivesTheTimeoutsOfRequests(t *testing.T) {
	s, e := newTickingEdge(t, func(c *Config) { c.Limits.Ping = 20 * time.Millisecond })
	l := DefaultLimits()
	l.Read, l.Write = time.Second, time.Second // shorter than the pause between the two events
	st := subscribe(t, start(t, e.handler, l), "Authorization: Bearer ann")
	for i, after := range []time.Duration{0, 2 * time.Second} {
		<-time.After(after)
		s.events <- i
		if got, want := st.next(), "event: next\ndata: {\"data\":{\"ticks\":"+string(rune('0'+i))+"}}"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	close(s.events)
	if got := st.next(); got != "event: complete\ndata:" {
		t.Errorf("got %q", got)
	}
	if got := st.next(); got != "" {
		t.Errorf("after the end: %q", got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff([]string{"u:acme:ann", "u:acme:ann"}, s.viewers); diff != "" || len(s.seen) != 2 {
		t.Errorf("each event must have its own viewer: %s, %d", diff, len(s.seen))
	}
}

func TestEvents_SubscriptionEndsWithItsClient(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	st := subscribe(t, start(t, e.handler, DefaultLimits()))
	s.events <- 1
	st.next()
	st.cancel()
	<-s.ended
}

// TestSubscription_RefusedShowsItsErrorsOnce: a subscription that does not start is answered like
// any other failure, and then the stream is complete.
func TestSubscription_RefusedShowsItsErrorsOnce(t *testing.T) {
	s, e := newTickingEdge(t, func(c *Config) { c.Limits.Errors = 2 })
	s.refuses = 3
	st := subscribe(t, start(t, e.handler, DefaultLimits()))
	if got := st.next(); strings.Count(got, `"message":`) != 2 || !strings.Contains(got, `"data":null`) {
		t.Errorf("got %q", got)
	}
	if got := st.next(); got != "event: complete\ndata:" {
		t.Errorf("got %q", got)
	}
}

// TestSubscription_ShowsTheErrorsOfAnEvent with that event and not with the next.
func TestSubscription_ShowsTheErrorsOfAnEvent(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	st := subscribe(t, start(t, e.handler, DefaultLimits()))
	for n, want := range map[int]int{-1: 1, 1: 0} {
		s.events <- n
		if got := st.next(); strings.Count(got, `"message":"it is gone"`) != want || !strings.Contains(got, fmt.Sprintf(`"ticks":%d`, n)) {
			t.Errorf("%d: got %q, want %d errors", n, got, want)
		}
	}
}

func TestEvents_SubscriptionEndsWithItsToken(t *testing.T) {
	s, e := newTickingEdge(t, func(c *Config) { c.Authenticate = authenticateFor(2 * time.Second) })
	st := subscribe(t, start(t, e.handler, DefaultLimits()), "Authorization: Bearer ann")
	if got := st.next(); !strings.Contains(got, "UNAUTHENTICATED") {
		t.Errorf("got %q", got)
	}
	if got := st.next(); got != "event: complete\ndata:" {
		t.Errorf("got %q", got)
	}
	<-s.ended
}

func TestDrain_EndsSubscriptionsWithoutComplete(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	addr := start(t, e.handler, DefaultLimits())
	st := subscribe(t, addr)
	s.events <- 1
	st.next()
	if err := e.handler.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if got := st.next(); got != "" {
		t.Errorf("got %q", got)
	}
	if a := e.send(t, `{"query":"subscription{ticks}"}`, eventsOnly); a.Code != 503 || a.code() != "UNAVAILABLE" {
		t.Errorf("afterwards: %d %s", a.Code, a.Body)
	}
}

func TestSubscription_WithoutAcceptedEventsIsRefused(t *testing.T) {
	_, e := newTickingEdge(t, nil)
	for _, accept := range []string{"application/json", "*/*", "application/graphql-response+json"} {
		if a := e.send(t, `{"query":"subscription{ticks}"}`, "Accept: "+accept); a.Code != 406 || a.code() != "NOT_ACCEPTABLE" {
			t.Errorf("%s: %d %s", accept, a.Code, a.Body)
		}
	}
}

func TestSubscription_WithoutFieldsIsInvalid(t *testing.T) {
	_, e := newTickingEdge(t, nil)
	for _, text := range []string{
		`subscription{ticks @skip(if:true)}`, `subscription{... @include(if:false){ticks}}`,
		`subscription($no:Boolean=true){ticks @skip(if:$no)}`,
	} {
		body, err := json.Marshal(map[string]string{"query": text})
		if err != nil {
			t.Fatal(err)
		}
		if a := e.send(t, string(body), "Accept: application/json, text/event-stream"); a.code() != "GRAPHQL_VALIDATION_FAILED" {
			t.Errorf("%s: %d %s", text, a.Code, a.Body)
		}
	}
}

// TestEvents_AreForSubscriptionsIfJSONIsAcceptedToo: urql and others accept events with every
// request, but want them for subscriptions only.
func TestEvents_AreForSubscriptionsIfJSONIsAcceptedToo(t *testing.T) {
	const accept = "Accept: application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed"
	_, e := newTickingEdge(t, nil)
	if a := e.send(t, `{"query":"{now}"}`, accept); a.Header().Get("Content-Type") != "application/graphql-response+json; charset=utf-8" ||
		string(a.Data) != `{"now":7}` {
		t.Errorf("%v %s", a.Header(), a.Body)
	}
	s, e := newTickingEdge(t, nil)
	st := subscribe(t, start(t, e.handler, DefaultLimits()), accept)
	s.events <- 3
	if got := st.next(); got != `event: next`+"\n"+`data: {"data":{"ticks":3}}` {
		t.Errorf("got %q", got)
	}
}

func TestEvents_TooManySubscriptionsAreRefused(t *testing.T) {
	s, e := newTickingEdge(t, func(c *Config) { c.Limits.Subscriptions = 2 })
	addr := start(t, e.handler, DefaultLimits())
	one := subscribe(t, addr, "Authorization: Bearer ann")
	subscribe(t, addr, "Authorization: Bearer ann")
	if a := e.send(t, `{"query":"subscription{ticks}"}`, eventsOnly, "Authorization: Bearer ann"); a.Code != 429 ||
		a.code() != "RATE_LIMITED" {
		t.Errorf("%d %s", a.Code, a.Body)
	}
	subscribe(t, addr) // another caller is not affected
	one.cancel()
	<-s.ended
	eventually(t, func() bool {
		st := e.handler.streams
		st.mu.Lock()
		defer st.mu.Unlock()
		return st.subscriptions["u:acme:ann"] == 1
	})
	subscribe(t, addr, "Authorization: Bearer ann")
}

func TestEvents_TooManyStreamsAreRefused(t *testing.T) {
	_, e := newTickingEdge(t, func(c *Config) { c.Limits.Streams = 1 })
	subscribe(t, start(t, e.handler, DefaultLimits()))
	if a := e.send(t, `{"query":"subscription{ticks}"}`, eventsOnly); a.Code != 503 || a.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %s", a.Code, a.Body)
	}
}

// blocked is a connection whose client never reads.
type blocked struct{ http.ResponseWriter }

func (blocked) Write([]byte) (int, error)        { return 0, io.ErrShortWrite }
func (blocked) SetWriteDeadline(time.Time) error { return nil }

func TestEvents_ClientThatReadsNothingIsDisconnected(t *testing.T) {
	_, e := newTickingEdge(t, nil)
	r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(`{"query":"subscription{ticks}"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	e.handler.ServeHTTP(blocked{httptest.NewRecorder()}, r)
	if n := len(e.handler.streams.open); n != 0 {
		t.Errorf("%d streams are still open", n)
	}
}

func TestEvents_NewlinesInResultsAreEscaped(t *testing.T) {
	w := httptest.NewRecorder()
	l := DefaultLimits()
	s := &eventStream{delivery: &delivery{cancel: func() {}}, wire: newWire(w), limits: &l}
	s.open()
	s.send("next", [][]byte{[]byte("{\n\"a\""), []byte(":1\n}")})
	s.close()
	s.send("next", [][]byte{[]byte("{}")})
	if got := w.Body.String(); got != ":\n\nevent: next\ndata: {\ndata: \"a\":1\ndata: }\n\n" {
		t.Errorf("got %q", got)
	}
}

func TestStreamThatPanics_ProcessSurvives(t *testing.T) {
	e := newEdge(t, nil)
	e.onUser = func(context.Context, string) (*principal.User, error) { panic("SELECT secret") }
	r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(`{"query":"{user(id:\"x\"){id}}"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	if got := w.Body.String(); !strings.Contains(got, "INTERNAL_SERVER_ERROR") || strings.Contains(got, "SELECT") {
		t.Errorf("got %q", got)
	}
}

// brittle is a ResponseWriter whose first call of Header panics.
type brittle struct {
	*httptest.ResponseRecorder
	broken bool
}

func (b *brittle) Header() http.Header {
	if !b.broken {
		b.broken = true
		panic("SELECT secret")
	}
	return b.ResponseRecorder.Header()
}

// TestStreamThatPanicsWhileOpening_IsNotCounted: a panic between registering a stream and its first
// byte is answered like any other failure, and the stream is not counted as open.
func TestStreamThatPanicsWhileOpening_IsNotCounted(t *testing.T) {
	_, e, reports := newEndingEdge(t, nil)
	r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(`{"query":"subscription{ticks}"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	w := &brittle{ResponseRecorder: httptest.NewRecorder()}
	e.handler.ServeHTTP(w, r)
	if got := w.Body.String(); w.Code != 500 || !strings.Contains(got, "INTERNAL_SERVER_ERROR") || strings.Contains(got, "SELECT") {
		t.Errorf("got %d %q", w.Code, got)
	}
	if got := next(t, reports.requests); got != "subscription INTERNAL_SERVER_ERROR" {
		t.Errorf("reported %s", got)
	}
	st := e.handler.streams
	if len(st.open)+len(st.held)+len(st.subscriptions) > 0 {
		t.Errorf("counted as open: %v, %v, %v", st.open, st.held, st.subscriptions)
	}
}
