package commit

import (
	"context"
	"time"
)

// Budget is the time that a mutation has before its compare-and-set is sent. All steps before that
// share it, so a mutation that fails before then fails within PrepareTimeout, however many steps
// wait for the store.
type Budget struct{ until time.Duration } // on the monotonic clock

// NewBudget returns the budget of a mutation that begins now.
func (g *Engine) NewBudget() Budget { return Budget{g.rt.Elapsed() + PrepareTimeout} }

// Within returns a context for a step, bounded by the rest of the budget and by most.
func (g *Engine) Within(ctx context.Context, b Budget, limit time.Duration) (context.Context, context.CancelFunc) {
	return g.rt.Deadline(ctx, max(0, min(limit, b.until-g.rt.Elapsed())))
}

// WithBudget runs do, a read that a mutation needs before Decide, with a deadline.
func (g *Engine) WithBudget(ctx context.Context, b Budget, do func(context.Context) error) error {
	bounded, cancel := g.Within(ctx, b, earlyTimeout)
	defer cancel()
	return TimeoutToUnavailable(ctx, do(bounded))
}
