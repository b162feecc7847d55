package session

import (
	"context"
	"slices"
	"sync"
	"time"

	"carrel/core/fault"
)

// backgroundDeadline is the deadline that the gate assumes for a statement without one, which
// belongs to background work. It is that of the longest operation, if it started now.
const backgroundDeadline = 15 * time.Second

// gate limits the statements in flight and those that wait to be sent. So a slow cluster gets no
// more work than it can do, and a statement that would wait too long fails at once.
//
// A page with creators makes some forty statements in three rounds. If they were sent in the order
// of arrival, a busy cluster would answer parts of many pages, and hardly a whole one. So the gate
// first sends the statement whose operation has the earliest deadline, and therefore started first.
// If too many wait, it rejects the statement with the latest deadline, whose operation has made the
// least progress.
type gate struct {
	limit      int           // statements that may be in flight
	maxWaiting int           // statements that may wait
	maxWait    time.Duration // how long each may wait

	mu      sync.Mutex
	free    int
	waiting []*waiter // in the order in which they will be sent
	nextSeq uint64    // the seq of the next waiter
}

// waiter is a statement that waits to be sent.
type waiter struct {
	deadline time.Time  // when its operation must end
	seq      uint64     // orders waiters with the same deadline
	turn     chan error // nil: it may be sent; otherwise why it may not
}

func newGate(limit, maxWaiting int, maxWait time.Duration) *gate {
	return &gate{limit: limit, maxWaiting: maxWaiting, maxWait: maxWait, free: limit}
}

// enter waits until the caller may send a statement. After a nil error the caller
// must call leave. An error says that nothing was sent.
func (g *gate) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return NotSent(err)
	}
	w := g.queue(ctx)
	if w == nil {
		return nil
	}
	timeout := time.NewTimer(g.maxWait)
	defer timeout.Stop()
	var err error
	select {
	case err := <-w.turn:
		return err
	case <-ctx.Done():
		err = NotSent(ctx.Err())
	case <-timeout.C:
		err = busy()
	}
	if g.abandon(w) {
		return err
	}
	// Its turn came at the same moment.
	if turn := <-w.turn; turn != nil {
		return turn
	}
	g.leave()
	return err
}

// queue returns nil if a statement may be sent now; otherwise it adds a waiter.
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
	w := &waiter{deadline: until, seq: g.nextSeq, turn: make(chan error, 1)}
	g.nextSeq++
	at, _ := slices.BinarySearchFunc(g.waiting, w, (*waiter).compare)
	g.waiting = slices.Insert(g.waiting, at, w)
	if last := len(g.waiting) - 1; last >= g.maxWaiting {
		g.waiting[last].turn <- busy()
		g.waiting[last] = nil
		g.waiting = g.waiting[:last]
	}
	return w
}

// compare orders waiters by their turns.
func (w *waiter) compare(v *waiter) int {
	if c := w.deadline.Compare(v.deadline); c != 0 {
		return c
	}
	if w.seq < v.seq {
		return -1
	}
	if w.seq > v.seq {
		return 1
	}
	return 0
}

// abandon removes a waiter. It returns false if the waiter is not in the queue, because its turn
// has come.
func (g *gate) abandon(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, found := slices.BinarySearchFunc(g.waiting, w, (*waiter).compare)
	if found {
		g.waiting = slices.Delete(g.waiting, at, at+1)
	}
	return found
}

// leave is called when a statement has ended. It sends the next one.
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

// load returns how many statements are in flight, and how many wait.
func (g *gate) load() (inFlight, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limit - g.free, len(g.waiting)
}

// busy is the error of a statement that was rejected.
func busy() error {
	return &fault.Error{Code: fault.Unavailable, RetryAfter: 1,
		Msg: "the cluster is busy: too many statements wait for it; try again in a moment"}
}
