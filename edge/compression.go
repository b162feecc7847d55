package edge

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzhttp"
)

// zipFrom is the smallest answer that is compressed. Below it the savings fit into the packets that
// are sent anyway.
const zipFrom = 4 << 10

// zipper compresses answers. It is only for anonymous answers: if an answer contains both a secret
// and text chosen by an attacker, its compressed length reveals the secret (BREACH).
type zipper struct{ writers sync.Pool }

func newZipper() *zipper {
	z := &zipper{}
	z.writers.New = func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
		return w
	}
	return z
}

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
	_ = zw.Close() // as above
}

// takesGzip reports whether the client accepts gzip.
func takesGzip(h http.Header) bool {
	for _, header := range h["Accept-Encoding"] {
		for part := range strings.SplitSeq(header, ",") {
			if name, q := acceptPart(part); name == "gzip" && q > 0 {
				return true
			}
		}
	}
	return false
}

// compressAssets compresses scripts, styles, fonts and text images. It does not compress pages,
// because they contain a nonce.
func compressAssets(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(zipFrom),
		gzhttp.ContentTypes([]string{"text/javascript", "application/javascript", "text/css", "font/ttf", "image/svg+xml"}))
	if err != nil { // the options are constant and valid
		return next
	}
	return wrap(next)
}
