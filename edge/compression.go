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

// zipFrom is the least answer that is worth compressing: below it what is
// saved fits into the packets that are sent anyway.
const zipFrom = 4 << 10

// zipper compresses answers. It is for answers to nobody in particular alone:
// where something secret and something chosen by an attacker stand in one
// answer, its compressed length tells of the secret (BREACH).
type zipper struct{ writers sync.Pool }

func newZipper() *zipper {
	z := &zipper{}
	z.writers.New = func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a good one
		return w
	}
	return z
}

func (z *zipper) pays(size int) bool { return size >= zipFrom }

// zip writes b to into; false where that failed or made it no shorter.
func (z *zipper) zip(into *bytes.Buffer, b []byte) bool {
	w := z.writers.Get().(*gzip.Writer)
	defer z.writers.Put(w)
	w.Reset(into)
	if _, err := w.Write(b); err != nil {
		return false
	}
	return w.Close() == nil && into.Len() < len(b)
}

// stream writes pieces to w, compressed. It returns at the first error: the
// client is gone.
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

// takesGzip tells whether the client reads gzip.
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

// compressAssets compresses what pages are made of: scripts, styles, fonts and
// pictures that are text. A page itself holds a nonce, and is sent as it is.
func compressAssets(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(zipFrom),
		gzhttp.ContentTypes([]string{"text/javascript", "application/javascript", "text/css", "font/ttf", "image/svg+xml"}))
	if err != nil { // the options are constant, and good
		return next
	}
	return wrap(next)
}
