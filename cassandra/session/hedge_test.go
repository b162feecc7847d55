package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocql/gocql"
)

// A script says what one attempt of a call does.
type script struct {
	takes time.Duration
	err   error
	avoid string // expected in the attempt; "" for the first one
}

func (s script) run(t *testing.T, of *attempt, value int) (int, error) {
	if of.avoid != s.avoid || of.hedged != (s.avoid != "") {
		t.Errorf("attempt %d avoids %q (hedged: %v), want %q", value, of.avoid, of.hedged, s.avoid)
	}
	node := "a"
	of.lastNode.Store(&node)
	timer := time.NewTimer(s.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
		return value, s.err
	case <-of.Done():
		return 0, of.Err()
	}
}

func TestHedged_UsesTheFirstResult(t *testing.T) {
	const slow = time.Hour
	failed, worse := errors.New("failed"), errors.New("failed too")
	tombstones := WrapError("read", tombstoneFailure{answered{gocql.ErrCodeReadFailure}})
	for _, c := range []struct {
		name          string
		first, second script
		alone, full   bool // no other node answers; no slot for a second attempt
		want          int
		again         bool
		err           error
		took          time.Duration
	}{
		{name: "the first is quick", first: script{takes: 400 * time.Millisecond}, want: 1, took: 400 * time.Millisecond},
		{name: "the first fails quickly", first: script{err: failed}, err: failed},
		{name: "the second is faster", first: script{takes: slow}, second: script{takes: time.Second}, want: 2, again: true,
			took: 1500 * time.Millisecond},
		{name: "the first is faster after all", first: script{takes: time.Second}, second: script{takes: slow}, want: 1,
			again: true, took: time.Second},
		{name: "the second fails", first: script{takes: time.Second}, second: script{err: failed}, want: 1, again: true, took: time.Second},
		{name: "the first fails, the second does not", first: script{takes: time.Second, err: failed},
			second: script{takes: time.Second}, want: 2, again: true, took: 1500 * time.Millisecond},
		{name: "both fail", first: script{takes: time.Second, err: failed}, second: script{takes: time.Second, err: worse},
			again: true, err: failed, took: 1500 * time.Millisecond},
		{name: "the first meets too many tombstones", first: script{takes: time.Second, err: tombstones},
			second: script{takes: slow}, again: true, err: tombstones, took: time.Second},
		{name: "the second meets too many tombstones", first: script{takes: slow}, second: script{err: tombstones}, again: true,
			err: tombstones, took: 500 * time.Millisecond},
		{name: "the first fails, the second meets too many tombstones", first: script{takes: time.Second, err: failed},
			second: script{takes: time.Second, err: tombstones}, again: true, err: tombstones, took: 1500 * time.Millisecond},
		{name: "no other node answers", first: script{takes: 3 * time.Second}, alone: true, want: 1, took: 3 * time.Second},
		{name: "no other node answers, and it fails", first: script{takes: 3 * time.Second, err: failed}, alone: true,
			err: failed, took: 3 * time.Second},
		{name: "too many second attempts", first: script{takes: 3 * time.Second}, full: true, want: 1, took: 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hedges{after: 500 * time.Millisecond, slots: make(chan struct{}, 1)}
				h.another = func(id string) bool { return id == "a" && !c.alone }
				if c.full {
					h.enter()
				}
				c.second.avoid = "a"
				scripts := make(chan script, 2)
				scripts <- c.first
				scripts <- c.second
				began, tries := time.Now(), new(atomic.Int64)
				got, err := hedged(t.Context(), h, func(of *attempt) (int, error) {
					return (<-scripts).run(t, of, int(tries.Add(1)))
				})
				if got != c.want || err != c.err {
					t.Errorf("got %d, %v, want %d, %v", got, err, c.want, c.err)
				}
				if again := tries.Load() == 2; again != c.again {
					t.Errorf("%d attempts were made", tries.Load())
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %s, want %s", took, c.took)
				}
				synctest.Wait()
				if !c.full && len(h.slots) != 0 {
					t.Error("a second attempt has kept its slot")
				}
			})
		})
	}
}

// The end of the caller's context ends both attempts.
func TestHedged_EndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hedges{after: time.Second, slots: make(chan struct{}, 1), another: func(string) bool { return true }}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		scripts := make(chan script, 2)
		scripts <- script{takes: time.Hour}
		scripts <- script{takes: time.Hour, avoid: "a"}
		_, err := hedged(ctx, h, func(of *attempt) (int, error) { return (<-scripts).run(t, of, 1) })
		if len(scripts) != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it returned %v, %d attempts not made", err, len(scripts))
		}
	})
}

// Of many calls only the slow ones are hedged, even if they start late. A failure ends all calls.
func TestHedgedAll_HedgesSlowCallsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hedges{after: 500 * time.Millisecond, slots: make(chan struct{}, 10), another: func(string) bool { return true }}
		var mu sync.Mutex
		tries := map[int]int{}
		once := func(of *attempt, i int) (int, error) {
			mu.Lock()
			tries[i]++
			mu.Unlock()
			takes := 10 * time.Millisecond
			if i%10 == 3 && !of.hedged {
				takes = time.Hour
			}
			timer := time.NewTimer(takes)
			defer timer.Stop()
			select {
			case <-timer.C:
				return i, nil
			case <-of.Done():
				return 0, of.Err()
			}
		}
		const many = 40
		var got []int
		began := time.Now()
		if err := hedgedAll(t.Context(), h, many, 4, once, func(i, v int) { got = append(got, v) }); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		for i := range many {
			if got[i] != i {
				t.Fatalf("the results are %v", got)
			}
			if hangs := i%10 == 3; hangs != (tries[i] == 2) {
				t.Errorf("%d was tried %d times", i, tries[i])
			}
		}
		// All four workers may meet a node that hangs, one after the other.
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it took %s", took)
		}
		synctest.Wait()
		if len(h.slots) != 0 {
			t.Error("a second attempt has kept its slot")
		}
		failed := errors.New("failed")
		err := hedgedAll(t.Context(), h, many, 4, func(of *attempt, i int) (int, error) {
			if i == 2 {
				return 0, failed
			}
			<-of.Done()
			return 0, of.Err()
		}, func(int, int) { t.Error("a result was used") })
		if err != failed {
			t.Errorf("it failed with %v", err)
		}
		synctest.Wait()
	})
}

// Both attempts of a call count once, whenever they end: hedgedAll ends only when it has a result, and
// one, of each call.
func TestHedgedAll_CountsBothAttemptsOfACallOnce(t *testing.T) {
	for _, calls := range []int{1, 2, 5, 40} {
		for _, width := range []int{1, 3, 40} {
			synctest.Test(t, func(t *testing.T) {
				h := &hedges{after: 500 * time.Millisecond, slots: make(chan struct{}, calls), another: func(string) bool { return true }}
				got := make([]int, calls)
				err := hedgedAll(t.Context(), h, calls, width, func(of *attempt, i int) (int, error) {
					// Of even calls both attempts succeed, while others are still in flight.
					takes := 700*time.Millisecond + time.Duration(i)*time.Millisecond
					if of.hedged {
						takes = 300 * time.Millisecond
					}
					if i%2 == 1 {
						takes *= 10
					}
					<-time.After(takes) // does not end with its context, like an answer that has arrived
					return i, nil
				}, func(i, v int) {
					if got[i]++; v != i {
						t.Errorf("call %d has the result of call %d", i, v)
					}
				})
				if err != nil {
					t.Error(err)
				}
				for i, n := range got {
					if n != 1 {
						t.Errorf("of %d calls, %d at once, call %d has %d results", calls, width, i, n)
					}
				}
				synctest.Wait()
				<-time.After(time.Hour)
			})
		}
	}
}

// An attempt that waits at the gate is not hedged: no node has it yet, and a second
// attempt would wait too.
func TestHedged_QueuedAttemptIsNotHedged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hedges{after: 500 * time.Millisecond, slots: make(chan struct{}, 1), another: func(string) bool { return true }}
		s := &Session{gate: newGate(2, 10, time.Hour), observe: func(context.Context, Observation) {}}
		for range 2 {
			if err := s.gate.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ended := make(chan error, 1)
		go func() {
			_, err := hedged(t.Context(), h, func(of *attempt) (int, error) {
				return 0, s.request(of, "try", func() (sent, error) {
					if !of.hedged {
						<-of.Done()
					}
					return sent{outcomeOK, 1}, of.Err()
				})
			})
			ended <- err
		}()
		<-time.After(10 * time.Second)
		synctest.Wait()
		if _, waiting := s.gate.load(); waiting != 1 {
			t.Errorf("%d statements wait, want that of the first attempt", waiting)
		}
		sentAt := time.Now()
		s.gate.leave()
		s.gate.leave()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(sentAt); took < h.after/2 || took > 2*h.after {
			t.Errorf("the second attempt ended %s after the first was sent", took)
		}
		synctest.Wait()
		if inFlight, waiting := s.gate.load(); inFlight != 0 || waiting != 0 || len(h.slots) != 0 {
			t.Errorf("%d are in flight, %d wait", inFlight, waiting)
		}
	})
}
