package connection

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// How many bytes a client may send that belong to no request and no message: pings, empty frames, and what
// frames and TLS add. HTTP/2 may send a window of 64 KiB of bodies before the first byte of them is read. An
// event stream or a socket sends less, and there are more of them. Clients ping every few seconds; each
// ping takes some microseconds to answer, and nobody pays for it.
const (
	idleBytes       = 128 << 10
	streamIdleBytes = 8 << 10
	idlePerSecond   = 256
)

// errFlood is the error of reading from a connection whose client sends too much that belongs to no request.
// The server, or the socket, then closes it.
var errFlood = errors.New("the client sends too much that belongs to no request")

// flood counts the bytes that a client has sent and that belong to no request yet.
type flood struct {
	mu    sync.Mutex
	bytes int
	limit int
	since time.Time // when the bytes were last reduced
}

// exceeded reports whether there are too many. It reduces them as time passes.
func (f *flood) exceeded(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if passed := now.Sub(f.since); passed >= time.Second {
		f.bytes, f.since = max(0, f.bytes-idlePerSecond*int(min(passed, time.Hour)/time.Second)), now
	}
	return f.bytes > f.limit
}

// add adds bytes that were read, or takes away those that belong to a request if n is negative.
func (f *flood) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes = max(0, f.bytes+n)
}

// restart allows so many bytes from now on.
func (f *flood) restart(limit int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes, f.limit = 0, limit
}

// Read implements net.Conn.
func (c *connection) Read(b []byte) (int, error) {
	if c.flood.exceeded(time.Now()) {
		return 0, errFlood
	}
	n, err := c.Conn.Read(b)
	c.flood.add(n)
	return n, err
}

// Write implements net.Conn. A client that receives an answer over HTTP/2 acknowledges parts of it.
func (c *connection) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.flood.add(-n / 16)
	return n, err
}

// Requested takes the bytes of a request's header, or of a message's frame, from those that its connection
// may send besides requests. ctx is that of the request.
func Requested(ctx context.Context, bytes int) {
	if c, _ := ctx.Value(contextKey{}).(*connection); c != nil {
		c.flood.add(-framed(bytes) - 64)
	}
}

// framed returns about how many bytes TLS and frames make of some.
func framed(bytes int) int { return bytes + bytes/8 }

// Body returns a reader of a body, or of a message, that takes what is read from the bytes that its
// connection may send besides requests.
func Body(ctx context.Context, from io.Reader) io.Reader {
	if c, _ := ctx.Value(contextKey{}).(*connection); c != nil {
		return body{from, c}
	}
	return from
}

type body struct {
	io.Reader
	conn *connection
}

// Read implements io.Reader. It reads less than a stream may send, because a socket reads as much as it is
// asked for before it returns.
func (b body) Read(into []byte) (int, error) {
	n, err := b.Reader.Read(into[:min(len(into), streamIdleBytes/2)])
	b.conn.flood.add(-framed(n))
	return n, err
}
