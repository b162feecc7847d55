package edge

import (
	"errors"
	"io"
	"math/bits"
	"sync"

	"carrel/budget"
)

// keptBytes is the largest buffer that an intake keeps for the next body or message. Few are
// longer.
const keptBytes = 16 << 10

// errNoRoom is the error of a body or message for which no memory is free.
var errNoRoom = errors.New("no memory is free for the body")

// bodies is the memory of bodies and messages that are read, and of what operations keep of them.
type bodies struct {
	*budget.Budget
	limit int // bytes of the largest body allowed
	// larger are buffers that are longer than keptBytes, *[]byte, by the bits of their length.
	larger [bits.UintSize + 1]sync.Pool
}

func newBodies(l *Limits) *bodies {
	// The largest body, and what decoding it takes.
	return &bodies{Budget: budget.New(l.BodyMemory, 2*l.BodyBytes), limit: l.BodyBytes}
}

// buffer returns an empty buffer of a size.
func (b *bodies) buffer(size int) []byte {
	if used, ok := b.larger[bits.Len(uint(size-1))].Get().(*[]byte); ok && cap(*used) == size {
		return (*used)[:0]
	}
	return make([]byte, 0, size)
}

// reuse keeps a buffer that is longer than keptBytes for others.
func (b *bodies) reuse(buf []byte) {
	if cap(buf) > keptBytes {
		b.larger[bits.Len(uint(cap(buf)-1))].Put(&buf)
	}
}

// intake is a reusable buffer into which one body or message is read. It grows with what has
// arrived, so that a client that announces a megabyte and sends nothing ties up no memory.
type intake struct {
	buf     []byte
	bodies  *bodies
	account account
	held    int // bytes of memory: the capacity of buf
}

// read reads all of r, or one byte more than the largest body allowed. The account holds the memory
// for it until reset, and then pays for the bytes.
func (in *intake) read(r io.Reader, b *bodies, a account) error {
	in.bodies, in.account = b, a
	if !in.hold(cap(in.buf)) {
		return errNoRoom
	}
	limit := b.limit
	for len(in.buf) <= limit {
		if len(in.buf) == cap(in.buf) {
			size := min(max(1<<10, 2*cap(in.buf)), limit+1)
			if !in.hold(size - cap(in.buf)) {
				return errNoRoom
			}
			longer := append(b.buffer(size), in.buf...)
			b.reuse(in.buf)
			in.buf = longer
		}
		n, err := r.Read(in.buf[len(in.buf):min(cap(in.buf), limit+1)])
		in.buf = in.buf[:len(in.buf)+n]
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

func (in *intake) hold(n int) bool {
	if !in.bodies.Hold(in.account.holder(), n) {
		return false
	}
	in.held += n
	return true
}

// bytes returns what was read. It is valid until reset.
func (in *intake) bytes() []byte { return in.buf }

// reset charges for the content and clears it, frees its memory, and keeps a short buffer.
func (in *intake) reset() {
	if in.bodies == nil { // nothing was read
		return
	}
	in.account.bill(priceOf(len(in.buf)))
	in.bodies.Free(in.account.holder(), in.held)
	if cap(in.buf) > keptBytes {
		in.bodies.reuse(in.buf)
		in.buf = nil
	}
	*in = intake{buf: in.buf[:0]}
}
