package cassandra

import (
	"context"
	"sync/atomic"
	"time"
)

// Bounds of second tries.
const (
	// defaultHedgeAfter is how long a statement that may be repeated waits for
	// its node until a second one is asked beside it. It is above silence, so
	// that a node that hangs is known for it by then.
	defaultHedgeAfter = 500 * time.Millisecond
	// hedgeShare is the part of all places that second tries may have: a cluster
	// that is slow as a whole must not get twice the work.
	hedgeShare = 8
)

// hedges asks a second node where the first one does not answer in time.
type hedges struct {
	after   time.Duration
	another func(id string) bool // tells whether a node other than id answers
	places  chan struct{}
}

// outcomeOfTry is what a second try brought.
type outcomeOfTry[T any] struct {
	value T
	err   error
}

// hedged calls once, and where that takes long a second time beside the first,
// with a context that has another node asked. What succeeds first counts, and
// the context of both ends; where neither does, the error of the first counts.
// again tells whether there was a second one.
func hedged[T any](ctx context.Context, h *hedges, once func(context.Context) (T, error)) (value T, again bool, err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var (
		first  = &try{Context: ctx}
		made   atomic.Bool
		won    atomic.Bool
		second = make(chan outcomeOfTry[T], 1)
	)
	timer := time.AfterFunc(h.after, func() {
		defer close(second)
		asked := first.asked.Load()
		if asked == nil || !h.another(*asked) || !h.enter() {
			return
		}
		defer h.leave()
		made.Store(true)
		value, err := once(&try{Context: ctx, avoid: *asked})
		second <- outcomeOfTry[T]{value, err}
		if err == nil && won.CompareAndSwap(false, true) {
			end()
		}
	})
	value, err = once(first)
	switch {
	case timer.Stop():
		return value, false, err
	case err == nil && won.CompareAndSwap(false, true):
		return value, made.Load(), nil
	}
	// The second one has won, or decides now.
	if o, ok := <-second; ok && o.err == nil {
		return o.value, true, nil
	}
	return value, made.Load(), err
}

func (h *hedges) enter() bool {
	select {
	case h.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (h *hedges) leave() { <-h.places }
