package sched

import (
	"context"
	"errors"
	"time"

	"carrel/core/fault"
)

// QueryTimeout is how long one query may take. Nearly all take some milliseconds; one that
// takes this long waits for a store that hangs, and more queries would only pile up.
const QueryTimeout = 5 * time.Second

// WithQueryTimeout runs a query with a deadline of QueryTimeout. It returns UNAVAILABLE if the query takes
// longer. It is for the start of a subscription: the edge limits the time of queries itself.
func WithQueryTimeout[T any](ctx context.Context, rt Runtime, query func(context.Context) (T, error)) (T, error) {
	bounded, cancel := rt.Deadline(ctx, QueryTimeout)
	defer cancel()
	answer, err := query(bounded)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = fault.Unavailablef(err, "the store did not answer in time; try again")
	}
	return answer, err
}
