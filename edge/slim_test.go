package edge

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSocket_MessageSentWithTheHandshakeIsRead: a client may send before the handshake is answered,
// so the server may have read the first message with the header.
func TestSocket_MessageSentWithTheHandshakeIsRead(t *testing.T) {
	_, e := newTickingEdge(t, nil)
	addr := start(t, e.handler, DefaultLimits())
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	// Longer than the buffers of a socket, and masked with zeros, because clients must mask frames.
	init := `{"type":"connection_init","payload":{"x":"` + strings.Repeat("x", 2*slimBytes) + `"}}`
	frame := append([]byte{0x81, 0x80 | 126, byte(len(init) >> 8), byte(len(init)), 0, 0, 0, 0}, init...)
	head := "GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: " + subprotocol + "\r\n\r\n"
	if _, err := conn.Write(append([]byte(head), frame...)); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	opened, err := http.ReadResponse(answers, nil)
	if err != nil || opened.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the handshake is answered by %v, %v", opened, err)
	}
	ack := make([]byte, 2+len(`{"type":"connection_ack"}`))
	if _, err := io.ReadFull(answers, ack); err != nil || !strings.Contains(string(ack), "connection_ack") {
		t.Errorf("the init is answered by %q, %v", ack, err)
	}
}
