package edge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"carrel/principal"
)

// newLimited returns an edge of at most so many connections, and pipes to it. Requests that name
// the user "slow" wait until release is called.
func newLimited(t *testing.T, most int, change func(*Config)) (e *edgeUnderTest, p *pipes, release func()) {
	e = newEdge(t, func(c *Config) {
		c.Limits.Connections = most
		if change != nil {
			change(c)
		}
	})
	goOn := make(chan struct{})
	e.onUser = func(_ context.Context, id string) (*principal.User, error) {
		if id == "slow" {
			<-goOn
		}
		return user(id), nil
	}
	return e, servePipes(t, e, e.handler), func() { close(goOn) }
}

const askSlow = "GET /graphql?query=%7Buser(id:%22slow%22)%7Bid%7D%7D HTTP/1.1\r\nHost: x\r\n\r\n"

// answered sends a request over a connection and returns its status, or 0 if the connection was
// closed.
func answered(c net.Conn) int {
	if _, err := io.WriteString(c, "GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return 0
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// isClosed reports whether the other side has closed a connection.
func isClosed(c net.Conn) bool {
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// TestConnections_OfAnAddressAreBounded: one more closes the oldest of the address, and none of
// others. What is held ends with the connections.
func TestConnections_OfAnAddressAreBounded(t *testing.T) {
	e, p, _ := newLimited(t, 20, nil) // 5 of an address
	other, household := p.dial("192.0.2.2"), p.dial("2001:db8::1")
	var held []net.Conn
	for range 5 {
		held = append(held, p.dial("192.0.2.1"))
	}
	for n := range 3 {
		newest := p.dial("192.0.2.1")
		if !isClosed(held[n]) {
			t.Errorf("the oldest connection is still open")
		}
		if status := answered(newest); status != 200 {
			t.Errorf("the newest one is answered %d", status)
		}
		held = append(held, newest)
	}
	for n := range 5 { // of other addresses of the same network
		defer p.dial(fmt.Sprintf("2001:db8:0:%d::1", n)).Close()
	}
	if !isClosed(household) || answered(other) != 200 || answered(held[4]) != 200 {
		t.Error("connections of an address are not counted by their /48, or close those of others")
	}
	eventually(t, func() bool { return e.handler.connections.Used() == 11 })
	for _, c := range append(held, other) {
		_ = c.Close()
	}
	eventually(t, func() bool { return e.handler.connections.Used() == 5 })
}

// TestConnections_WithoutARequestAreClosedFirst: and if all have a request, the oldest.
func TestConnections_WithoutARequestAreClosedFirst(t *testing.T) {
	e, p, release := newLimited(t, 12, nil) // 3 of an address
	asking, idle, more := p.dial("192.0.2.1"), p.dial("192.0.2.1"), p.dial("192.0.2.1")
	if answered(idle) != 200 { // and is kept alive
		t.Error("it is not answered")
	}
	eventually(t, func() bool { return p.idle.Load() == 1 }) // a moment after its client has the answer
	for n, c := range []net.Conn{asking, more} {
		_, _ = io.WriteString(c, askSlow)
		eventually(t, func() bool { return e.calls.Load() == int64(n+1) })
	}
	newer := p.dial("192.0.2.1")
	if !isClosed(idle) {
		t.Error("the idle connection is open")
	}
	_, _ = io.WriteString(newer, askSlow)
	eventually(t, func() bool { return e.calls.Load() == 3 })
	newest := p.dial("192.0.2.1")
	if !isClosed(asking) {
		t.Error("the oldest connection is open")
	}
	release()
	if status := answered(newest); status != 200 {
		t.Errorf("the newest one is answered %d", status)
	}
	for _, c := range []net.Conn{more, newer} {
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
			t.Errorf("a request is not answered: %v", err)
		}
	}
}

// TestConnections_InTotalAreBounded: further ones are closed at once.
func TestConnections_InTotalAreBounded(t *testing.T) {
	e, p, _ := newLimited(t, 8, func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")} })
	var conns []net.Conn
	for range 8 { // a trusted proxy has no share
		conns = append(conns, p.dial("192.0.2.1"))
	}
	for _, address := range []string{"192.0.2.1", "192.0.2.2"} {
		if !isClosed(p.dial(address)) {
			t.Errorf("one more from %s is open", address)
		}
	}
	if answered(conns[0]) != 200 || answered(conns[7]) != 200 {
		t.Error("one of the first is not answered")
	}
	_ = conns[0].Close()
	eventually(t, func() bool { return e.handler.connections.Used() == 7 })
	if status := answered(p.dial("192.0.2.2")); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
}

// TestConnections_StreamsCountInTotalOnly: event streams and sockets have limits of their own, by
// viewer, and are not closed for newer connections of their address.
func TestConnections_StreamsCountInTotalOnly(t *testing.T) {
	_, e := newTickingEdge(t, func(c *Config) { c.Limits.Connections = 8 }) // 2 of an address
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, e.handler.Listener(ln), e.handler, DefaultLimits())
	addr := ln.Addr().String()
	socket := opened(t, addr, "")
	stream := subscribe(t, addr)
	opened(t, addr, "")
	for range 8 {
		if status := answered(dial(t, addr)); status != 200 {
			t.Errorf("answered %d", status)
		}
	}
	socket.send(`{"type":"ping"}`)
	if got := socket.next(); got != `{"type":"pong"}` {
		t.Errorf("the socket: got %s", got)
	}
	connections := e.handler.connections
	eventually(t, func() bool { return connections.Used() == 5 })
	stream.cancel()
	_ = socket.conn.CloseNow()
	eventually(t, func() bool { return connections.Used() == 3 })
}

// TestConnections_RequestsOverHTTP2AreCounted: like connections, so that few connections cannot
// have more requests in progress than many.
func TestConnections_RequestsOverHTTP2AreCounted(t *testing.T) {
	e, _, release := newLimited(t, 40, func(c *Config) { // 10 of an address
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	server := httptest.NewUnstartedServer(nil)
	server.EnableHTTP2 = true
	server.Config = Server(e.handler.Requests(e.handler), DefaultLimits(), slog.New(slog.DiscardHandler))
	server.Listener = e.handler.Listener(server.Listener)
	server.StartTLS()
	t.Cleanup(server.Close)
	ask := func(address, id string) (int, http.Header) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL,
			strings.NewReader(fmt.Sprintf(`{"query":"{user(id:\"%s\"){id}}"}`, id)))
		if err != nil {
			t.Error(err)
			return 0, nil
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Forwarded-For", address)
		resp, err := server.Client().Do(r)
		if err != nil || resp.ProtoMajor != 2 {
			t.Error(err)
			return 0, nil
		}
		_ = resp.Body.Close()
		return resp.StatusCode, resp.Header
	}
	done := make(chan int)
	for range 10 {
		go func() { status, _ := ask("192.0.2.1", "slow"); done <- status }()
	}
	eventually(t, func() bool { return e.calls.Load() == 10 })
	if status, header := ask("192.0.2.1", "x"); status != 503 || header.Get("Retry-After") != "1" {
		t.Errorf("one more is answered %d", status)
	}
	if status, _ := ask("192.0.2.2", "x"); status != 200 {
		t.Errorf("another address is answered %d", status)
	}
	release()
	for range 10 {
		if status := <-done; status != 200 {
			t.Errorf("answered %d", status)
		}
	}
	if status, _ := ask("192.0.2.1", "x"); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
	// The connection itself is still open.
	eventually(t, func() bool { return e.handler.connections.Used() == 1 })
}
