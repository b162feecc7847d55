package timeline

import (
	"context"
	"errors"
	"testing"
)

// ending is a context that ends when Err is called for the second time.
type ending struct {
	context.Context
	calls int
}

func (e *ending) Err() error {
	if e.calls++; e.calls > 1 {
		return context.Canceled
	}
	return nil
}

// TestWalk_EndsWithItsContext: a walk that skips entries without reading more passes only a few after the end of its
// context.
func TestWalk_EndsWithItsContext(t *testing.T) {
	s := &source{pending: make([]Entry, maxSlice), ended: true}
	for i := range s.pending {
		s.pending[i].Until = 1
	}
	w := &walk{t: &Timelines{gaps: gapCache{feeds: map[Feed]*knownGaps{}}}, open: []*source{s}, asOf: 2, budget: maxExpired}
	if _, err := w.take(&ending{Context: t.Context()}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("the walk ends with %v", err)
	}
	if w.passed != checkedAtOnce {
		t.Errorf("%d entries were passed", w.passed)
	}
}
