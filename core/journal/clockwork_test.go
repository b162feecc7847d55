package journal

import (
	"context"
	"sync"
	"time"

	"carrel/core/sched"
)

// clockwork is the real runtime with clocks that the test sets. Its time limits are longer: a machine
// that runs other tests may take seconds to write a full list under the race detector.
type clockwork struct {
	*sched.Real
	mu      sync.Mutex
	elapsed time.Duration
}

func (c *clockwork) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed
}

func (c *clockwork) Now() time.Time { return time.Unix(1_800_000_000, 0).Add(c.Elapsed()) }

func (c *clockwork) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed += d
}

// patience is how many times the time limits of a clockwork are as long as those of Real.
const patience = 30

func (c *clockwork) Wait(ctx context.Context, l sched.Latch, d time.Duration) (bool, error) {
	return c.Real.Wait(ctx, l, patience*d)
}

func (c *clockwork) Deadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return c.Real.Deadline(ctx, patience*d)
}
