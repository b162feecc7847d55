package commit

import (
	"context"
	"sync/atomic"
	"time"

	"carrel/core/clock"
	"carrel/core/sched"
)

// Config is what an Engine needs.
type Config struct {
	Runtime   sched.Runtime
	Journal   Journal
	Registers RegisterStore
	// Ahead returns a lower bound of how far this process's clock is ahead of its store's clock; it
	// is negative if this clock is behind. Ahead is nil if both use the same clock.
	Ahead func() time.Duration
	// Remote reports that calls of the store take a round trip, so that independent
	// calls are worth tasks of their own.
	Remote bool
	// Room returns UNAVAILABLE while the store has no room for changes that may let it grow. Room is
	// nil if the store does not know.
	Room func() error
	// Partition reads the partition of an id of any domain, for keyed creations: a key may be reused for a
	// creation of another domain.
	Partition ReadPartition
}

// Engine decides the changes of all domains of a process. It is safe for concurrent use.
type Engine struct {
	rt        sched.Runtime
	journal   Journal
	registers RegisterStore
	ahead     func() time.Duration
	room      func() error
	remote    bool
	read      ReadPartition
	ending    sched.Latch
	// overAt is when the time for the shutdown is over, on the monotonic clock; 0 while
	// the process is not shutting down.
	overAt atomic.Int64
}

// NewEngine returns the Engine of a process.
func NewEngine(c Config) *Engine {
	g := &Engine{
		rt: c.Runtime, journal: c.Journal, registers: c.Registers, ahead: c.Ahead, remote: c.Remote, room: c.Room,
		read: c.Partition, ending: c.Runtime.Latch(),
	}
	if g.ahead == nil {
		g.ahead = func() time.Duration { return 0 }
	}
	if g.room == nil {
		g.room = func() error { return nil }
	}
	return g
}

// Now returns the time of this process's wall clock.
func (g *Engine) Now() clock.Instant { return clock.Of(g.rt.Now()) }

// NextMTS returns the modification timestamp (mts) of the state that follows a state with timestamp
// prev. It is greater than prev even if the clock was set back.
func NextMTS(now, prev clock.Instant) clock.Instant { return max(now, prev+1) }

// MTS returns NextMTS for the current time.
func (g *Engine) MTS(prev clock.Instant) clock.Instant {
	return NextMTS(g.Now(), prev)
}

// Together runs tasks concurrently if the store is remote, otherwise one after the other.
func (g *Engine) Together(ctx context.Context, tasks []func() error) error {
	if g.remote {
		return sched.ForEach(ctx, g.rt, len(tasks), len(tasks), func(i int) error { return tasks[i]() })
	}
	for _, task := range tasks {
		if err := task(); err != nil {
			return err
		}
	}
	return nil
}

// Retry repeats an idempotent write until it succeeds, or the process has no more time for it.
func (g *Engine) Retry(ctx context.Context, write func() error) error {
	return sched.Retry(ctx, g.rt, g.Over, write)
}
