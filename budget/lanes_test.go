package budget

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestLanes_AnAccountHasItsWidth, and no other account waits for it. What waits ends with its context, what panics
// gives its place back, and nothing is kept afterwards.
func TestLanes_AnAccountHasItsWidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLanes(2)
		var running atomic.Int64
		var all sync.WaitGroup
		goOn := make(chan struct{})
		for range 5 {
			all.Go(func() {
				if err := l.Run(t.Context(), "a", func() { running.Add(1); <-goOn; running.Add(-1) }); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := running.Load(); n != 2 {
			t.Errorf("%d run at once", n)
		}
		done := false
		if err := l.Run(t.Context(), "b", func() { done = true }); err != nil || !done {
			t.Errorf("another account: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Run(ctx, "a", func() { t.Error("run after its end") }); err == nil {
			t.Error("no error after its end")
		}
		for range 5 {
			goOn <- struct{}{}
			synctest.Wait()
		}
		all.Wait()
		for range 3 {
			func() {
				defer func() { _ = recover() }()
				_ = l.Run(t.Context(), "a", func() { panic("broken") })
			}()
		}
		if len(l.used) != 0 {
			t.Errorf("%d lanes are kept", len(l.used))
		}
	})
}
