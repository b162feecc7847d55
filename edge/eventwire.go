package edge

import (
	"net/http"
	"time"
)

// wire is the answer that an event stream is sent in. The handler of its request is still running.
type wire struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newWire(w http.ResponseWriter) wire {
	return wire{w, http.NewResponseController(w)}
}

// send sends a part at once. It fails if the client does not accept it within the time.
func (r wire) send(part []byte, within time.Duration) error {
	_ = r.control.SetWriteDeadline(time.Now().Add(within))
	if _, err := r.w.Write(part); err != nil {
		return err
	}
	if err := r.control.Flush(); err != nil {
		return err
	}
	// HTTP/2 resets a stream at its deadline even if nothing is being written.
	_ = r.control.SetWriteDeadline(time.Time{})
	return nil
}

// end sets the deadline of the end of the answer, which the server sends.
func (r wire) end(within time.Duration) {
	_ = r.control.SetWriteDeadline(time.Now().Add(within))
}
