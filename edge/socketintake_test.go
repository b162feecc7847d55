package edge

import (
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// TestSocket_IncompleteMessageClosesIt: as with a body, a client that stops in the middle of a
// message is cut off, even if it answers pings.
func TestSocket_IncompleteMessageClosesIt(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.Read = time.Second })
	c := opened(t, start(t, e.handler, DefaultLimits()), "")
	w, err := c.conn.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(`{"type":"ping","payload":{"a":"` + strings.Repeat("a", 2*keptBytes))); err != nil {
		t.Fatal(err)
	}
	if got := c.next(); got != "closed 1008" {
		t.Errorf("got %s", got)
	}
}

// TestSocket_MessagesOfAllSizesAreRead: a message longer than the first bytes is read completely,
// and does not affect later ones.
func TestSocket_MessagesOfAllSizesAreRead(t *testing.T) {
	e := newEdge(t, nil)
	c := opened(t, start(t, e.handler, DefaultLimits()), "")
	for _, size := range []int{1, 100, keptBytes - 100, keptBytes, keptBytes + 1, 1<<20 - 200, 1} {
		id := strings.Repeat("x", size)
		c.send(`{"id":"1","type":"subscribe","payload":{"query":"{user(id:\"x\"){id}}","extensions":{"` + id + `":1}}}`)
		if got := c.next(); got != `{"type":"next","id":"1","payload":{"data":{"user":{"id":"x"}}}}` {
			t.Fatalf("%d bytes: got %.300s", size, got)
		}
		c.next()
	}
}

func TestSocket_LongPingPayloadIsNotEchoed(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.AddressPoints = 4 })
	c := opened(t, start(t, e.handler, DefaultLimits()), "")
	c.send(`{"type":"ping","payload":{"a":"` + strings.Repeat("a", maxEcho) + `"}}`)
	if got := c.next(); got != `{"type":"pong"}` {
		t.Errorf("got %.300s", got)
	}
	// Pings are charged like everything else.
	got := ""
	for range 10 {
		c.send(`{"type":"ping"}`)
		if got = c.next(); got != `{"type":"pong"}` {
			break
		}
	}
	if got != "closed 1013" {
		t.Errorf("got %s", got)
	}
}
