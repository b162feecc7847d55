package simulator

import (
	"context"
	"time"

	"carrel/core/sched"
)

// Actor is a simulated gateway process: the Runtime of one Service and its
// journal, with its own clock. It can die at any step.
type Actor struct {
	s    *Scheduler
	name string
	dead bool
	// skew is how far the actor's clock is off; jitter is the chance, in 1024,
	// that it jumps a little before it is read, backwards too.
	skew   time.Duration
	jitter uint64
	// slowest and fastest are the least and the most that skew has been.
	slowest, fastest time.Duration
	// deadlines: the product's time limits apply.
	deadlines bool
	// suspensions counts the tasks that have stopped the monotonic clock, since suspendedAt.
	// suspendedFor is how long it was stopped before.
	suspensions               int
	suspendedAt, suspendedFor time.Duration
	wasSuspended              bool
	// setBack is how often the wall clock was set back.
	setBack int
	locks   map[string]*lock
	store   *Client
}

// lock is a mutex with a queue of the tasks that wait for it.
type lock struct {
	held  bool
	queue []*task
}

// latch implements sched.Latch.
type latch struct {
	a       *Actor
	open    bool
	waiters []*task
}

// NewActor returns a new process of the run.
func (s *Scheduler) NewActor(name string, skew time.Duration, jitter uint64) *Actor {
	return &Actor{s: s, name: name, skew: skew, jitter: jitter, slowest: skew, fastest: skew}
}

// Spawn starts a task of the actor for an operation.
func (a *Actor) Spawn(op *Operation, body func()) { a.s.spawn(a, op, body) }

// Crash ends the process: none of its tasks makes another step. Requests that it has sent may
// still arrive. If the running task is of this actor, Crash ends it by a panic.
func (a *Actor) Crash() {
	if a.dead {
		return
	}
	a.dead = true
	a.s.note(0xdead)
	running := a.s.current
	a.s.endAll(func(t *task) bool { return t.actor == a && t != running })
	if running != nil && running.actor == a {
		panic(endOfTask{})
	}
}

// check ends a task of a process that has died, by a panic. Deferred calls
// may still run.
func (a *Actor) check() {
	if a.dead {
		panic(endOfTask{})
	}
}

// Now returns the time of the actor's wall clock.
func (a *Actor) Now() time.Time {
	if a.s.chance(a.jitter) {
		a.skew += time.Duration(a.s.pick(4000)-2500) * time.Microsecond
		a.slowest, a.fastest = min(a.slowest, a.skew), max(a.fastest, a.skew)
	}
	return epoch.Add(a.s.now + a.skew)
}

// clock returns the actor's wall clock without the side effect of Now, which may set it back a
// little.
func (a *Actor) clock() time.Time { return epoch.Add(a.s.now + a.skew) }

// Elapsed returns the time of the actor's monotonic clock.
func (a *Actor) Elapsed() time.Duration {
	if a.suspensions > 0 {
		return a.suspendedAt - a.suspendedFor
	}
	return a.s.now - a.suspendedFor
}

// suspend blocks for d, and stops the monotonic clock meanwhile, as the suspension of a machine
// does. Unlike on a suspended machine, other tasks go on.
func (a *Actor) suspend(ctx context.Context, d time.Duration) {
	a.wasSuspended = true
	if a.suspensions == 0 {
		a.suspendedAt = a.s.now
	}
	a.suspensions++
	_ = a.After(ctx, d)
	if a.suspensions--; a.suspensions == 0 {
		a.suspendedFor += a.s.now - a.suspendedAt
	}
}

// setBackBy sets the wall clock back.
func (a *Actor) setBackBy(d time.Duration) {
	a.skew -= d
	a.slowest = min(a.slowest, a.skew)
	a.setBack++
}

// Go starts a task for the same operation as the running one.
func (a *Actor) Go(body func()) {
	a.check()
	var op *Operation
	if a.s.current != nil {
		op = a.s.current.op
	}
	a.s.spawn(a, op, body)
}

// Latch returns a new latch that is not open.
func (a *Actor) Latch() sched.Latch { return &latch{a: a} }

// Open opens the latch and wakes those who wait.
func (l *latch) Open() {
	if l.open || l.a.dead {
		return
	}
	l.open = true
	for _, t := range l.waiters {
		l.a.s.wake(t)
	}
	l.waiters = nil
}

// IsOpen reports whether it is open.
func (l *latch) IsOpen() bool { return l.open }

// Wait blocks until the latch opens, d has passed or ctx has ended.
func (a *Actor) Wait(ctx context.Context, l sched.Latch, d time.Duration) (bool, error) {
	a.check()
	lt := l.(*latch)
	if lt.open {
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	t := a.s.current
	lt.waiters = append(lt.waiters, t)
	a.block(ctx, d)
	if d > 0 {
		// A follower waits for changes for a limited time; without a limit it waits for its own
		// reads, which are part of what it shows.
		t.waited = a.s.steps
	}
	if lt.open {
		// If the context has ended too, either may be noticed first.
		if err := ctx.Err(); err != nil && a.s.chance(512) {
			return false, err
		}
		return true, nil
	}
	remove(&lt.waiters, t)
	if t.timed {
		return false, nil
	}
	return false, ctx.Err()
}

// Lock locks the mutex with a name.
func (a *Actor) Lock(ctx context.Context, key string, queue int) (func(), error) {
	a.check()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a.locks == nil {
		a.locks = map[string]*lock{}
	}
	m := a.locks[key]
	if m == nil {
		m = &lock{}
		a.locks[key] = m
	}
	if m.held {
		if len(m.queue) >= queue {
			return nil, sched.ErrQueueFull
		}
		t := a.s.current
		m.queue = append(m.queue, t)
		a.block(ctx, 0)
		if remove(&m.queue, t) {
			return nil, ctx.Err()
		}
	}
	m.held = true
	released := false
	return func() {
		if released || a.dead {
			return
		}
		released = true
		if len(m.queue) == 0 {
			m.held = false
			return
		}
		// The lock passes on without ever being free.
		first := m.queue[0]
		m.queue = m.queue[1:]
		a.s.wake(first)
	}, nil
}

// After blocks for d.
func (a *Actor) After(ctx context.Context, d time.Duration) error {
	a.check()
	if err := ctx.Err(); err != nil {
		return err
	}
	t := a.s.current
	a.block(ctx, max(d, time.Microsecond))
	if t.timed {
		return nil
	}
	return ctx.Err()
}

// Detach returns a context with ctx's values and without its cancellation.
func (a *Actor) Detach(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// Random fills b from the seed.
func (a *Actor) Random(b []byte) {
	for len(b) > 0 {
		v := a.s.rng.Uint64()
		for i := 0; i < 8 && len(b) > 0; i++ {
			b[0] = byte(v)
			b = b[1:]
			v >>= 8
		}
	}
}
