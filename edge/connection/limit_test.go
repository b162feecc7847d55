package connection

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"carrel/budget"
)

// from is a connection from an address.
type from struct {
	net.Conn
	addr net.Addr
}

func (f from) RemoteAddr() net.Addr { return f.addr }

// connect returns a counted connection from an address, or nil.
func (l *Limit) connect(t *testing.T, address string) *connection {
	client, server := net.Pipe()
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return l.enter(from{server, &net.TCPAddr{IP: net.ParseIP(address), Port: 1}})
}

func (l *Limit) state() string {
	kept := 0
	for _, open := range l.open {
		kept += len(open)
	}
	return fmt.Sprintf("%d used, %d of %d accounts", l.Used(), kept, len(l.open))
}

// TestLimit_CountsEachConnectionOnce: however often it is closed, and whatever it becomes before or
// after.
func TestLimit_CountsEachConnectionOnce(t *testing.T) {
	l := NewLimit(40, func(a netip.Addr) string {
		if a == netip.MustParseAddr("192.0.2.9") {
			return budget.Nobody
		}
		return a.String()
	})
	plain, stream, late, proxy := l.connect(t, "192.0.2.1"), l.connect(t, "192.0.2.1"), l.connect(t, "192.0.2.2"), l.connect(t, "192.0.2.9")
	if got := l.state(); got != "4 used, 3 of 2 accounts" {
		t.Fatal(got)
	}
	Track(stream, http.StateHijacked)
	Track(stream, http.StateHijacked)
	if got := l.state(); got != "4 used, 2 of 2 accounts" {
		t.Error("after one became a stream: " + got)
	}
	// The account has its whole share again, but for the plain connection.
	if !l.budget.Hold("192.0.2.1", 9) || l.budget.Hold("192.0.2.1", 1) {
		t.Error("a stream is counted for its account")
	}
	l.budget.Free("192.0.2.1", 9)
	for range 2 {
		for _, c := range []*connection{plain, stream, late, proxy} {
			_ = c.Close()
		}
	}
	Track(late, http.StateHijacked)
	_ = late.Close()
	if got := l.state(); got != "0 used, 0 of 0 accounts" {
		t.Error("at the end: " + got)
	}
}

// TestLimit_StreamsAreNotDisplaced: an account whose share is used up by requests over HTTP/2 gets
// no connection.
func TestLimit_StreamsAreNotDisplaced(t *testing.T) {
	l := NewLimit(8, netip.Addr.String)
	stream := l.connect(t, "192.0.2.1")
	Track(stream, http.StateHijacked)
	if !l.budget.Hold("192.0.2.1", 2) {
		t.Fatal("the share is another one")
	}
	if c := l.connect(t, "192.0.2.1"); c != nil || stream.closed {
		t.Error("a connection is accepted, or a stream was closed for it")
	}
}

// TestFlood_ForgetsWithTime: at a steady rate, and not faster because it is asked often. What belongs to a
// request is taken away, and not more.
func TestFlood_ForgetsWithTime(t *testing.T) {
	at := time.Unix(0, 0)
	f := flood{limit: 1000, since: at}
	f.add(-5000)
	f.add(1000)
	if f.exceeded(at) {
		t.Error("exactly the limit is refused")
	}
	f.add(idlePerSecond)
	for range 10 {
		if at = at.Add(99 * time.Millisecond); !f.exceeded(at) {
			t.Fatal("more than the limit is allowed")
		}
	}
	if at = at.Add(10 * time.Millisecond); f.exceeded(at) {
		t.Error("nothing is forgotten after a second")
	}
	f.add(1)
	if !f.exceeded(at.Add(999 * time.Millisecond)) {
		t.Error("a second is forgotten twice")
	}
	f.add(-1)
	if f.exceeded(at) {
		t.Error("what belongs to a request is not taken away")
	}
	f.add(1 << 30)
	if f.restart(10); f.exceeded(at) {
		t.Error("a stream begins with what its request has sent")
	}
	if f.add(11); !f.exceeded(at) || f.exceeded(at.Add(1000*time.Hour)) {
		t.Error("the limit of a stream is another one")
	}
}

// written is a connection that accepts everything.
type written struct{ net.Conn }

func (written) Write(b []byte) (int, error) { return len(b), nil }

// TestFlood_AnswersAreAcknowledged: what a client sends because it receives an answer does not count.
func TestFlood_AnswersAreAcknowledged(t *testing.T) {
	c := &connection{Conn: written{}, flood: flood{limit: 100}}
	c.flood.add(1000)
	if _, err := c.Write(make([]byte, 14_400)); err != nil || c.flood.exceeded(time.Time{}) {
		t.Errorf("%v, %d bytes are left", err, c.flood.bytes)
	}
}
