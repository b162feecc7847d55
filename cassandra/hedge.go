package cassandra

import (
	"context"
	"sync"
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

func (h *hedges) enter() bool {
	select {
	case h.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (h *hedges) leave() { <-h.places }

// hedged is hedgedAll for one.
func hedged[T any](ctx context.Context, h *hedges, once func(*try) (T, error)) (value T, err error) {
	err = hedgedAll(ctx, h, 1, 1, func(t *try, _ int) (T, error) { return once(t) }, func(_ int, v T) { value = v })
	return value, err
}

// hedgedAll calls once for 0 to n-1, at most width at a time, and has what they
// bring taken. Where one takes long it is called once again beside the first
// call, with a context that has another node asked. What succeeds first counts;
// the context of all ends with hedgedAll. Where both calls fail, it fails with
// the error that came first.
//
// All of them have one timer and one context between them, so that a page does
// not pay for its forty statements what only a node that hangs makes needful.
func hedgedAll[T any](ctx context.Context, h *hedges, n, width int, once func(t *try, i int) (T, error), take func(i int, v T)) error {
	if n == 0 {
		return nil
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	g := &group[T]{h: h, ctx: ctx, once: once, take: take, calls: make([]hedgedCall, n), left: n, over: make(chan struct{})}
	for range min(n, width) {
		go g.work()
	}
	g.mu.Lock()
	g.timer = time.AfterFunc(h.after, g.hedge)
	g.mu.Unlock()
	<-g.over
	g.timer.Stop()
	return g.err
}

// group are calls that are hedged together.
type group[T any] struct {
	h    *hedges
	ctx  context.Context
	once func(t *try, i int) (T, error)
	take func(i int, v T)
	next atomic.Int64

	mu    sync.Mutex
	timer *time.Timer
	calls []hedgedCall
	left  int           // calls that have not succeeded
	over  chan struct{} // closed when all have, or one has failed
	ended bool          // over is closed
	err   error
}

// hedgedCall is one of them.
type hedgedCall struct {
	first *try // nil before it is begun
	begun time.Time
	again bool // a second try was made
	under int  // tries under way
	done  bool
	err   error // of the try that failed first
}

// work makes the first tries, one after the other.
func (g *group[T]) work() {
	growStack()
	for i := int(g.next.Add(1) - 1); i < len(g.calls); i = int(g.next.Add(1) - 1) {
		t := &try{Context: g.ctx}
		g.mu.Lock()
		if g.ended {
			g.mu.Unlock()
			return
		}
		c := &g.calls[i]
		c.first, c.begun, c.under = t, time.Now(), 1
		g.mu.Unlock()
		g.run(t, i)
	}
}

// run makes a try and settles what it means.
func (g *group[T]) run(t *try, i int) {
	v, err := guarded(func() (T, error) { return g.once(t, i) })
	err = panicFault(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &g.calls[i]
	c.under--
	if g.ended || c.done {
		return
	}
	if err != nil {
		if c.err == nil {
			c.err = err
		}
		if c.under == 0 {
			g.end(c.err)
		}
		return
	}
	c.done = true
	g.take(i, v)
	if g.left--; g.left == 0 {
		g.end(nil)
		return
	}
	if t.again && c.under > 0 {
		// Whoever makes the first try is held up until all is over.
		go g.work()
	}
}

// end is called with the group locked.
func (g *group[T]) end(err error) {
	g.ended, g.err = true, err
	close(g.over)
}

// hedge makes second tries of what has been under way for long.
func (g *group[T]) hedge() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return
	}
	now := time.Now()
	for i := range g.calls {
		c := &g.calls[i]
		// What was begun with the timer may be begun a little after it.
		if c.first == nil || c.done || c.again || now.Sub(c.begun) < g.h.after/2 {
			continue
		}
		if c.first.waits.Load() {
			// A second try would stand in the same line. The time that the node has
			// begins when the first one is sent.
			c.begun = now
			continue
		}
		avoid := ""
		if asked := c.first.asked.Load(); asked != nil {
			avoid = *asked
		}
		if !g.h.another(avoid) || !g.h.enter() {
			break
		}
		c.again = true
		c.under++
		go func() {
			defer g.h.leave()
			g.run(&try{Context: g.ctx, again: true, avoid: avoid}, i)
		}()
	}
	g.timer.Reset(g.h.after / 2)
}
