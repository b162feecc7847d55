package edge

import (
	"bytes"
	"io"
	"sync"
)

// firstBytes of a body or message are read before there is room made for the
// rest: who tells of a megabyte and sends nothing shall not have one kept for
// him. Few have more, so the room for more is kept apart from theirs.
const firstBytes = 64 << 10

// intake is the room that one body or message is read into, and is used again.
type intake struct {
	first   bytes.Buffer
	whole   *bytes.Buffer // all of it, where it goes beyond the first bytes
	limited io.LimitedReader
}

// largeBuffers are those for what goes beyond the first bytes, each as large as
// anything may be.
type largeBuffers struct {
	rooms sync.Pool // of *bytes.Buffer
	most  int
}

func newLargeBuffers(most int) *largeBuffers {
	l := &largeBuffers{most: most}
	l.rooms.New = func() any { return new(bytes.Buffer) }
	return l
}

// read takes in what r has, at most one byte more than anything may have.
func (in *intake) read(r io.Reader, large *largeBuffers) error {
	most := int64(large.most) + 1
	in.limited = io.LimitedReader{R: r, N: min(most, firstBytes)}
	_, err := in.first.ReadFrom(&in.limited)
	if in.first.Len() == firstBytes && err == nil {
		in.whole = large.rooms.Get().(*bytes.Buffer)
		in.whole.Grow(large.most + bytes.MinRead + 1) // once for each room
		in.whole.Write(in.first.Bytes())
		in.limited.N = most - firstBytes
		_, err = in.whole.ReadFrom(&in.limited)
	}
	in.limited.R = nil
	return err
}

// bytes are what was read. They are good until reset.
func (in *intake) bytes() []byte {
	if in.whole != nil {
		return in.whole.Bytes()
	}
	return in.first.Bytes()
}

// reset forgets what was read, and keeps the room.
func (in *intake) reset(large *largeBuffers) {
	in.first.Reset()
	if in.whole != nil {
		in.whole.Reset()
		large.rooms.Put(in.whole)
		in.whole = nil
	}
}
