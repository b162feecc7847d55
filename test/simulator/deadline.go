package simulator

import (
	"context"
	"time"
)

// deadline is a context that ends at a simulated time. From then on Err returns an error, and tasks
// that wait with it are woken.
type deadline struct {
	context.Context
	a        *Actor
	at       time.Duration // on the actor's monotonic clock
	canceled bool
}

// Deadline limits ctx by a simulated duration. In a schedule without deadlines it returns ctx
// unchanged: then slow calls end by themselves.
func (a *Actor) Deadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if !a.deadlines {
		return ctx, func() {}
	}
	c := &deadline{Context: ctx, a: a, at: a.s.now + d}
	return c, func() {
		if !c.canceled {
			c.canceled = true
			a.s.wakeEnded()
		}
	}
}

// Deadline returns the simulated time at which the context ends at the latest.
func (c *deadline) Deadline() (time.Time, bool) {
	at := epoch.Add(c.at)
	if before, ok := c.Context.Deadline(); ok && before.Before(at) {
		return before, true
	}
	return at, true
}

// Err returns DeadlineExceeded from the deadline on.
func (c *deadline) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	switch {
	case c.a.s.now >= c.at:
		return context.DeadlineExceeded
	case c.canceled:
		return context.Canceled
	}
	return nil
}

// block has the running task wait until it is woken, d has passed (d <= 0: no
// end) or ctx has ended.
func (a *Actor) block(ctx context.Context, d time.Duration) {
	t := a.s.current
	t.ended, t.endsAt = ctx.Err, 0
	if at, ok := ctx.Deadline(); ok {
		t.endsAt = at.Sub(epoch)
	}
	a.s.wait(t, d)
	t.ended, t.endsAt = nil, 0
}
