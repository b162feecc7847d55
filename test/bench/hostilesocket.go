package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coder/websocket"
)

// A message is a hostile message over a websocket, with the expected answer.
type message struct {
	name, text string
	// answer is a part of the expected answer, and closed is the code with which the socket is
	// closed. Only one of them is set.
	answer string
	closed websocket.StatusCode
}

// hostileMessages are the messages of the table. They are sent after the init message,
// unless they are one.
func hostileMessages() []message {
	subscribe := func(query string) string {
		return `{"id":"1","type":"subscribe","payload":` + string(body(query, nil)) + `}`
	}
	const most = 1 << 20
	return []message{
		{name: "over a socket: a token of 900 KB", text: `{"type":"connection_init","payload":{"authorization":"Bearer ` + strings.Repeat("a", 900_000) + `"}}`, closed: 4403},
		{name: "over a socket: 1 MB that is not a message", text: strings.Repeat("{", most-1), closed: 4400},
		{name: "over a socket: more than 1 MB", text: strings.Repeat(" ", most+1), closed: websocket.StatusMessageTooBig},
		{name: "over a socket: a ping of 1 MB", text: `{"type":"ping","payload":{"a":"` + strings.Repeat("a", most-100) + `"}}`, answer: "pong"},
		{name: "over a socket: 1 MB query of spaces", text: subscribe(strings.Repeat(" ", most-200)), answer: "QUERY_TOO_LONG"},
		{name: "over a socket: fragment bomb, 26 levels", text: subscribe(fragmentBomb(26)), answer: "DUPLICATE_LIMIT"},
	}
}

// sendMessage sends the message over the given socket, or over a new one if it is nil, and requires
// the expected answer. It returns the socket, or nil if the socket is closed.
func (a *attacker) sendMessage(ctx context.Context, m message, over *websocket.Conn) (*websocket.Conn, error) {
	if over == nil {
		conn, _, err := websocket.Dial(ctx, "ws://"+a.address+"/graphql", &websocket.DialOptions{HTTPClient: a.client, Subprotocols: []string{"graphql-transport-ws"}})
		if err != nil {
			return nil, err
		}
		conn.SetReadLimit(-1)
		if over = conn; !strings.Contains(m.text, "connection_init") {
			if err := exchange(ctx, conn, message{text: `{"type":"connection_init"}`, answer: "connection_ack"}); err != nil {
				return nil, errors.Join(err, conn.CloseNow())
			}
		}
	}
	err := exchange(ctx, over, m)
	if m.closed != 0 || err != nil {
		_ = over.CloseNow() // it is already closed, or no longer needed
		return nil, err
	}
	return over, nil
}

// exchange sends one message and reads the answer.
func exchange(ctx context.Context, conn *websocket.Conn, m message) error {
	// A socket may be closed while the message is still being sent.
	sent := conn.Write(ctx, websocket.MessageText, []byte(m.text))
	_, answer, err := conn.Read(ctx)
	if m.closed != 0 && websocket.CloseStatus(err) == m.closed {
		return nil
	}
	if m.closed != 0 || err != nil || !strings.Contains(string(answer), m.answer) {
		return fmt.Errorf("answered with %.200s (%w), want %s%d", answer, errors.Join(sent, err), m.answer, m.closed)
	}
	return nil
}
