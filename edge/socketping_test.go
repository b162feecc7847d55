package edge

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// piped is a response whose connection is one end of a pipe.
type piped struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack implements http.Hijacker.
func (p piped) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return p.conn, bufio.NewReadWriter(bufio.NewReader(p.conn), bufio.NewWriter(p.conn)), nil
}

// TestSocket_PingWaitsForASlowMessage: a client that takes long to accept a message, but no longer
// than it may, keeps its connection.
func TestSocket_PingWaitsForASlowMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		r := httptest.NewRequest(http.MethodGet, "/graphql", nil)
		for name, value := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
		} {
			r.Header.Set(name, value)
		}
		conn, err := websocket.Accept(piped{httptest.NewRecorder(), server}, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s := &socket{handler: &Handler{limits: DefaultLimits()}, conn: conn, ctx: ctx, cancel: cancel}
		pings := 0
		s.pinger = time.AfterFunc(time.Hour, func() { pings++ })
		written := make(chan error)
		go func() { written <- conn.Write(ctx, websocket.MessageText, []byte("an event")) }()
		synctest.Wait() // the client reads nothing, so the message waits

		s.ping()
		if ctx.Err() != nil {
			t.Error("the connection was ended")
		}
		<-time.After(s.handler.limits.Ping)
		if synctest.Wait(); pings != 1 {
			t.Errorf("the next ping was sent %d times, want once", pings)
		}
		go func() { _, _ = client.Read(make([]byte, 100)) }()
		if err := <-written; err != nil {
			t.Errorf("the message was not sent: %v", err)
		}
		_ = conn.CloseNow()
		s.ping()
		if ctx.Err() == nil {
			t.Error("the connection was closed, and the socket continues")
		}
		_ = client.Close()
	})
}
