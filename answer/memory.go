// Package answer holds the data of GraphQL answers while they are built and
// until they are sent, and limits them: the size of each answer in bytes, and
// the memory of all answers of the process together
// (docs/adr/0028-a-byte-budget-for-answers.md).
//
// It must not know what an answer contains, or who gets it.
package answer

import (
	"sync"

	"carrel/budget"
)

// step is how much memory an answer reserves at a time, and the size of the
// buffers that long answers are written into. Most answers need one step.
const step = 64 << 10

// Memory limits the memory of all answers in progress together, and of those of
// each account. It is safe for concurrent use.
type Memory struct {
	*budget.Budget
	// buffers are the buffers of finished answers, *[]byte.
	buffers sync.Pool
}

// NewMemory returns a Memory of max bytes. An account has a quarter of them, but
// enough for one answer of largest bytes.
func NewMemory(max, largest int) *Memory { return &Memory{Budget: budget.New(max, largest)} }

// buffer returns a buffer of a finished answer, or a new one.
func (m *Memory) buffer() *[]byte {
	if b, ok := m.buffers.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}
