package edge

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// zipFrom is the size from which answers are compressed. Compressing a smaller one hardly saves a
// packet.
const zipFrom = 4 << 10

// zipper compresses answers to callers who are not signed in. An answer to a viewer is never compressed,
// nor one to a request with a cookie: if an attacker has chosen a part of it, its length reveals whether
// the rest has a part in common (BREACH).
type zipper struct{ writers sync.Pool }

func newZipper() *zipper {
	z := &zipper{}
	z.writers.New = func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
		return w
	}
	return z
}

// pays reports whether an answer of this size is worth compressing.
func (z *zipper) pays(size int) bool { return size >= zipFrom }

// zip compresses b into into. It returns false if that failed or saved nothing.
func (z *zipper) zip(into *bytes.Buffer, b []byte) bool {
	w := z.writers.Get().(*gzip.Writer)
	defer z.writers.Put(w)
	w.Reset(into)
	if _, err := w.Write(b); err != nil {
		return false
	}
	return w.Close() == nil && into.Len() < len(b)
}

// stream writes pieces to w, compressed. It returns at the first error, which means that the client
// is gone.
func (z *zipper) stream(w io.Writer, pieces [][]byte) {
	zw := z.writers.Get().(*gzip.Writer)
	defer z.writers.Put(zw)
	zw.Reset(w)
	for _, piece := range pieces {
		if _, err := zw.Write(piece); err != nil {
			return
		}
	}
	_ = zw.Close() // the client may be gone
}

// compresses reports whether the answer to a request may be compressed.
func (h *Handler) compresses(signedIn bool, header http.Header) bool {
	return !signedIn && header["Cookie"] == nil && takesGzip(header)
}

// takesGzip reports whether the client accepts gzip, and does not prefer an uncompressed answer.
func takesGzip(h http.Header) bool {
	gzipped, plain := 0.0, 0.0
	for _, header := range h["Accept-Encoding"] {
		for part := range strings.SplitSeq(header, ",") {
			switch name, q := acceptPart(part); name {
			case "gzip":
				gzipped = q
			case "identity":
				plain = q
			}
		}
	}
	return gzipped > 0 && gzipped >= plain
}
