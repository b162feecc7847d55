package edge

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"time"
)

// wire is what an event stream is sent over.
type wire interface {
	// send sends pieces at once, and fails where they are not taken within.
	send(pieces [][]byte, within time.Duration) error
	// end ends the answer as a whole one, within so much time.
	end(within time.Duration)
	// cut ends it where it cannot be sent any more.
	cut()
}

// responseWire is the answer to a request that waits for it.
type responseWire struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newResponseWire(w http.ResponseWriter) responseWire {
	return responseWire{w, http.NewResponseController(w)}
}

// send implements wire.
func (r responseWire) send(pieces [][]byte, within time.Duration) error {
	_ = r.control.SetWriteDeadline(time.Now().Add(within))
	for _, piece := range pieces {
		if _, err := r.w.Write(piece); err != nil {
			return err
		}
	}
	if err := r.control.Flush(); err != nil {
		return err
	}
	// HTTP/2 ends a stream at its deadline, also one to which nothing is written.
	_ = r.control.SetWriteDeadline(time.Time{})
	return nil
}

// end implements wire: the server ends the answer, and has so much time for it.
func (r responseWire) end(within time.Duration) {
	_ = r.control.SetWriteDeadline(time.Now().Add(within))
}

// cut implements wire: the server finds that out by itself.
func (responseWire) cut() {}

// ownWire is the answer to a request of HTTP/1.1 that is over, on a connection
// that is closed with it. An answer that is open for hours would otherwise keep
// what the server needs for a request, 20 KB and more.
type ownWire struct {
	conn net.Conn
	head []byte // that goes out with the first bytes
}

// takeOver takes the connection of a request over; nil where it cannot be had:
// that of HTTP/2 is shared by many, and HTTP/1.0 knows no chunks.
func takeOver(w http.ResponseWriter, r *http.Request, header http.Header) *ownWire {
	if r.ProtoMajor != 1 || r.ProtoMinor < 1 {
		return nil
	}
	// What was read beyond the request is thrown away, like all that comes after
	// it: the client is told that the connection ends with this answer.
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	header.Set("Connection", "close")
	header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	header.Set("Transfer-Encoding", "chunked")
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	_ = header.Write(&head) // a buffer takes everything
	head.WriteString("\r\n")
	return &ownWire{conn: conn, head: head.Bytes()}
}

// send implements wire. The pieces are one chunk.
func (o *ownWire) send(pieces [][]byte, within time.Duration) error {
	chunk := append(make([][]byte, 0, len(pieces)+2), fmt.Appendf(o.head, "%x\r\n", length(pieces)))
	chunk = append(append(chunk, pieces...), []byte("\r\n"))
	o.head = nil
	return o.put(joined(chunk), within)
}

func (o *ownWire) put(pieces [][]byte, within time.Duration) error {
	if err := o.conn.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	all := net.Buffers(pieces)
	_, err := all.WriteTo(o.conn)
	return err
}

// end implements wire.
func (o *ownWire) end(within time.Duration) {
	_ = o.put([][]byte{[]byte("0\r\n\r\n")}, within) // the client may be gone
	o.cut()
}

// cut implements wire.
func (o *ownWire) cut() { _ = o.conn.Close() }

// watch calls gone when the client has closed the connection, or it was closed
// here. What the client sends is thrown away.
func (o *ownWire) watch(gone func()) {
	defer gone()
	var b [64]byte
	for {
		if _, err := o.conn.Read(b[:]); err != nil {
			return
		}
	}
}
