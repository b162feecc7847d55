package session

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// ForEach calls do for 0 to n-1, at most width at a time, and returns the first error,
// which cancels the context of the others.
func ForEach(ctx context.Context, n, width int, do func(ctx context.Context, i int) error) error {
	if n == 1 {
		return do(ctx, 0)
	}
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(width)
	for i := range n {
		tasks.Go(func() error {
			_, err := recoverPanic(func() (struct{}, error) { return struct{}{}, do(ctx, i) })
			return wrapPanic(err)
		})
	}
	return tasks.Wait()
}
