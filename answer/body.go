package answer

import (
	"errors"
	"sync"
	"sync/atomic"
)

// The errors of an answer.
var (
	// ErrTooLarge is the error of an answer with more bytes than allowed.
	ErrTooLarge = errors.New("the answer is too large")
	// ErrNoMemory is the error of an answer for which no memory is free.
	ErrNoMemory = errors.New("no memory is free for the answer")
	// ErrEnded is the error of an answer whose operation has ended before it was complete.
	ErrEnded = errors.New("the operation has ended before its answer was complete")
)

// Body is the data of one answer. It is built in two phases. While fields are being resolved, many
// goroutines write Parts, and call Hold for what they keep. Then one goroutine writes the result. The
// answer fails as soon as more is written than it may have.
type Body struct {
	limit   int64
	memory  *Memory
	account string // for whom memory is reserved
	stopped func() // called once, when the answer fails; may be nil

	failed   atomic.Pointer[error]
	size     atomic.Int64 // bytes written, to it and to its Parts
	held     atomic.Int64 // bytes of memory in use
	reserved atomic.Int64 // bytes of memory reserved, a multiple of step until Finish

	mu       sync.Mutex // held to change reserved
	released bool

	// Only the goroutine that writes uses the fields below.
	chunks [][]byte
	last   []byte  // the chunk that is being filled
	kept   int64   // the capacity of the chunks, in bytes
	buffer *[]byte // of the first part; nil if none
}

// New returns an empty Body of at most limit bytes, for which memory is reserved for an account. If
// the answer fails, stopped is called once, unless it is nil; it should end the work for the answer.
func New(limit int, memory *Memory, account string, stopped func()) *Body {
	return &Body{limit: int64(limit), memory: memory, account: account, stopped: stopped}
}

// Err returns the error with which the answer has failed, or nil.
func (b *Body) Err() error {
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (b *Body) fail(err error) {
	if b.failed.CompareAndSwap(nil, &err) && b.stopped != nil {
		b.stopped()
	}
}

// End fails the answer because its operation has run out of time, or its client has left.
func (b *Body) End() { b.fail(ErrEnded) }

// count adds n bytes to those that were written, and reports whether the answer may have them.
func (b *Body) count(n int) bool {
	if b.Err() != nil {
		return false
	}
	if b.size.Add(int64(n)) > b.limit {
		b.fail(ErrTooLarge)
		return false
	}
	return true
}

// Size returns the bytes that were written; of an answer that has failed, until then.
func (b *Body) Size() int { return int(b.size.Load()) }

// Hold reserves memory for n more bytes. The answer fails if they are not free.
func (b *Body) Hold(n int) {
	if b.held.Add(int64(n)) > b.reserved.Load() {
		b.Reserve(0)
	}
}

// Reserve reserves memory for the held bytes, and for the first n of them before they are held. The
// answer fails if it is not free.
func (b *Body) Reserve(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	missing := roundUp(max(int64(n), b.held.Load())) - b.reserved.Load()
	if b.released || missing <= 0 {
		return
	}
	if !b.memory.Hold(b.account, int(missing)) {
		b.fail(ErrNoMemory)
		return
	}
	b.reserved.Add(missing)
}

func roundUp(n int64) int64 { return (n + step - 1) / step * step }

// Release frees the memory. It may be called repeatedly. Nothing is reserved
// afterwards.
func (b *Body) Release() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.released = true
	b.chunks, b.last = nil, nil
	b.memory.Free(b.account, int(b.reserved.Swap(0)))
	if b.buffer != nil {
		b.memory.buffers.Put(b.buffer)
		b.buffer = nil
	}
}

// freeResolved frees the memory that was reserved beyond that of the chunks: resolved values are
// garbage once the answer is finished.
func (b *Body) freeResolved() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held.Store(b.kept)
	if spare := b.reserved.Load() - b.kept; spare > 0 {
		b.reserved.Add(-spare)
		b.memory.Free(b.account, int(spare))
	}
}
