package simulator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/sched"
)

// scheduler returns a Scheduler that is closed at the end of the test.
func scheduler(t *testing.T, seed uint64) *Scheduler {
	t.Helper()
	s := NewScheduler()
	t.Cleanup(s.Close)
	s.Reset(seed)
	return s
}

// toEnd runs until nothing can run any more.
func toEnd(t *testing.T, s *Scheduler) {
	t.Helper()
	if err := s.Run(func() bool { return false }); err != nil {
		t.Fatal(err)
	}
}

// interleaving returns the order in which three tasks of three steps each run.
func interleaving(t *testing.T, s *Scheduler) string {
	t.Helper()
	a := s.NewActor("a", 0, 0)
	order := ""
	for name := range 3 {
		a.Spawn(nil, func() {
			for range 3 {
				order += fmt.Sprint(name)
				s.giveWay(s.current)
			}
		})
	}
	toEnd(t, s)
	return order
}

func TestScheduler_SeedDecidesTheOrder(t *testing.T) {
	s := scheduler(t, 1)
	first := interleaving(t, s)
	seen := map[string]bool{}
	for seed := range uint64(50) {
		s.Reset(seed)
		seen[interleaving(t, s)] = true
	}
	if len(seen) < 25 {
		t.Errorf("50 seeds gave %d orders", len(seen))
	}
	s.Reset(1)
	if again := interleaving(t, s); again != first {
		t.Errorf("seed 1 gave %s, then %s", first, again)
	}
}

func TestScheduler_LatchWakesItsWaiters(t *testing.T) {
	s := scheduler(t, 1)
	a := s.NewActor("a", 0, 0)
	l := a.Latch()
	var opened, late, timed bool
	var err error
	a.Spawn(nil, func() {
		opened, err = a.Wait(t.Context(), l, 0)
		late, _ = a.Wait(t.Context(), l, 0)
	})
	a.Spawn(nil, func() {
		got, _ := a.Wait(t.Context(), a.Latch(), time.Second)
		timed = !got
	})
	a.Spawn(nil, func() { _ = a.After(t.Context(), 5*time.Second); l.Open(); l.Open() })
	toEnd(t, s)
	if !opened || !late || !timed || err != nil {
		t.Errorf("opened %v, open already %v, timed out %v, error %v", opened, late, timed, err)
	}
}

func TestScheduler_WaitEndsWithItsContext(t *testing.T) {
	s := scheduler(t, 1)
	a := s.NewActor("a", 0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	errs := map[string]error{}
	a.Spawn(nil, func() { _, errs["Wait"] = a.Wait(ctx, a.Latch(), 0) })
	a.Spawn(nil, func() { errs["After"] = a.After(ctx, time.Hour) })
	unlock, err := func() (func(), error) { return a.Lock(t.Context(), "k", 5) }()
	if err != nil {
		t.Fatal(err)
	}
	a.Spawn(nil, func() { _, errs["Lock"] = a.Lock(ctx, "k", 5) })
	a.Spawn(nil, func() { _ = a.After(t.Context(), time.Minute); cancel(); s.wakeEnded() })
	toEnd(t, s)
	unlock()
	for _, call := range []string{"Wait", "After", "Lock"} {
		if !errors.Is(errs[call], context.Canceled) {
			t.Errorf("%s ended with %v", call, errs[call])
		}
	}
}

func TestScheduler_LockIsServedInOrder(t *testing.T) {
	s := scheduler(t, 3)
	a := s.NewActor("a", 0, 0)
	holders, full := 0, 0
	for range 5 {
		a.Spawn(nil, func() {
			unlock, err := a.Lock(t.Context(), "k", 3)
			if err != nil {
				if !errors.Is(err, sched.ErrQueueFull) {
					t.Error(err)
				}
				full++
				return
			}
			defer unlock()
			holders++
			if holders != 1 {
				t.Errorf("%d hold the lock", holders)
			}
			_ = a.After(t.Context(), time.Second)
			holders--
		})
	}
	toEnd(t, s)
	if full != 1 {
		t.Errorf("%d of 5 found a queue of 3 full", full)
	}
}

func TestScheduler_CrashEndsTasksAtTheirStep(t *testing.T) {
	s := scheduler(t, 1)
	a, b := s.NewActor("a", 0, 0), s.NewActor("b", 0, 0)
	var log []string
	for i := range 3 {
		a.Spawn(nil, func() {
			defer func() { log = append(log, "unwound") }()
			defer func() {
				// What a dying process still tries has no effect.
				a.Go(func() { t.Error("a dead process starts a task") })
			}()
			if i == 1 {
				_ = a.After(t.Context(), time.Second)
				a.Crash()
			}
			_ = a.After(t.Context(), time.Hour)
			t.Error("a dead process makes a step")
		})
	}
	lives := false
	b.Spawn(nil, func() { _ = b.After(t.Context(), 2*time.Hour); lives = true })
	toEnd(t, s)
	if d := cmp.Diff([]string{"unwound", "unwound", "unwound"}, log); d != "" || !lives {
		t.Errorf("others live: %v\n%s", lives, d)
	}
}

func TestScheduler_PanicIsReportedWithItsTask(t *testing.T) {
	s := scheduler(t, 1)
	s.NewActor("a", 0, 0).Spawn(nil, func() { panic("at the disco") })
	if err := s.Run(func() bool { return false }); err == nil {
		t.Error("a panic was swallowed")
	}
}

func TestScheduler_ClocksDisagree(t *testing.T) {
	s := scheduler(t, 1)
	a, b := s.NewActor("a", time.Second, 0), s.NewActor("b", -time.Second, 0)
	if d := a.Now().Sub(b.Now()); d != 2*time.Second {
		t.Errorf("clocks of a second ahead and behind differ by %v", d)
	}
	c := s.NewActor("c", 0, 512)
	back, last := false, c.Now()
	for range 100 {
		now := c.Now()
		back = back || now.Before(last)
		last = now
	}
	if !back {
		t.Error("a jittering clock never went back")
	}
}

func BenchmarkSwitch(b *testing.B) {
	s := NewScheduler()
	defer s.Close()
	s.Reset(1)
	s.limit = b.N + 10
	a := s.NewActor("a", 0, 0)
	for range 4 {
		a.Spawn(nil, func() {
			for {
				s.giveWay(s.current)
			}
		})
	}
	n := 0
	_ = s.Run(func() bool { n++; return n > b.N })
}
