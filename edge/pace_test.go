package edge

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"carrel/edge/connection"
	"carrel/principal"
)

// pipes is a listener for connections within the process, which have no buffers: what is written
// has been read.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
	idle  atomic.Int64 // how often a connection has become idle
}

// from is a connection from an address.
type from struct {
	net.Conn
	addr net.Addr
}

func (f from) RemoteAddr() net.Addr { return f.addr }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.ended) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial opens a connection from an address.
func (p *pipes) dial(address string) net.Conn {
	client, server := net.Pipe()
	p.conns <- from{server, &net.TCPAddr{IP: net.ParseIP(address), Port: 1234}}
	return client
}

// servePipes serves a handler over pipes until the end of the test.
func servePipes(t *testing.T, e *edgeUnderTest, h http.Handler) *pipes {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}
	server := Server(e.handler.Requests(h), e.handler.limits, slog.New(slog.DiscardHandler))
	changed := server.ConnState
	server.ConnState = func(c net.Conn, state http.ConnState) {
		changed(c, state)
		if state == http.StateIdle {
			p.idle.Add(1)
		}
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(e.handler.Listener(p)) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return p
}

// slowAnswers are clients that read two megabytes by each transport, in pieces. read is called for
// each piece and returns false at the end.
func slowAnswers(t *testing.T, p *pipes, s *ticking) map[string]func() (read func() error, leave func()) {
	request := func(head string) func() (func() error, func()) {
		return func() (func() error, func()) {
			c := p.dial("192.0.2.9")
			_, _ = io.WriteString(c, head)
			b := make([]byte, connection.PieceBytes)
			return func() error { _, err := io.ReadFull(c, b); return err }, func() { _ = c.Close() }
		}
	}
	const long = `{"query":"{user(id:\"x\"){a:displayName b:displayName c:displayName}}"}`
	post := func(header, body string) func() (func() error, func()) {
		return request(fmt.Sprintf("POST /graphql HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "+
			"application/json\r\n%sContent-Length: %d\r\n\r\n%s", header, len(body), body))
	}
	return map[string]func() (func() error, func()){
		"an answer":           post("", long),
		"a compressed answer": post("Accept-Encoding: gzip\r\n", long),
		"an answer by events": post("Accept: text/event-stream\r\n", long),
		"a raw text":          request("GET /p/p:long/raw HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
		"an event": func() (func() error, func()) {
			go func() { s.events <- 1; close(s.events) }()
			return post("Accept: text/event-stream\r\n", `{"query":"subscription{ticks}"}`)()
		},
		"a message of a socket": func() (func() error, func()) { return slowSocket(t, p, long) },
	}
}

// slowSocket reads the answer to a query over a websocket.
func slowSocket(t *testing.T, p *pipes, query string) (read func() error, leave func()) {
	dial := func(context.Context, string, string) (net.Conn, error) { return p.dial("192.0.2.9"), nil }
	conn, _, err := websocket.Dial(t.Context(), "ws://x/graphql", &websocket.DialOptions{Subprotocols: []string{subprotocol},
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	so := &socketUnderTest{t, conn}
	so.send(`{"type":"connection_init"}`)
	so.next()
	so.send(`{"id":"1","type":"subscribe","payload":` + query + `}`)
	var message io.Reader
	b := make([]byte, connection.PieceBytes)
	return func() (err error) {
		if message == nil {
			if _, message, err = conn.Reader(t.Context()); err != nil {
				return err
			}
		}
		_, err = io.ReadFull(message, b)
		return err
	}, func() { _ = conn.CloseNow() }
}

// newSlowEdge returns an edge whose answers have two megabytes that hardly compress.
func newSlowEdge(t *testing.T, transport string) (*ticking, *edgeUnderTest) {
	s := newTicking()
	s.blank = 2_100_000
	e := newEdge(t, func(c *Config) {
		if transport == "an event" {
			c.Schema = s
		}
		if strings.Contains(transport, "event") {
			c.Limits.Ping = time.Hour // the time of the bubble stands still while a ping waits for a lock
		}
	})
	long := noise(700_000)
	e.onUser = func(_ context.Context, id string) (*principal.User, error) {
		u := user(id)
		u.DisplayName = long
		return u, nil
	}
	return s, e
}

func serveSlowly(t *testing.T, e *edgeUnderTest) *pipes {
	text := strings.Repeat("x", 4*rawBytes) // more than a paste has, to take minutes
	mux := http.NewServeMux()
	mux.Handle("/graphql", e.handler)
	mux.Handle("GET /p/{id}/raw", e.handler.Raw(func(context.Context, string) (*string, error) { return &text, nil }))
	return servePipes(t, e, mux)
}

var transports = []string{"an answer", "a compressed answer", "an answer by events", "a raw text", "an event", "a message of a socket"}

// TestPace_SlowReadersReceiveEverything: a client that reads 8 KB/s receives an answer that takes
// minutes, by every transport. Meanwhile it holds no operation.
func TestPace_SlowReadersReceiveEverything(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, e := newSlowEdge(t, transport)
				began := time.Now()
				read, leave := slowAnswers(t, serveSlowly(t, e), s)[transport]()
				defer leave()
				pieces := 0
				for ; pieces < 1000; pieces++ {
					if err := read(); err != nil {
						break
					}
					<-time.After(8 * time.Second)
					if running := e.handler.operations.Used(); running != 0 {
						t.Fatalf("%d operations run", running)
					}
					if held := e.handler.AnswerBytes(); pieces < 15 && held < 500_000 {
						t.Fatalf("%d bytes of memory are held", held)
					}
				}
				if least := 2_000_000 / connection.PieceBytes * 3 / 4; pieces < least || time.Since(began) < 3*time.Minute {
					t.Errorf("it received %d pieces in %v, want at least %d", pieces, time.Since(began), least)
				}
			})
		})
	}
}

// TestPace_ClientsThatReadNothingAreCutOff: within the time for one part, and then nothing is held
// for them, even if they have read much of the answer before.
func TestPace_ClientsThatReadNothingAreCutOff(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, e := newSlowEdge(t, transport)
				read, leave := slowAnswers(t, serveSlowly(t, e), s)[transport]()
				defer leave()
				for range 4 {
					if err := read(); err != nil {
						t.Fatal(err)
					}
					<-time.After(5 * time.Second)
				}
				<-time.After(6 * time.Second)
				synctest.Wait()
				if held := e.handler.AnswerBytes(); held != 0 {
					t.Errorf("%d bytes are still held", held)
				}
				if open := e.handler.connections.Used(); open != 0 {
					t.Errorf("%d connections are still open", open)
				}
			})
		})
	}
}
