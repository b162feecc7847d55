package edge

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"time"
)

// wire is the connection that an event stream is sent over.
type wire interface {
	// send sends pieces at once. It fails if the client does not accept them within the time.
	send(pieces [][]byte, within time.Duration) error
	// end ends the answer properly, within the time.
	end(within time.Duration)
	// cut closes a connection that accepts no more data.
	cut()
}

// responseWire is the answer to a request whose handler is still running.
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
	// HTTP/2 resets a stream at its deadline even if nothing is being written.
	_ = r.control.SetWriteDeadline(time.Time{})
	return nil
}

// end implements wire. The server ends the answer, and this sets its deadline.
func (r responseWire) end(within time.Duration) {
	_ = r.control.SetWriteDeadline(time.Now().Add(within))
}

// cut implements wire. The server notices by itself.
func (responseWire) cut() {}

// ownWire is an answer to an HTTP/1.1 request whose handler has returned. The connection is closed
// with the answer. If the handler ran until then, the server would keep its buffers for the
// request, 20 KB and more, for hours.
type ownWire struct {
	conn net.Conn
	head []byte // sent with the first bytes
}

// takeOver takes over the connection of a request. It returns nil if that is not possible: an
// HTTP/2 connection is shared, and HTTP/1.0 has no chunks.
func takeOver(w http.ResponseWriter, r *http.Request, header http.Header) *ownWire {
	if r.ProtoMajor != 1 || r.ProtoMinor < 1 {
		return nil
	}
	// Everything that was read after the request, or arrives later, is discarded: the header says
	// that the connection ends with this answer.
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	header.Set("Connection", "close")
	header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	header.Set("Transfer-Encoding", "chunked")
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	_ = header.Write(&head) // writing to a buffer cannot fail
	head.WriteString("\r\n")
	return &ownWire{conn: conn, head: head.Bytes()}
}

// send implements wire. It sends the pieces as one chunk.
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

// watch calls gone when the connection is closed by either side. It discards what the client sends.
func (o *ownWire) watch(gone func()) {
	defer gone()
	var b [64]byte
	for {
		if _, err := o.conn.Read(b[:]); err != nil {
			return
		}
	}
}
