package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A node hangs with as many reads of a key as may be in flight. The next caller waits
// for one of them to end, but its second attempt does not.
func TestSharedReads_SecondAttemptDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hedges{after: 500 * time.Millisecond, slots: make(chan struct{}, 100), another: func(string) bool { return true }}
		reads := NewSharedReads[string, int](&Session{gate: newGate(100, 100, time.Hour), hedges: h})
		hang := func(ctx context.Context, _ string) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		hung, end := context.WithCancel(t.Context())
		for range separateReads {
			go func() {
				if err := reads.ReadMany(hung, []string{"x"}, hang, func(int, int) {}); err == nil {
					t.Error("a read that hangs has succeeded")
				}
			}()
		}
		synctest.Wait()
		began, got := time.Now(), 0
		answer := func(context.Context, string) (int, error) { return 7, nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := reads.ReadMany(ctx, []string{"x"}, answer, func(_ int, value int) { got = value })
		if took := time.Since(began); err != nil || got != 7 || took > time.Second {
			t.Errorf("after %s it has %d, %v", took, got, err)
		}
		// The read that the first attempt waited for is sent now, and ends in time.
		end()
		<-time.After(time.Minute)
		synctest.Wait()
	})
}
