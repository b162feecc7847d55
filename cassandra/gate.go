package cassandra

import (
	"context"
	"slices"
	"sync"
	"time"

	"carrel/core/fault"
)

// A statement without a deadline is of work in the background. It waits as if
// it belonged to an operation that begins now: 15 s is the longest one.
const backgroundDeadline = 15 * time.Second

// gate bounds what the cluster is asked at once, and what waits to be asked: a
// slow cluster gets no more work than it had, and whoever comes too late is
// told so at once instead of piling up.
//
// A page makes some twenty statements in three rounds. Were they let in as they
// come, a busy cluster would answer parts of many pages and hardly a whole one.
// So the statement goes first whose operation ends first, which is the one that
// has begun first; where too many wait, the one whose operation has begun last
// is turned away, which has had the least done for it.
type gate struct {
	places   int           // statements that may be under way
	most     int           // statements that may wait
	patience time.Duration // that they wait at most

	mu      sync.Mutex
	free    int
	waiting []*waiter // the next one first
	entered uint64    // waiters so far
}

// waiter is a statement that is not let in yet.
type waiter struct {
	until  time.Time // when its operation must end
	number uint64    // between operations that end at the same time
	turn   chan error
}

func newGate(places, most int, patience time.Duration) *gate {
	return &gate{places: places, most: most, patience: patience, free: places}
}

// enter takes a place, which leave gives back. Its errors say that nothing was
// sent.
func (g *gate) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return notBegun(err)
	}
	w := g.queue(ctx)
	if w == nil {
		return nil
	}
	patience := time.NewTimer(g.patience)
	defer patience.Stop()
	var err error
	select {
	case err := <-w.turn:
		return err
	case <-ctx.Done():
		err = notBegun(ctx.Err())
	case <-patience.C:
		err = busy()
	}
	if g.abandon(w) {
		return err
	}
	// Its turn had come at that very moment.
	if turn := <-w.turn; turn != nil {
		return turn
	}
	g.leave()
	return err
}

// queue takes a free place, and gives nil, or gets in line.
func (g *gate) queue(ctx context.Context) *waiter {
	until, bounded := ctx.Deadline()
	if !bounded {
		until = time.Now().Add(backgroundDeadline)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.free > 0 {
		g.free--
		return nil
	}
	w := &waiter{until: until, number: g.entered, turn: make(chan error, 1)}
	g.entered++
	at, _ := slices.BinarySearchFunc(g.waiting, w, (*waiter).compare)
	g.waiting = slices.Insert(g.waiting, at, w)
	if last := len(g.waiting) - 1; last >= g.most {
		g.waiting[last].turn <- busy()
		g.waiting[last] = nil
		g.waiting = g.waiting[:last]
	}
	return w
}

// compare tells whose turn is earlier.
func (w *waiter) compare(v *waiter) int {
	if c := w.until.Compare(v.until); c != 0 {
		return c
	}
	if w.number < v.number {
		return -1
	}
	if w.number > v.number {
		return 1
	}
	return 0
}

// abandon gets out of the line; false where the turn has come or was refused.
func (g *gate) abandon(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, stands := slices.BinarySearchFunc(g.waiting, w, (*waiter).compare)
	if stands {
		g.waiting = slices.Delete(g.waiting, at, at+1)
	}
	return stands
}

// leave gives the place to whose turn it is.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.free++
		return
	}
	g.waiting[0].turn <- nil
	g.waiting[0] = nil
	g.waiting = g.waiting[1:]
}

// load is how many statements are under way, and how many wait.
func (g *gate) load() (under, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.places - g.free, len(g.waiting)
}

// busy is what a statement is told that was not let in.
func busy() error {
	return &fault.Error{Code: fault.Unavailable, RetryAfter: 1, Msg: "the cluster is busy: too much waits for it; try again in a moment"}
}
