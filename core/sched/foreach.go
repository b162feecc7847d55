package sched

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// ForEach calls do for 0..n-1, at most width at a time, and waits for all. It returns the error of the lowest
// index that has one. If n or width is 1, it makes the calls itself, one after the other, up to the first error.
func ForEach(ctx context.Context, rt Runtime, n, width int, do func(i int) error) error {
	if min(n, width) <= 1 {
		for i := range n {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		mu       sync.Mutex
		next     int
		open     = min(n, width)
		errs     = make([]error, n)
		ended    = rt.Latch()
		panicked error
	)
	try := func(i int) {
		defer func() {
			if cause := recover(); cause != nil {
				mu.Lock()
				defer mu.Unlock()
				panicked = fmt.Errorf("a task has panicked: %v at %s", cause, debug.Stack())
			}
		}()
		errs[i] = do(i)
	}
	worker := func() {
		for {
			mu.Lock()
			i := next
			next++
			if i >= n {
				if open--; open == 0 {
					ended.Open()
				}
				mu.Unlock()
				return
			}
			mu.Unlock()
			try(i)
		}
	}
	for range min(n, width) {
		rt.Go(worker)
	}
	// The wait does not end with ctx: the workers observe the end of ctx themselves.
	if _, err := rt.Wait(rt.Detach(ctx), ended, 0); err != nil {
		return err
	}
	if panicked != nil {
		panic(panicked) // in the caller's goroutine, where it can be recovered
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
