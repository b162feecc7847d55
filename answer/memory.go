// Package answer holds the data of GraphQL answers while they are built and
// until they are sent, and bounds them: each answer by a number of bytes, and
// all answers of the process together by an amount of memory
// (docs/adr/0028-a-byte-budget-for-answers.md).
//
// It must not know what is in an answer, or who gets it.
package answer

import (
	"sync"
	"sync/atomic"
)

// step is how much memory an answer reserves at a time, and the size of the
// buffers that long answers are written into. Most answers need one step.
const step = 64 << 10

// Memory bounds what all answers in progress hold together. It is safe for
// concurrent use.
type Memory struct {
	max  int64
	used atomic.Int64
	// buffers are those of answers that are finished, *[]byte.
	buffers sync.Pool
}

// NewMemory returns a Memory of max bytes.
func NewMemory(max int) *Memory { return &Memory{max: int64(max)} }

// buffer returns a buffer of an answer that is finished, or a new one.
func (m *Memory) buffer() *[]byte {
	if b, ok := m.buffers.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

// Used returns how many bytes are reserved.
func (m *Memory) Used() int64 { return m.used.Load() }

// Reserve reserves n bytes, or nothing if fewer are free.
func (m *Memory) Reserve(n int64) bool {
	if m.used.Add(n) <= m.max {
		return true
	}
	m.used.Add(-n)
	return false
}

// Free gives n bytes back that were reserved.
func (m *Memory) Free(n int64) { m.used.Add(-n) }
