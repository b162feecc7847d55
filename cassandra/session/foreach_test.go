package session

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestForEach_RunsAtMostWidthAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, width = 10, 3
		var running, most, done atomic.Int64
		began := time.Now()
		err := ForEach(t.Context(), n, width, func(context.Context, int) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-time.After(time.Second)
			done.Add(1)
			return nil
		})
		if err != nil || done.Load() != n || most.Load() > width || time.Since(began) != 4*time.Second {
			t.Errorf("%d done, %d at a time, in %s: %v", done.Load(), most.Load(), time.Since(began), err)
		}
	})
}

func TestForEach_FirstErrorCancelsTheOthers(t *testing.T) {
	fault := errors.New("a fault")
	err := ForEach(t.Context(), 3, 3, func(ctx context.Context, i int) error {
		if i == 1 {
			return fault
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, fault) {
		t.Errorf("got %v, want %v", err, fault)
	}
}
