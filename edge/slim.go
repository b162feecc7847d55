package edge

import (
	"bufio"
	"errors"
	"net"
	"net/http"
)

// slimBytes is the size of each of a socket's two buffers, for reading and for writing. Most
// messages and events are smaller; larger ones bypass the buffer.
const slimBytes = 1 << 10

// slimWriter hijacks a connection with smaller buffers. Those of the server have 4 KiB each, and an
// idle socket would keep them for hours.
type slimWriter struct {
	http.ResponseWriter
	conn net.Conn // set after Hijack
}

// Hijack implements http.Hijacker.
func (w *slimWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, server, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early := make([]byte, server.Reader.Buffered())
	if _, err := server.Read(early); len(early) > 0 && err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	slim := &slimConn{conn, early}
	w.conn = slim
	return slim, bufio.NewReadWriter(bufio.NewReaderSize(slim, slimBytes), bufio.NewWriterSize(slim, slimBytes)), nil
}

// slimConn is a connection of which some bytes were read before.
type slimConn struct {
	net.Conn
	early []byte
}

// Read implements net.Conn.
func (c *slimConn) Read(b []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.early)
	if c.early = c.early[n:]; len(c.early) == 0 {
		c.early = nil
	}
	return n, nil
}
