package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of hedging.
const (
	// defaultHedgeAfter is about how long an idempotent statement waits for its node before it is
	// sent to a second node too: a timer that statements share may fire after half of it. It is
	// above silentAfter, so that a node that hangs is known to be silent by then.
	defaultHedgeAfter = 500 * time.Millisecond
	// hedgeShare is the part of the gate's limit (1/8) that second attempts may use:
	// a cluster that is slow as a whole must not get twice the work.
	hedgeShare = 8
)

// hedges configures when a statement is sent to a second node too.
type hedges struct {
	after   time.Duration
	another func(id string) bool // reports whether a node other than id answers
	slots   chan struct{}
}

func (h *hedges) enter() bool {
	select {
	case h.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (h *hedges) leave() { <-h.slots }

// hedged is hedgedAll for one call.
func hedged[T any](ctx context.Context, h *hedges, try func(*attempt) (T, error)) (value T, err error) {
	err = hedgedAll(ctx, h, 1, 1, func(t *attempt, _ int) (T, error) { return try(t) }, func(_ int, v T) { value = v })
	return value, err
}

// hedgedAll calls try for 0 to n-1, at most width at a time, and take with each result. If a call
// takes long, hedgedAll makes a second attempt in parallel, with a context that prefers another
// node, and uses the first result. If an attempt meets too many tombstones before the other one
// succeeds, hedgedAll fails at once with that error. Otherwise, if both attempts fail, it fails with
// the first error. The context of all attempts ends with hedgedAll.
//
// All calls share one timer and one context. A page has up to forty statements, and a timer for
// each would cost CPU although nodes rarely hang.
func hedgedAll[T any](ctx context.Context, h *hedges, n, width int, try func(t *attempt, i int) (T, error), take func(i int, v T)) error {
	if n == 0 {
		return nil
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	g := &group[T]{h: h, ctx: ctx, try: try, take: take, calls: make([]hedgedCall, n), pending: n, finished: make(chan struct{})}
	for range min(n, width) {
		go g.work()
	}
	g.mu.Lock()
	g.timer = time.AfterFunc(h.after, g.hedge)
	g.mu.Unlock()
	<-g.finished
	g.timer.Stop()
	return g.err
}

// group is the state of one hedgedAll.
type group[T any] struct {
	h    *hedges
	ctx  context.Context
	try  func(t *attempt, i int) (T, error)
	take func(i int, v T)
	next atomic.Int64

	mu         sync.Mutex
	timer      *time.Timer
	calls      []hedgedCall
	pending    int           // calls that have not succeeded
	finished   chan struct{} // closed when all have succeeded, or one has failed
	isFinished bool          // finished is closed
	err        error
}

// hedgedCall is the state of one of its calls.
type hedgedCall struct {
	first    *attempt // nil before the call is started
	started  time.Time
	hedged   bool // it has a second attempt
	inFlight int  // attempts in flight
	done     bool
	err      error // of the attempt that failed first, or has met too many tombstones
}

// work makes first attempts, one after the other.
func (g *group[T]) work() {
	for i := int(g.next.Add(1) - 1); i < len(g.calls); i = int(g.next.Add(1) - 1) {
		t := &attempt{Context: g.ctx}
		g.mu.Lock()
		if g.isFinished {
			g.mu.Unlock()
			return
		}
		c := &g.calls[i]
		c.first, c.started, c.inFlight = t, time.Now(), 1
		g.mu.Unlock()
		g.run(t, i)
	}
}

// run makes an attempt and records its result.
func (g *group[T]) run(t *attempt, i int) {
	v, err := recoverPanic(func() (T, error) { return g.try(t, i) })
	err = wrapPanic(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &g.calls[i]
	c.inFlight--
	if g.isFinished || c.done {
		return
	}
	if err != nil {
		// With too many tombstones, the other attempt would most likely fail, too.
		final := TooManyTombstones(err)
		if c.err == nil || final {
			c.err = err
		}
		if c.inFlight == 0 || final {
			g.end(c.err)
		}
		return
	}
	c.done = true
	g.take(i, v)
	if g.pending--; g.pending == 0 {
		g.end(nil)
		return
	}
	if t.hedged && c.inFlight > 0 {
		// The worker of the first attempt is blocked: another one takes its place.
		go g.work()
	}
}

// end finishes the group, which must be locked.
func (g *group[T]) end(err error) {
	g.isFinished, g.err = true, err
	close(g.finished)
}

// hedge makes second attempts of calls that have been in flight for long.
func (g *group[T]) hedge() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isFinished {
		return
	}
	now := time.Now()
	for i := range g.calls {
		c := &g.calls[i]
		// The timer is that of the first call, and later calls may have waited for less. Those
		// that have waited for less than half of the time are left to the next timer.
		if c.first == nil || c.done || c.hedged || now.Sub(c.started) < g.h.after/2 {
			continue
		}
		if c.first.queued.Load() {
			// A second attempt would wait at the same gate. The time of the node starts when the
			// first attempt is sent.
			c.started = now
			continue
		}
		avoid := ""
		if asked := c.first.lastNode.Load(); asked != nil {
			avoid = *asked
		}
		if !g.h.another(avoid) || !g.h.enter() {
			break
		}
		c.hedged = true
		c.inFlight++
		go func() {
			defer g.h.leave()
			g.run(&attempt{Context: g.ctx, hedged: true, avoid: avoid}, i)
		}()
	}
	g.timer.Reset(g.h.after / 2)
}
