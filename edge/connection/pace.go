package connection

import (
	"iter"
	"net/http"
	"slices"
	"time"
)

// PieceBytes is how much of an answer a client accepts in the time for one message. With 10 s that
// is a rate of 6.5 KB/s, which every connection reaches that can show a page.
const PieceBytes = 64 << 10

// Pieces cuts a message into pieces that a client accepts in the time for one.
func Pieces(message [][]byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, part := range message {
			for piece := range slices.Chunk(part, PieceBytes) {
				if !yield(piece) {
					return
				}
			}
		}
	}
}

// Pace returns a handler whose clients must accept each piece of an answer within a time. The first
// one has the time that the server gives to an answer.
func Pace(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&pacedWriter{ResponseWriter: w, within: within}, r)
	})
}

// pacedWriter renews the deadline of an answer with every piece that was sent, so that a client is
// cut off because it does not read, and not because its answer is long.
type pacedWriter struct {
	http.ResponseWriter
	within time.Duration
	sent   int // since the deadline was renewed
}

// Write implements http.ResponseWriter.
func (w *pacedWriter) Write(b []byte) (n int, err error) {
	for err == nil && n < len(b) {
		piece := b[n:min(len(b), n+PieceBytes)]
		if w.sent+len(piece) >= PieceBytes {
			w.sent = 0
			// Without support for it, as of a recorder, the answer has one deadline.
			_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.within))
		}
		w.sent += len(piece)
		var wrote int
		wrote, err = w.ResponseWriter.Write(piece)
		n += wrote
	}
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
