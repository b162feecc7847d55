package session

import (
	"context"
	"sync"
	"sync/atomic"
)

// ForEach calls do for 0 to n-1, at most width at a time, and returns the first error,
// which cancels the context of the others.
func ForEach(ctx context.Context, n, width int, do func(ctx context.Context, i int) error) error {
	if n == 1 {
		return do(ctx, 0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		next  atomic.Int64
		tasks sync.WaitGroup
		once  sync.Once
		first error
	)
	for range min(n, width) {
		tasks.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				_, err := recoverPanic(func() (struct{}, error) { return struct{}{}, do(ctx, int(i)) })
				if err != nil {
					once.Do(func() { first = wrapPanic(err) })
					cancel()
					return
				}
			}
		})
	}
	tasks.Wait()
	return first
}
