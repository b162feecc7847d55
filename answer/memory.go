// Package answer holds the data of GraphQL answers while they are built and
// until they are sent, and limits them: the size of each answer in bytes, and
// the memory of all answers of the process together
// (docs/adr/0028-a-byte-budget-for-answers.md).
//
// It must not know what an answer contains, or who gets it.
package answer

import (
	"sync"
	"sync/atomic"
)

// step is how much memory an answer reserves at a time, and the size of the
// buffers that long answers are written into. Most answers need one step.
const step = 64 << 10

// Memory limits the memory of all answers in progress together. It is safe for
// concurrent use.
type Memory struct {
	max  int64
	used atomic.Int64
	// buffers are the buffers of finished answers, *[]byte.
	buffers sync.Pool
}

// NewMemory returns a Memory of max bytes.
func NewMemory(max int) *Memory { return &Memory{max: int64(max)} }

// buffer returns a buffer of a finished answer, or a new one.
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

// Free frees n reserved bytes.
func (m *Memory) Free(n int64) { m.used.Add(-n) }
