package library

import (
	"context"
	"time"
)

// budget is the time that a mutation has before its compare-and-set is sent. All
// steps before that share it, so that a refusal comes within prepareWithin however
// many of them wait for the store.
type budget struct{ until time.Duration } // on the monotonic clock

// newBudget returns the budget of a mutation that begins now.
func (s *Service) newBudget() budget { return budget{s.rt.Elapsed() + prepareWithin} }

// within bounds a step by what is left of the budget, and by most.
func (s *Service) within(ctx context.Context, b budget, most time.Duration) (context.Context, context.CancelFunc) {
	return s.rt.Deadline(ctx, max(0, min(most, b.until-s.rt.Elapsed())))
}

// early does what a mutation needs to know before decide, in bounded time.
func (s *Service) early(ctx context.Context, b budget, do func(context.Context) error) error {
	bounded, cancel := s.within(ctx, b, earlyWithin)
	defer cancel()
	return late(ctx, do(bounded))
}
