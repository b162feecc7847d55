package sched

import (
	"context"
	"errors"
	"time"

	"carrel/core/fault"
)

// QueryWithin is how long one question may take. Nearly all are answered within some
// milliseconds; one that waits for this long waits for a store that hangs, and more of
// its kind would only pile up.
const QueryWithin = 5 * time.Second

// InTime asks a question that may take QueryWithin. It is UNAVAILABLE if it takes longer.
func InTime[T any](ctx context.Context, rt Runtime, ask func(context.Context) (T, error)) (T, error) {
	early, cancel := rt.Deadline(ctx, QueryWithin)
	defer cancel()
	answer, err := ask(early)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = fault.Unavailablef(err, "the store did not answer in time; try again")
	}
	return answer, err
}
