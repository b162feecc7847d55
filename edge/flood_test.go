package edge

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/edge/connection"
)

// startCounted serves a handler on a listener that counts connections, over TLS with HTTP/2 if h2 is set.
func startCounted(t *testing.T, e *edgeUnderTest, h2 bool) (server *httptest.Server, opened *atomic.Int64) {
	t.Helper()
	opened = new(atomic.Int64)
	server = httptest.NewUnstartedServer(nil)
	server.Config = Server(e.handler.Requests(e.handler), DefaultLimits(), slog.New(slog.DiscardHandler))
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if connection.Track(conn, state); state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Listener = e.handler.Listener(server.Listener)
	if server.EnableHTTP2 = h2; h2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server, opened
}

// floods sends the same bytes until the server closes the connection. It returns how many it has sent, at most 64 MiB,
// because the system keeps some on the way.
func floods(t *testing.T, c net.Conn, frame []byte) (sent int) {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	go func() { _, _ = io.Copy(io.Discard, c) }()
	piece := []byte(strings.Repeat(string(frame), 1+1000/len(frame)))
	for sent < 64<<20 {
		n, err := c.Write(piece)
		if sent += n; err != nil {
			return sent
		}
	}
	t.Errorf("%d bytes are read", sent)
	return sent
}

const upgrade = "GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: " +
	"websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
	"AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n"

// TestFlood_ClosesTheConnection: pings and empty frames without end, over websockets and HTTP/2.
func TestFlood_ClosesTheConnection(t *testing.T) {
	for name, c := range map[string]struct {
		h2           bool
		begin, frame string
	}{
		"pings of a websocket":     {false, upgrade, "\x89\x80\x00\x00\x00\x00"},
		"pongs of a websocket":     {false, upgrade, "\x8a\x80\x00\x00\x00\x00"},
		"empty parts of a message": {false, upgrade + "\x01\x80\x00\x00\x00\x00", "\x00\x80\x00\x00\x00\x00"},
		"parts of one byte":        {false, upgrade + "\x01\x80\x00\x00\x00\x00", "\x00\x81\x00\x00\x00\x00 "},
		"pings of HTTP/2": {true, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
			"\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678"},
		"settings of HTTP/2": {true, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
			"\x00\x00\x00\x04\x00\x00\x00\x00\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			server, _ := startCounted(t, e, c.h2)
			var conn net.Conn
			var err error
			if addr := server.Listener.Addr().String(); c.h2 {
				conn, err = tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
			} else {
				conn, err = net.Dial("tcp", addr)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, c.begin); err != nil {
				t.Fatal(err)
			}
			floods(t, conn, []byte(c.frame))
		})
	}
}

// TestFlood_RequestsAndMessagesAreNone, however many and long they are.
func TestFlood_RequestsAndMessagesAreNone(t *testing.T) {
	const small, long = `{"query":"{viewer{id}}"}`, 1<<20 - 1000
	padded := strings.Repeat(" ", long) + small
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, func(c *Config) { c.Limits.AddressPoints = 0 })
			server, connections := startCounted(t, e, h2)
			for n := range 3_000 {
				body, want := small, `{"data":{"viewer":null}}`
				switch n % 100 {
				case 0:
					body = padded
				case 50: // the client acknowledges its parts
					body, want = `{"query":"{_service{sdl a:sdl b:sdl c:sdl d:sdl e:sdl f:sdl g:sdl h:sdl i:sdl}}"}`, `{"data":{"_service":`
				}
				resp, err := server.Client().Post(server.URL+"/graphql", "application/json", strings.NewReader(body))
				if err != nil {
					t.Fatalf("request %d: %v", n, err)
				}
				b, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || !strings.HasPrefix(string(b), want) {
					t.Fatalf("request %d: %v %.100s", n, err, b)
				}
			}
			// The client opens another one if what writes its requests has not run for 50 ms.
			if connections.Load() > 2 {
				t.Errorf("%d connections were opened", connections.Load())
			}
		})
	}
	t.Run("a socket", func(t *testing.T) {
		e := newEdge(t, func(c *Config) { c.Limits.AddressPoints = 0 })
		server, _ := startCounted(t, e, false)
		so := opened(t, server.Listener.Addr().String(), "")
		for n := range 3_000 {
			message := fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":%s}`, n, small)
			if n%300 == 0 {
				message = strings.Repeat(" ", long) + message
			}
			so.send(message)
			if got := so.next(); !strings.Contains(got, `"viewer":null`) {
				t.Fatalf("message %d: %s", n, got)
			}
			so.next() // complete
		}
	})
}

// TestRateLimit_ClosesTheConnection: requests that are sent after one without points are not read.
func TestRateLimit_ClosesTheConnection(t *testing.T) {
	const ask = "GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nHost: x\r\n"
	for name, header := range map[string]string{"an answer": "\r\n", "events": "Accept: text/event-stream\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, func(c *Config) { c.Limits.AddressPoints = 2 })
			conn := dial(t, start(t, e.handler, DefaultLimits()))
			_, _ = io.WriteString(conn, strings.Repeat(ask+header, 10))
			answers, in := 0, bufio.NewReader(conn)
			for ; ; answers++ {
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					break
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			if answers != 3 {
				t.Errorf("%d requests are answered, want two and a refusal", answers)
			}
		})
	}
}
