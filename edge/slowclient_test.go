package edge

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ends are what a handler tells its observers.
type ends struct{ requests, sockets chan string }

// newEndingEdge is newTickingEdge with an ear for how requests and sockets end.
func newEndingEdge(t *testing.T, change func(*Config)) (*ticking, *edgeUnderTest, *ends) {
	t.Helper()
	told := &ends{make(chan string, 100), make(chan string, 100)}
	s, e := newTickingEdge(t, func(c *Config) {
		c.Observe = func(operation, code string, _ time.Duration) { told.requests <- operation + " " + code }
		c.Closed = func(code string) { told.sockets <- code }
		if change != nil {
			change(c)
		}
	})
	return s, e, told
}

// next is what is told next of requests or sockets.
func next(t *testing.T, told <-chan string) string {
	t.Helper()
	select {
	case end := <-told:
		return end
	case <-time.After(20 * time.Second):
		t.Fatal("nothing is told")
		return ""
	}
}

// TestWhoTakesNothingIsToldOf: a client that takes nothing cannot be told that
// it is cut off. Operators are, whatever it is connected by.
func TestWhoTakesNothingIsToldOf(t *testing.T) {
	byEvents := func(version int) func(t *testing.T, h http.Handler) {
		return func(t *testing.T, h http.Handler) {
			if _, err := fmt.Fprintf(dial(t, start(t, h, DefaultLimits())), askTicks, version); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		subscribe func(t *testing.T, h http.Handler)
		socket    bool
	}{
		"events":               {byEvents(1), false},
		"events over HTTP/1.0": {byEvents(0), false},
		"events over HTTP/2":   {func(t *testing.T, h http.Handler) { overHTTP2(t, h)() }, false},
		"a websocket": {func(t *testing.T, h http.Handler) {
			opened(t, start(t, h, DefaultLimits()), "").send(`{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, e, told := newEndingEdge(t, func(c *Config) { c.Limits.StreamWrite = 300 * time.Millisecond })
			s.blank = 1 << 20
			c.subscribe(t, e.handler)
			for ended := false; !ended; {
				select {
				case s.events <- 1:
				case <-s.ended:
					ended = true
				}
			}
			if got := next(t, told.requests); got != "subscription SLOW_CONSUMER" {
				t.Errorf("told %s", got)
			}
			if !c.socket {
				return
			}
			if got := next(t, told.sockets); got != EndedSlow {
				t.Errorf("the socket ended by %s", got)
			}
		})
	}
}

// holding is a listener whose connections take a large message only when they
// are being closed, and then say that they have taken it.
type holding struct{ net.Listener }

func (l holding) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &held{Conn: c, closing: make(chan struct{})}, err
}

type held struct {
	net.Conn
	once    sync.Once
	closing chan struct{}
}

func (h *held) Write(b []byte) (int, error) {
	if len(b) > 1<<19 {
		<-h.closing
		return len(b), nil
	}
	return h.Conn.Write(b)
}

func (h *held) Close() error {
	h.once.Do(func() { close(h.closing) })
	return h.Conn.Close()
}

// TestAMessageTakenAsItsTimeEnds: a connection closes itself when the time for a
// message is over, even if that ends in the same moment. It is the client that
// was slow all the same.
func TestAMessageTakenAsItsTimeEnds(t *testing.T) {
	s, e, told := newEndingEdge(t, func(c *Config) { c.Limits.StreamWrite = 300 * time.Millisecond })
	s.blank = 1 << 20
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, holding{ln}, e.handler, DefaultLimits())
	opened(t, ln.Addr().String(), "").send(`{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`)
	s.events <- 1
	if got := next(t, told.requests); got != "subscription SLOW_CONSUMER" {
		t.Errorf("told %s", got)
	}
	if got := next(t, told.sockets); got != EndedSlow {
		t.Errorf("the socket ended by %s", got)
	}
}

// TestWhoGoesIsNoSlowClient: a client that is gone is not told of as one that
// does not keep up.
func TestWhoGoesIsNoSlowClient(t *testing.T) {
	s, e, told := newEndingEdge(t, nil)
	addr := start(t, e.handler, DefaultLimits())
	st := subscribe(t, addr)
	st.cancel()
	<-s.ended
	c := opened(t, addr, "")
	c.send(`{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`)
	s.events <- 1
	c.next()
	_ = c.conn.CloseNow()
	<-s.ended
	for range 2 {
		if got := next(t, told.requests); got != "subscription OK" {
			t.Errorf("told %s", got)
		}
	}
	if got := next(t, told.sockets); got != EndedByClient {
		t.Errorf("the socket ended by %s", got)
	}
}

// TestAPingWithoutAnAnswer: whoever reads again before the connection is closed
// reads why it is.
func TestAPingWithoutAnAnswer(t *testing.T) {
	_, e, told := newEndingEdge(t, func(c *Config) { c.Limits.Ping, c.Limits.StreamWrite = 20*time.Millisecond, 50*time.Millisecond })
	c := connect(t, start(t, e.handler, DefaultLimits()))
	eventually(t, func() bool { // the one socket is being closed
		st := e.handler.streams
		st.mu.Lock()
		defer st.mu.Unlock()
		for open := range st.open {
			return open.(*socket).cutOff()
		}
		return false
	})
	if got := c.next(); got != "closed 1013" {
		t.Errorf("got %s", got)
	}
	if got := next(t, told.sockets); got != "1013" {
		t.Errorf("told %s", got)
	}
}

// TestRefusedSocketsAreToldOf: a request for a socket that gets none is a
// request that was refused.
func TestRefusedSocketsAreToldOf(t *testing.T) {
	_, e, told := newEndingEdge(t, func(c *Config) { c.Limits.StreamsPerViewer = 1 })
	addr := start(t, e.handler, DefaultLimits())
	c := connect(t, addr, "Authorization: Bearer ann")
	for _, header := range []string{"Authorization: Bearer x", "Origin: https://evil.example", "Authorization: Bearer ann"} {
		if _, _, err := dialSocket(t.Context(), addr, subprotocol, header); err == nil {
			t.Errorf("with %s it is opened", header)
		}
	}
	_ = c.conn.CloseNow()
	if got := next(t, told.sockets); got != EndedByClient {
		t.Errorf("told %s", got)
	}
	const noHandshake = "GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
	if _, err := dial(t, addr).Write([]byte(noHandshake)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 4 {
		got = append(got, next(t, told.requests))
	}
	if diff := cmp.Diff([]string{" UNAUTHENTICATED", " CSRF_BLOCKED", " RATE_LIMITED", " BAD_REQUEST"}, got); diff != "" {
		t.Error(diff)
	}
}
