package edge

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const askTicks = "POST /graphql HTTP/1.%d\r\nHost: x\r\nContent-Type: application/json\r\nAccept: " +
	"text/event-stream\r\nContent-Length: 31\r\n\r\n" + `{"query":"subscription{ticks}"}`

// ticks sends two events, and checks that the client receives them and the end of the answer.
func (s *ticking) ticks(t *testing.T, answer *http.Response) {
	t.Helper()
	events := bufio.NewReader(answer.Body)
	for i := range 2 {
		select {
		case s.events <- i:
		case <-s.ended:
			rest, err := io.ReadAll(events)
			t.Fatalf("the answer ended before event %d: %q, %v", i, rest, err)
		}
		st := &streamUnderTest{t: t, reader: events}
		if got, want := st.next(), fmt.Sprintf("event: next\ndata: {\"data\":{\"ticks\":%d}}", i); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	close(s.events)
	if rest, err := io.ReadAll(events); string(rest) != "event: complete\ndata:\n\n" || err != nil {
		t.Errorf("at the end: %q, %v", rest, err)
	}
	<-s.ended
}

// TestEvents_RequestsBehindASubscriptionAreNotRun: the answer is complete, and anything that the client sends
// after the request is not run.
func TestEvents_RequestsBehindASubscriptionAreNotRun(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	mux := Mux(Routes{GraphQL: e.handler, Sites: sameOriginOnly(nil)})
	conn := dial(t, start(t, mux, DefaultLimits()))
	ask := fmt.Sprintf(askTicks, 1)
	if _, err := conn.Write([]byte(ask + ask)); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.ParseTime(answer.Header.Get("Date")); err != nil {
		t.Error(err)
	}
	answer.Header.Del("Date")
	want := http.Header{
		"Content-Type": {"text/event-stream; charset=utf-8"}, "Cache-Control": {"private, no-store"}, "X-Accel-Buffering": {"no"},
		"Vary":                   {"Origin", "Accept"},
		"X-Content-Type-Options": noSniffing, "Content-Security-Policy": noContent, "Cross-Origin-Resource-Policy": ownSite,
		"Referrer-Policy": noReferrer,
	}
	if diff := cmp.Diff(want, answer.Header); diff != "" || answer.StatusCode != 200 || !answer.Close ||
		!cmp.Equal(answer.TransferEncoding, []string{"chunked"}) {
		t.Errorf("%s %v %s", answer.Status, answer.TransferEncoding, diff)
	}
	s.ticks(t, answer)
	if _, err := reader.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the answer: %v", err)
	}
	if s.started != 1 {
		t.Errorf("%d subscriptions were run", s.started)
	}
}

func TestEvents_ArriveOverHTTP10(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	conn := dial(t, start(t, e.handler, DefaultLimits()))
	if _, err := fmt.Fprintf(conn, askTicks, 0); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.ticks(t, answer)
}

// TestEvents_OutliveTheTimeOfRequests: a subscription over HTTP/1.1 is not ended when it is idle for longer than
// a request may be read and one message may take.
func TestEvents_OutliveTheTimeOfRequests(t *testing.T) {
	s, e := newTickingEdge(t, func(c *Config) { c.Limits.StreamWrite = time.Second })
	l := DefaultLimits()
	l.Read, l.StreamWrite, l.Idle = time.Second, time.Second, time.Second
	conn := dial(t, start(t, e.handler, l))
	if _, err := fmt.Fprintf(conn, askTicks, 1); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(2 * time.Second)
	s.ticks(t, answer)
}

// TestEvents_HTTP2StreamsShareAConnection: over HTTP/2 a subscription is one of many streams, and
// its end does not affect the others. It is not ended when it is idle for longer than one message
// may take.
func TestEvents_HTTP2StreamsShareAConnection(t *testing.T) {
	s, e := newTickingEdge(t, func(c *Config) { c.Limits.StreamWrite = time.Second })
	ask := overHTTP2(t, e.handler)
	one, other := ask(), ask()
	if err := one.Body.Close(); err != nil { // as a client does that leaves
		t.Error(err)
	}
	<-s.ended
	<-time.After(2 * time.Second)
	s.ticks(t, other)
}

// overHTTP2 serves a handler by HTTP/2. The returned function subscribes.
func overHTTP2(t *testing.T, h http.Handler) (ask func() *http.Response) {
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.Config = Server(h, DefaultLimits(), slog.New(slog.DiscardHandler))
	server.StartTLS()
	t.Cleanup(server.Close)
	return func() *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(`{"query":"subscription{ticks}"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "text/event-stream")
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.ProtoMajor != 2 || answer.StatusCode != 200 {
			t.Fatal(answer.Proto, answer.Status)
		}
		return answer
	}
}

// timed is a ResponseWriter that records its write deadline.
type timed struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (w *timed) SetWriteDeadline(at time.Time) error {
	w.deadline = at
	return nil
}

// TestEvents_EndOfAResponseHasADeadline: between two messages there is no deadline, so the end
// needs one, or the server would wait forever for a client that does not read.
func TestEvents_EndOfAResponseHasADeadline(t *testing.T) {
	l := DefaultLimits()
	w := &timed{ResponseRecorder: httptest.NewRecorder()}
	s := &eventStream{delivery: &delivery{cancel: func() {}}, wire: newWire(w), limits: &l}
	s.open()
	if !w.deadline.IsZero() {
		t.Errorf("between two messages the deadline is %s", w.deadline)
	}
	s.close()
	if w.deadline.IsZero() {
		t.Error("the end has no deadline")
	}
}
