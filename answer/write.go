package answer

import "io"

// firstChunk is the size of the first buffer of an answer.
const firstChunk = 512

// adoptFrom is the size from which a Body uses a chunk of a Part without copying it. It copies
// shorter ones, so that an answer has few chunks.
const adoptFrom = 4 << 10

var (
	_ io.Writer       = (*Body)(nil)
	_ io.StringWriter = (*Body)(nil)
)

// Write adds p to the answer. It never returns an error: an answer that has failed discards p.
func (b *Body) Write(p []byte) (int, error) {
	if b.count(len(p)) && b.take(len(p)) {
		b.last = append(b.last, p...)
	}
	return len(p), nil
}

// WriteString is Write for a string.
func (b *Body) WriteString(s string) (int, error) {
	if b.count(len(s)) && b.take(len(s)) {
		b.last = append(b.last, s...)
	}
	return len(s), nil
}

// take ensures that the last chunk has capacity for n more bytes. It reports whether they may
// be written.
func (b *Body) take(n int) bool {
	if n <= cap(b.last)-len(b.last) {
		return true
	}
	size := max(n, firstChunk, min(step, 2*cap(b.last)))
	if b.Hold(size); b.Err() != nil {
		return false
	}
	b.kept += int64(size)
	if len(b.last)+n > size { // a full chunk is not copied
		b.push()
		b.last = make([]byte, 0, size)
		return true
	}
	b.kept -= int64(cap(b.last))
	b.last = append(make([]byte, 0, size), b.last...)
	return true
}

// AvailableBuffer returns an empty buffer in which a value can be formatted
// before it is written.
func (b *Body) AvailableBuffer() []byte { return b.last[len(b.last):] }

// push moves the last chunk to the chunks, and begins a new one.
func (b *Body) push() {
	if len(b.last) > 0 {
		b.chunks = append(b.chunks, b.last)
	}
	b.last = nil
}

// Finish ends writing. The memory for the chunks is reserved until Release.
func (b *Body) Finish() {
	b.push()
	if b.Err() != nil {
		b.chunks, b.kept = nil, 0
	}
	b.freeResolved()
}

// Chunks returns the written chunks in order. They are valid until Release.
func (b *Body) Chunks() [][]byte { return b.chunks }

// Buffer returns an empty buffer for about n bytes, for building the first Part. Release
// returns it for use by other answers.
func (b *Body) Buffer(n int) []byte {
	if b.buffer == nil {
		b.buffer = b.memory.buffer()
	}
	if cap(*b.buffer) < n {
		*b.buffer = make([]byte, 0, n)
	}
	return (*b.buffer)[:0]
}

// Part is a piece of an answer that is written while fields are resolved.
type Part struct {
	Body   *Body
	chunks [][]byte
}

// Cut adds b to the part if it is long, and returns the buffer to append to next. A long part is
// thus not copied whenever its buffer grows.
func (p *Part) Cut(b []byte) []byte {
	if len(b) < step {
		return b
	}
	p.End(b)
	return make([]byte, 0, step)
}

// End adds the last buffer.
func (p *Part) End(b []byte) {
	p.Body.count(len(b))
	p.Body.Hold(cap(b))
	p.chunks = append(p.chunks, b)
}

// Join adds the part to its Body, at the place that is written next. Long chunks are used without
// copying, because memory is already reserved for them.
func (p *Part) Join() {
	b := p.Body
	for _, chunk := range p.chunks {
		if len(chunk) >= adoptFrom {
			b.push()
			b.chunks = append(b.chunks, chunk)
			b.kept += int64(cap(chunk))
		} else if b.Err() == nil && b.take(len(chunk)) {
			b.last = append(b.last, chunk...)
		}
	}
}
