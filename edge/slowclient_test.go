package edge

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/edge/connection"
)

// ends receives what a handler reports to its observers.
type ends struct{ requests, sockets chan string }

// newEndingEdge is newTickingEdge that also records how requests and sockets end.
func newEndingEdge(t *testing.T, change func(*Config)) (*ticking, *edgeUnderTest, *ends) {
	t.Helper()
	reports := &ends{make(chan string, 100), make(chan string, 100)}
	s, e := newTickingEdge(t, func(c *Config) {
		c.Observe = func(operation, code string, _ time.Duration) { reports.requests <- operation + " " + code }
		c.Closed = func(code string) { reports.sockets <- code }
		if change != nil {
			change(c)
		}
	})
	return s, e, reports
}

// next returns the next report about a request or socket.
func next(t *testing.T, reports <-chan string) string {
	t.Helper()
	select {
	case end := <-reports:
		return end
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was reported")
		return ""
	}
}

// TestSlowClient_IsReported: on all transports, a client that reads nothing is disconnected without
// a message, and the operators are notified.
func TestSlowClient_IsReported(t *testing.T) {
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
			s, e, reports := newEndingEdge(t, func(c *Config) { c.Limits.StreamWrite = 300 * time.Millisecond })
			s.blank = 1 << 20
			c.subscribe(t, e.handler)
			for ended := false; !ended; {
				select {
				case s.events <- 1:
				case <-s.ended:
					ended = true
				}
			}
			if got := next(t, reports.requests); got != "subscription SLOW_CONSUMER" {
				t.Errorf("reported %s", got)
			}
			if !c.socket {
				return
			}
			if got := next(t, reports.sockets); got != EndedSlow {
				t.Errorf("the socket ended by %s", got)
			}
		})
	}
}

// holding is a listener whose connections accept a large message only while they are being closed,
// and then report success.
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
	if len(b) > connection.PieceBytes/2 {
		<-h.closing
		return len(b), nil
	}
	return h.Conn.Write(b)
}

func (h *held) Close() error {
	h.once.Do(func() { close(h.closing) })
	return h.Conn.Close()
}

// TestSlowClient_MessageAcceptedAtItsDeadlineIsTooLate: a connection is closed at the deadline of a
// message even if the client accepts the message at the same moment, and the client counts as slow.
func TestSlowClient_MessageAcceptedAtItsDeadlineIsTooLate(t *testing.T) {
	s, e, reports := newEndingEdge(t, func(c *Config) { c.Limits.StreamWrite = 300 * time.Millisecond })
	s.blank = 1 << 20
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, holding{ln}, e.handler, DefaultLimits())
	opened(t, ln.Addr().String(), "").send(`{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`)
	s.events <- 1
	if got := next(t, reports.requests); got != "subscription SLOW_CONSUMER" {
		t.Errorf("reported %s", got)
	}
	if got := next(t, reports.sockets); got != EndedSlow {
		t.Errorf("the socket ended by %s", got)
	}
}

// TestSlowClient_DisconnectIsNotSlow: a client that disconnects is not reported as slow.
func TestSlowClient_DisconnectIsNotSlow(t *testing.T) {
	s, e, reports := newEndingEdge(t, nil)
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
		if got := next(t, reports.requests); got != "subscription OK" {
			t.Errorf("reported %s", got)
		}
	}
	if got := next(t, reports.sockets); got != EndedByClient {
		t.Errorf("the socket ended by %s", got)
	}
}

// TestSocket_UnansweredPingClosesIt: a client that reads again before the connection is closed
// learns the reason.
func TestSocket_UnansweredPingClosesIt(t *testing.T) {
	_, e, reports := newEndingEdge(t, func(c *Config) { c.Limits.Ping, c.Limits.StreamWrite = 20*time.Millisecond, 50*time.Millisecond })
	c := connect(t, start(t, e.handler, DefaultLimits()))
	eventually(t, func() bool { // the only socket is being closed
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
	if got := next(t, reports.sockets); got != "1013" {
		t.Errorf("reported %s", got)
	}
}

// TestRefusedSockets_AreReported: a refused socket is reported as a refused request.
func TestRefusedSockets_AreReported(t *testing.T) {
	_, e, reports := newEndingEdge(t, func(c *Config) { c.Limits.StreamsPerViewer = 1 })
	addr := start(t, e.handler, DefaultLimits())
	c := connect(t, addr, "Authorization: Bearer ann")
	for _, header := range []string{"Authorization: Bearer x", "Origin: https://evil.example", "Authorization: Bearer ann"} {
		if _, _, err := dialSocket(t.Context(), addr, subprotocol, header); err == nil {
			t.Errorf("with %s it is opened", header)
		}
	}
	_ = c.conn.CloseNow()
	if got := next(t, reports.sockets); got != EndedByClient {
		t.Errorf("reported %s", got)
	}
	const noHandshake = "GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
	if _, err := dial(t, addr).Write([]byte(noHandshake)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 4 {
		got = append(got, next(t, reports.requests))
	}
	if diff := cmp.Diff([]string{" UNAUTHENTICATED", " CSRF_BLOCKED", " RATE_LIMITED", " BAD_REQUEST"}, got); diff != "" {
		t.Error(diff)
	}
}
