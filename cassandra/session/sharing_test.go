package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// readings are reads that the test ends one by one. Each returns its number.
type readings struct {
	t       *testing.T
	sharing *sharing[string, int]
	alone   int // reads of a key that may be in flight; a test may change it
	sent    int
	until   time.Duration // time to the deadline of the last read; 0: it has none
	end     chan error

	mu      sync.Mutex
	answers map[string]answer
}

// answer is the result that a caller got.
type answer struct {
	value int
	err   error
}

func newReadings(t *testing.T, alone int) *readings {
	h := &hedges{after: time.Hour, another: func(string) bool { return true }, slots: make(chan struct{}, 1)}
	r := &readings{t: t, alone: alone, end: make(chan error), answers: map[string]answer{}}
	r.sharing = newSharing[string, int](h, func() int { return r.alone })
	return r
}

// ask starts a caller that reads a key.
func (r *readings) ask(ctx context.Context, who, key string) {
	go func() {
		value, err := r.sharing.read(ctx, key, func(ctx context.Context) (int, error) {
			r.sent++
			number := r.sent
			r.until = 0
			if end, bounded := ctx.Deadline(); bounded {
				r.until = time.Until(end)
			}
			select {
			case err := <-r.end:
				return number, err
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		r.answers[who] = answer{value, err}
	}()
	synctest.Wait()
}

// ends makes a read end.
func (r *readings) ends(err error) {
	r.end <- err
	synctest.Wait()
}

func (r *readings) wantSent(n int) {
	r.t.Helper()
	if r.sent != n {
		r.t.Fatalf("%d reads were sent, want %d", r.sent, n)
	}
}

func (r *readings) want(who string, a answer) {
	r.t.Helper()
	if got, done := r.answers[who]; !done || got != a {
		r.t.Errorf("%s has %+v (%v), want %+v", who, got, done, a)
	}
}

// A caller that comes while a read is in flight gets the next one, never that one.
func TestSharing_SentReadIsNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadings(t, 1)
		r.ask(t.Context(), "ann", "x")
		r.wantSent(1)
		r.ask(t.Context(), "bob", "x")
		r.ask(t.Context(), "cid", "x")
		r.wantSent(1)
		r.ends(nil)
		r.want("ann", answer{1, nil})
		r.wantSent(2)
		if len(r.answers) != 1 {
			t.Fatalf("a caller got a read that was sent before it called: %v", r.answers)
		}
		// The second read is in flight, so dan waits for the third.
		r.ask(t.Context(), "dan", "x")
		r.wantSent(2)
		r.ends(nil)
		r.want("bob", answer{2, nil})
		r.want("cid", answer{2, nil})
		r.wantSent(3)
		r.ends(nil)
		r.want("dan", answer{3, nil})
		r.wantSent(3)
		if len(r.sharing.keys) != 0 {
			t.Errorf("remaining keys: %v", r.sharing.keys)
		}
		r.ask(t.Context(), "eve", "x")
		r.wantSent(4)
		r.ends(nil)
		r.want("eve", answer{4, nil})
	})
}

// A caller does not overtake those that wait, even if it could read at once.
func TestSharing_WaitersAreNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadings(t, 1)
		r.ask(t.Context(), "ann", "x")
		r.ask(t.Context(), "bob", "x")
		r.alone = 3
		r.ask(t.Context(), "cid", "x")
		r.wantSent(1)
		r.ends(nil)
		r.wantSent(2)
		r.ends(nil)
		r.want("bob", answer{2, nil})
		r.want("cid", answer{2, nil})
	})
}

// While few reads of a key are in flight, no caller waits for one.
func TestSharing_FewCallersReadSeparately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadings(t, 2)
		r.ask(t.Context(), "ann", "x")
		r.ask(t.Context(), "bob", "x")
		r.wantSent(2)
		r.ask(t.Context(), "cid", "x")
		r.ask(t.Context(), "dan", "x")
		r.wantSent(2)
		r.ends(nil) // of ann or bob
		r.wantSent(3)
		r.ask(t.Context(), "eve", "x") // two are in flight again
		r.wantSent(3)
		for range 2 {
			r.ends(nil)
		}
		r.wantSent(4)
		r.ends(nil)
		r.want("cid", answer{3, nil})
		r.want("dan", answer{3, nil})
		r.want("eve", answer{4, nil})
		if len(r.sharing.keys) != 0 {
			t.Errorf("remaining keys: %v", r.sharing.keys)
		}
	})
}

// If many callers share, one read is sent after the other.
func TestSharing_CrowdHasOneReadInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadings(t, 2)
		r.ask(t.Context(), "ann", "x")
		r.ask(t.Context(), "bob", "x")
		for n := range crowd {
			r.ask(t.Context(), fmt.Sprint("first", n), "x")
		}
		r.wantSent(2)
		r.ends(nil) // of ann or bob
		r.wantSent(3)
		for n := range crowd - 1 {
			r.ask(t.Context(), fmt.Sprint("second", n), "x")
		}
		r.ends(nil) // one of two
		r.wantSent(3)
		r.ends(nil)
		r.wantSent(4)
		// That was no crowd: two may be in flight again.
		r.ask(t.Context(), "cid", "x")
		r.wantSent(5)
		r.ends(nil)
		r.ends(nil)
		for n := range crowd {
			r.want(fmt.Sprint("first", n), answer{3, nil})
		}
		for n := range crowd - 1 {
			r.want(fmt.Sprint("second", n), answer{4, nil})
		}
		r.want("cid", answer{5, nil})
		if len(r.sharing.keys) != 0 {
			t.Errorf("remaining keys: %v", r.sharing.keys)
		}
	})
}

func TestSharing_KeysAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadings(t, 1)
		r.ask(t.Context(), "ann", "x")
		r.ask(t.Context(), "bob", "y")
		r.wantSent(2)
		r.ends(nil)
		r.ends(nil)
		if r.answers["ann"].value == r.answers["bob"].value {
			t.Errorf("they share: %v", r.answers)
		}
	})
}

// An error goes to the callers of that read, and to no other.
func TestSharing_ErrorReachesAllCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadings(t, 1)
		failed := errors.New("failed")
		r.ask(t.Context(), "ann", "x")
		r.ask(t.Context(), "bob", "x")
		r.ends(failed)
		r.want("ann", answer{1, failed})
		r.ask(t.Context(), "cid", "x")
		r.ends(failed)
		r.want("bob", answer{0, failed})
		r.ends(nil)
		r.want("cid", answer{3, nil})
	})
}

// A caller that is cancelled ends alone: those that wait with it go on, and so do those
// that wait for the read that it has sent.
func TestSharing_CancelledCallerEndsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadings(t, 1)
		annCtx, annLeaves := context.WithCancel(t.Context())
		bobCtx, bobLeaves := context.WithCancel(t.Context())
		r.ask(annCtx, "ann", "x")
		r.ask(bobCtx, "bob", "x")
		r.ask(t.Context(), "cid", "x")
		bobLeaves()
		synctest.Wait()
		wantNotSent(t, r.answers["bob"].err)
		r.wantSent(1)
		annLeaves()
		synctest.Wait()
		r.want("ann", answer{0, context.Canceled})
		r.wantSent(2)
		r.ends(nil)
		r.want("cid", answer{2, nil})
	})
}

// A shared read passes the gate with the operations that wait for it, and does not end
// while one of them still waits.
func TestSharing_ReadHasTheLatestDeadline(t *testing.T) {
	for _, c := range []struct {
		name  string
		waits []time.Duration // how long each waits; 0: without a deadline
		until time.Duration
	}{
		{"the first one's", []time.Duration{5 * time.Second, 4 * time.Second}, 5 * time.Second},
		{"a later one's", []time.Duration{4 * time.Second, 5 * time.Second}, 5 * time.Second},
		{"the first has none", []time.Duration{0, 5 * time.Second}, 0},
		{"a later one has none", []time.Duration{5 * time.Second, 0, 4 * time.Second}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReadings(t, 1)
				r.ask(t.Context(), "ann", "x")
				for n, d := range c.waits {
					ctx, cancel := context.WithCancel(t.Context())
					if d != 0 {
						ctx, cancel = context.WithTimeout(t.Context(), d)
					}
					defer cancel()
					r.ask(ctx, fmt.Sprint("waits", n), "x")
				}
				r.ends(nil)
				r.wantSent(2)
				if r.until != c.until {
					t.Errorf("it has %s until its deadline, want %s (0 for none)", r.until, c.until)
				}
				<-time.After(4500 * time.Millisecond)
				r.ends(nil)
				for n, d := range c.waits {
					who := fmt.Sprint("waits", n)
					if d == 4*time.Second {
						wantNotSent(t, r.answers[who].err)
					} else {
						r.want(who, answer{2, nil})
					}
				}
			})
		})
	}
}

// A read ends with the deadline of its last caller.
func TestSharing_ReadEndsWithTheLastDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadings(t, 1)
		r.ask(t.Context(), "ann", "x")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r.ask(ctx, "bob", "x")
		r.ends(nil)
		r.wantSent(2)
		r.ask(ctx, "cid", "x")
		<-time.After(5 * time.Second)
		synctest.Wait()
		for _, who := range []string{"bob", "cid"} {
			if a, done := r.answers[who]; !done || a.err == nil {
				t.Errorf("%s has %+v (%v), want an error", who, a, done)
			}
		}
		if len(r.sharing.keys) != 0 {
			t.Errorf("remaining keys: %v", r.sharing.keys)
		}
	})
}
