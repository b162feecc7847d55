package edge

import (
	"bytes"
	"io"
	"sync"
)

// firstBytes is how many bytes of a body or message are read before a buffer for the whole is
// allocated, so that a client that announces a megabyte and sends nothing ties up no memory. Few
// requests are longer, so these buffers have their own pool.
const firstBytes = 64 << 10

// intake is a reusable buffer into which one body or message is read.
type intake struct {
	first   bytes.Buffer
	whole   *bytes.Buffer // everything, if it is longer than the first bytes
	limited io.LimitedReader
}

// largeBuffers are buffers for bodies that are longer than firstBytes. Each is as large as the
// largest body allowed.
type largeBuffers struct {
	buffers sync.Pool // of *bytes.Buffer
	most    int
}

func newLargeBuffers(most int) *largeBuffers {
	l := &largeBuffers{most: most}
	l.buffers.New = func() any { return new(bytes.Buffer) }
	return l
}

// read reads all of r, or one byte more than the largest body allowed.
func (in *intake) read(r io.Reader, large *largeBuffers) error {
	most := int64(large.most) + 1
	in.limited = io.LimitedReader{R: r, N: min(most, firstBytes)}
	_, err := in.first.ReadFrom(&in.limited)
	if in.first.Len() == firstBytes && err == nil {
		in.whole = large.buffers.Get().(*bytes.Buffer)
		in.whole.Grow(large.most + bytes.MinRead + 1) // once for each buffer
		in.whole.Write(in.first.Bytes())
		in.limited.N = most - firstBytes
		_, err = in.whole.ReadFrom(&in.limited)
	}
	in.limited.R = nil
	return err
}

// bytes returns what was read. It is valid until reset.
func (in *intake) bytes() []byte {
	if in.whole != nil {
		return in.whole.Bytes()
	}
	return in.first.Bytes()
}

// reset clears the content and keeps the buffer.
func (in *intake) reset(large *largeBuffers) {
	in.first.Reset()
	if in.whole != nil {
		in.whole.Reset()
		large.buffers.Put(in.whole)
		in.whole = nil
	}
}
