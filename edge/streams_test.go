package edge

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

// heldBy returns the number of streams that are counted for an owner.
func (e *edgeUnderTest) heldBy(owner string) int {
	st := e.handler.streams
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.held[owner]
}

const byAddress = "127.0.0.1"

// refusedSocket expects that opening a socket is refused.
func refusedSocket(t *testing.T, addr string, header ...string) {
	t.Helper()
	_, resp, err := dialSocket(t.Context(), addr, subprotocol, header...)
	if err == nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("got %v, %v", resp, err)
	}
}

// pendingOf returns how many sockets of an address have not initialised.
func (e *edgeUnderTest) pendingOf(address string) int {
	st := e.handler.streams
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.pending[address])
}

// TestStreams_OfACallerAreBounded: event streams, and sockets that have initialised, are counted
// for the viewer of their token, or for their address.
func TestStreams_OfACallerAreBounded(t *testing.T) {
	_, e := newTickingEdge(t, func(c *Config) { c.Limits.StreamsPerViewer = 2 })
	addr := start(t, e.handler, DefaultLimits())
	one, _ := opened(t, addr, ""), opened(t, addr, "")
	initRefused(t, addr, "")
	ann := connect(t, addr, "Authorization: Bearer ann") // counts before its init
	_ = one.conn.CloseNow()
	eventually(t, func() bool { return e.heldBy(byAddress) == 1 })
	second := opened(t, addr, `{"authorization":"ann"}`)
	if n, of := e.heldBy("u:acme:ann"), e.heldBy(byAddress); n != 2 || of != 1 {
		t.Errorf("%d are counted for ann and %d for the address", n, of)
	}
	// A socket that sends ann's token only in its init is one too many of hers.
	initRefused(t, addr, `{"authorization":"ann"}`)
	refusedSocket(t, addr, "Authorization: Bearer ann")
	if a := e.send(t, `{"query":"subscription{ticks}"}`, eventsOnly, "Authorization: Bearer ann"); a.Code != 429 ||
		a.code() != "RATE_LIMITED" || a.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %s", a.Code, a.Body)
	}
	_, _ = ann.conn.CloseNow(), second.conn.CloseNow()
	eventually(t, func() bool { return e.heldBy("u:acme:ann") == 0 })
	subscribe(t, addr, "Authorization: Bearer ann")
	if n := e.heldBy("u:acme:ann"); n != 1 {
		t.Errorf("%d are counted for ann", n)
	}
}

// initRefused expects that the init of a socket closes it, because its caller has too many.
func initRefused(t *testing.T, addr, payload string) {
	t.Helper()
	s := connect(t, addr)
	if payload != "" {
		payload = `,"payload":` + payload
	}
	s.send(`{"type":"connection_init"` + payload + `}`)
	if got := s.next(); got != "closed 1013" {
		t.Errorf("got %s", got)
	}
}

// TestSocket_IdleSocketsDoNotBlockOthers: sockets that never initialise, opened without end, keep
// neither viewers nor anonymous callers of their address from opening sockets and event streams.
func TestSocket_IdleSocketsDoNotBlockOthers(t *testing.T) {
	_, e := newTickingEdge(t, func(c *Config) { c.Limits.StreamsPerViewer, c.Limits.PendingSockets = 2, 3 })
	addr := start(t, e.handler, DefaultLimits())
	for range 3 {
		for range 4 {
			connect(t, addr)
		}
		ann, anybody := opened(t, addr, `{"authorization":"ann"}`), opened(t, addr, "")
		events := subscribe(t, addr)
		for _, s := range []*socketUnderTest{ann, anybody} {
			s.send(`{"id":"1","type":"subscribe","payload":{"query":"{now}"}}`)
			if got := s.next(); got != `{"type":"next","id":"1","payload":{"data":{"now":7}}}` {
				t.Errorf("got %s", got)
			}
		}
		_, _ = ann.conn.CloseNow(), anybody.conn.CloseNow()
		events.cancel()
		eventually(t, func() bool { return e.heldBy(byAddress) == 0 && e.heldBy("u:acme:ann") == 0 })
	}
}

// TestSocket_OneTooManyPendingClosesTheOldestOfItsAddress: one that has initialised, or one of
// another address, is not closed.
func TestSocket_OneTooManyPendingClosesTheOldestOfItsAddress(t *testing.T) {
	_, e := newTickingEdge(t, func(c *Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		if err := c.Limits.Set("pending-sockets", "2"); err != nil {
			t.Fatal(err)
		}
	})
	addr := start(t, e.handler, DefaultLimits())
	other := connect(t, addr, "X-Forwarded-For: 192.0.2.2")
	oldest := connect(t, addr, "X-Forwarded-For: 192.0.2.1")
	initialised := connect(t, addr, "X-Forwarded-For: 192.0.2.1")
	initialised.send(`{"type":"connection_init"}`)
	initialised.next()
	second := connect(t, addr, "X-Forwarded-For: 192.0.2.1")
	if n := e.pendingOf("192.0.2.1"); n != 2 {
		t.Fatalf("%d are pending", n)
	}
	third := connect(t, addr, "X-Forwarded-For: 192.0.2.1")
	if got := oldest.next(); got != "closed 1013" {
		t.Errorf("got %s", got)
	}
	for name, s := range map[string]*socketUnderTest{"of another address": other, "the second": second, "the third": third} {
		s.send(`{"type":"connection_init"}`)
		if got := s.next(); got != `{"type":"connection_ack"}` {
			t.Errorf("%s: got %s", name, got)
		}
	}
	initialised.send(`{"type":"ping"}`)
	if got := initialised.next(); got != `{"type":"pong"}` {
		t.Errorf("got %s", got)
	}
	eventually(t, func() bool { return e.heldBy("192.0.2.1") == 3 && e.pendingOf("192.0.2.1") == 0 })
}

// TestSocket_DisplacedSocketsAreNotWaitedFor: few sockets of an address are open at a time, however
// many it opens, and even if its client does not complete the close handshakes.
func TestSocket_DisplacedSocketsAreNotWaitedFor(t *testing.T) {
	_, e := newTickingEdge(t, func(c *Config) { c.Limits.StreamsPerViewer, c.Limits.PendingSockets = 1, 2 })
	addr := start(t, e.handler, DefaultLimits())
	opened(t, addr, "")
	for n := range 40 {
		if s := connect(t, addr); n%2 == 0 {
			s.send(`{"type":"connection_init"}`) // refused
		}
	}
	for range 200 {
		if _, sockets := e.handler.Open(); sockets <= 5 {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	_, sockets := e.handler.Open()
	t.Errorf("%d sockets are open after a second", sockets)
}

// TestSocket_DisplacedWhileItOpensIsClosed: newer sockets arrive between the admission of a socket
// and its first byte.
func TestSocket_DisplacedWhileItOpensIsClosed(t *testing.T) {
	_, e := newTickingEdge(t, func(c *Config) { c.Limits.PendingSockets = 1 })
	admitted, open := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Slow") != "" {
			w = lateHijacker{w, admitted, open}
		}
		e.handler.ServeHTTP(w, r)
	})
	addr := start(t, slow, DefaultLimits())
	displaced := make(chan string)
	go func() {
		defer close(displaced)
		conn, _, err := dialSocket(t.Context(), addr, subprotocol, "Slow: yes")
		if err != nil {
			displaced <- err.Error()
			return
		}
		displaced <- (&socketUnderTest{t, conn}).next()
	}()
	<-admitted
	newer := connect(t, addr)
	close(open)
	if got := <-displaced; got != "closed 1013" {
		t.Errorf("got %s", got)
	}
	newer.send(`{"type":"connection_init"}`)
	if got := newer.next(); got != `{"type":"connection_ack"}` {
		t.Errorf("got %s", got)
	}
}

// lateHijacker signals that a connection is about to be hijacked, and waits.
type lateHijacker struct {
	http.ResponseWriter
	reached, goOn chan struct{}
}

func (l lateHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	close(l.reached)
	<-l.goOn
	return http.NewResponseController(l.ResponseWriter).Hijack()
}

// TestStreams_EndedAreNotCounted: however a stream ends, it is no longer counted.
func TestStreams_EndedAreNotCounted(t *testing.T) {
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
	waiting := &socket{from: "caller0"}
	if refused := s.enterPending(waiting); refused == nil || refused.errs[0].Extensions["code"] != codeUnavailable {
		t.Errorf("a fourth one of all: %v", refused)
	}
	for _, st := range all { // including the refused one, and each twice
		s.leave(st)
		s.leave(st)
		_ = s.initialise(st.(*socket), "caller3")
	}
	if s.enterPending(waiting) != nil || s.initialise(waiting, "caller3") != nil || s.initialise(waiting, "caller4") != nil ||
		s.held["caller4"] != 1 || len(s.held) != 1 {
		t.Errorf("still counted: %v", s.held)
	}
	s.leave(waiting)
	if s.enterPending(waiting) != nil || len(s.held) != 0 {
		t.Errorf("still counted: %v", s.held)
	}
	s.leave(waiting)
	if events, sockets := s.count(); len(s.held) != 0 || len(s.pending) != 0 || events != 0 || sockets != 0 {
		t.Errorf("still counted: %v, %v pending, %d event streams and %d sockets open", s.held, s.pending, events, sockets)
	}
}

// TestStreams_OfANetworkAreBounded: all /64 networks of a /48 network together may have 16 times what one
// of them may: event streams and sockets, subscriptions, and sockets that have not initialised.
func TestStreams_OfANetworkAreBounded(t *testing.T) {
	l := DefaultLimits()
	l.StreamsPerViewer, l.Subscriptions, l.PendingSockets = 2, 2, 2
	s := newStreams(&l)
	host := func(n int) string { return fmt.Sprintf("2001:db8:1:%x::/64", n) }
	const elsewhere, most = "2001:db8:2::/64", 2 * networkShare
	var open []stream
	var ends []func()
	var waiting []*socket
	for n := range 2 * most {
		st := &socket{}
		refused := s.enter(st, host(n))
		done, unsubscribed := s.subscribe(host(n))
		if (refused != nil) != (n >= most) || (unsubscribed != nil) != (n >= most) {
			t.Fatalf("network %d: %v, %v", n, refused, unsubscribed)
		}
		if open = append(open, st); done != nil {
			ends = append(ends, done)
		}
		pending := &socket{from: host(n)}
		waiting = append(waiting, pending)
		if refused := s.enterPending(pending); refused != nil {
			t.Fatal(refused.errs)
		}
	}
	for n, so := range waiting {
		if so.crowded != (n < most) {
			t.Errorf("waiting socket %d: displaced %t", n, so.crowded)
		}
	}
	far, near := &socket{}, &socket{}
	if s.enter(far, elsewhere) != nil || s.enter(near, host(0)) == nil {
		t.Error("another network is refused, or a full one is not")
	}
	if s.leave(open[0]); s.enter(near, host(1)) != nil || s.enter(&socket{}, host(2)) == nil {
		t.Error("a place that is free again is not taken, or twice")
	}
	for _, st := range append(open, far, near) {
		s.leave(st)
	}
	for _, so := range waiting {
		s.leave(so)
	}
	for _, done := range ends {
		done()
	}
	if len(s.held)+len(s.subscriptions)+len(s.pending)+len(s.open) != 0 {
		t.Errorf("still counted: %v, %v, %v", s.held, s.subscriptions, s.pending)
	}
}
