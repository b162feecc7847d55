package edge

import (
	"fmt"
	"testing"
)

// heldBy is how many streams are counted as those of whose.
func (e *edgeUnderTest) heldBy(whose string) int {
	st := e.handler.streams
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.held[whose]
}

const byAddress = "127.0.0.1"

// refusedSocket wants a socket to be refused before it is one.
func refusedSocket(t *testing.T, addr string, header ...string) {
	t.Helper()
	_, resp, err := dialSocket(t.Context(), addr, subprotocol, header...)
	if err == nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("got %v, %v", resp, err)
	}
}

// TestStreamsOfACallerAreBounded: sockets count for their address until they say
// who they are, and for that viewer then, like event streams; nobody keeps the
// others out.
func TestStreamsOfACallerAreBounded(t *testing.T) {
	_, e := newTickingEdge(t, func(c *Config) { c.Limits.StreamsPerViewer = 2 })
	addr := start(t, e.handler, DefaultLimits())
	one, _ := opened(t, addr, ""), connect(t, addr) // that says nothing
	refusedSocket(t, addr)
	ann := connect(t, addr, "Authorization: Bearer ann")
	_ = one.conn.CloseNow()
	eventually(t, func() bool { return e.heldBy(byAddress) == 1 })
	second := opened(t, addr, `{"authorization":"ann"}`)
	if n, of := e.heldBy("u:acme:ann"), e.heldBy(byAddress); n != 2 || of != 1 {
		t.Errorf("%d are ann's and %d of the address", n, of)
	}
	// One that only now says that it is ann's is one too many of hers.
	third := connect(t, addr)
	third.send(`{"type":"connection_init","payload":{"authorization":"ann"}}`)
	if got := third.next(); got != "closed 1013" {
		t.Errorf("got %s", got)
	}
	refusedSocket(t, addr, "Authorization: Bearer ann")
	if a := e.send(t, `{"query":"subscription{ticks}"}`, eventsOnly, "Authorization: Bearer ann"); a.Code != 429 || a.code() != "RATE_LIMITED" || a.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %s", a.Code, a.Body)
	}
	_, _ = ann.conn.CloseNow(), second.conn.CloseNow()
	eventually(t, func() bool { return e.heldBy("u:acme:ann") == 0 })
	subscribe(t, addr, "Authorization: Bearer ann")
	if n := e.heldBy("u:acme:ann"); n != 1 {
		t.Errorf("%d are ann's", n)
	}
}

// TestStreamsAreCountedOut: whatever becomes of streams, none stays counted.
func TestStreamsAreCountedOut(t *testing.T) {
	l := DefaultLimits()
	l.Streams, l.StreamsPerViewer = 3, 2
	s := newStreams(&l)
	var all []stream
	for n := range 4 {
		st := &socket{}
		all = append(all, st)
		if refused := s.enter(st, fmt.Sprint("caller", n/2)); (refused != nil) != (n == 3) {
			t.Fatalf("stream %d: %v", n, refused)
		}
	}
	if refused := s.enter(&socket{}, "caller0"); refused == nil || refused.errs[0].Extensions["code"] != codeRateLimited {
		t.Errorf("a third one of a caller: %v", refused)
	}
	for _, st := range all { // also the one that was refused, and all twice
		_ = s.sign(st, "caller3")
		s.leave(st)
		s.leave(st)
		_ = s.sign(st, "caller3")
	}
	if events, sockets := s.count(); len(s.held) != 0 || events != 0 || sockets != 0 {
		t.Errorf("%v are held, %d event streams and %d sockets open", s.held, events, sockets)
	}
}
