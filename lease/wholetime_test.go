package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/domain/domaintest"
	"carrel/lease"
)

// halfAMinute is the longest time that a lease lasts before it has its keys.
const halfAMinute = 30 * time.Second

// onExtension makes the store call do instead of the write that extends a lease to its full
// time.
func (f *faulty) onExtension(do func(next func() (lease.Row, error)) (lease.Row, error)) {
	f.set(func() {
		f.commitLease = func(r lease.Row, next func() (lease.Row, error)) (lease.Row, error) {
			if r.Seq == 2 {
				return do(next)
			}
			return next()
		}
	})
}

// onCommits makes the store call do instead of each write of a state from seq on.
func (f *faulty) onCommits(seq int64, do func(next func() (lease.Row, error)) (lease.Row, error)) {
	f.set(func() {
		f.commitLease = func(r lease.Row, next func() (lease.Row, error)) (lease.Row, error) {
			if r.Seq >= seq {
				return do(next)
			}
			return next()
		}
	})
}

// wantFreeAfter checks that a key is held until a time from now, and free from then on.
func (h leases) wantFreeAfter(key string, after time.Duration) {
	h.T.Helper()
	h.wantAvailable(h.After(after-15*time.Second).Leases, map[string]bool{key: false})
	h.wantAvailable(h.After(after).Leases, map[string]bool{key: true})
}

// errDied simulates the death of a gateway, which does nothing afterwards.
var errDied = errors.New("the gateway died")

// A gateway that dies before its lease has its full time holds the keys for half a minute.
func TestAcquire_DeadGatewaysHoldKeysForHalfAMinute(t *testing.T) {
	h, f := newFaulty(t)
	rt := newHasty()
	defer rt.Close()
	dies := h.otherProcess(rt)
	f.onExtension(func(func() (lease.Row, error)) (lease.Row, error) {
		dies.Engine.End()
		return lease.Row{}, errDied
	})
	if err := h.tryAcquireFor(dies.Leases, hour, "a"); !errors.Is(err, errDied) {
		t.Fatalf("acquiring: %v", err)
	}
	f.set(func() { f.commitLease = nil })
	h.wantFreeAfter("a", halfAMinute)
	h.runDue(h.late)
	h.wantNoClaims()
}

// A lease lasts as long as requested, counted from its creation. A short one is stored only
// once.
func TestAcquire_LeaseHasItsFullTime(t *testing.T) {
	h := newLeases(t, nil)
	for _, c := range []struct {
		ttl time.Duration
		seq int64
	}{{time.Second, 1}, {halfAMinute, 1}, {halfAMinute + time.Millisecond, 2}, {time.Hour, 2}} {
		ms := int(c.ttl.Milliseconds())
		a := h.acquire(h.Leases, h.ann, &ms, c.ttl.String())
		for what, got := range map[string]*lease.Lease{"the answer": a.Lease, "the lease": h.read(a)} {
			if got.Deadline != got.CreatedAt.Add(c.ttl) || got.Seq != c.seq {
				t.Errorf("%s for %v lasts %v and has state %d, want %d", what, c.ttl, got.Deadline.Time().Sub(got.CreatedAt.Time()), got.Seq, c.seq)
			}
		}
	}
}

// read returns the stored lease.
func (h leases) read(a *lease.Acquired) *lease.Lease {
	h.T.Helper()
	l, err := h.Leases.Lease(h.T.Context(), string(a.Lease.ID), a.Token)
	if err != nil {
		h.T.Fatal(err)
	}
	return l
}

// tryAcquireFor acquires keys for ann for a time.
func (h leases) tryAcquireFor(svc *lease.Service, ttl *int, keys ...string) error {
	_, err := svc.Acquire(h.T.Context(), h.ann, lease.Acquire{Documents: documents(keys...), WaitMs: atOnce, TTLMs: ttl})
	return err
}

// If the outcome of the extension is unknown, it is resolved.
func TestAcquire_ResolvesAnUnknownExtension(t *testing.T) {
	for _, applied := range []bool{true, false} {
		h, f := newFaulty(t)
		lost := 2
		f.onExtension(func(next func() (lease.Row, error)) (lease.Row, error) {
			if lost == 0 {
				return next()
			}
			lost--
			if applied {
				if _, err := next(); err != nil {
					return lease.Row{}, err
				}
			}
			return lease.Row{}, errUnknown
		})
		a := h.acquire(h.Leases, h.ann, hour, "a")
		if l := h.read(a); lost != 0 || l.Seq != 2 || l.Deadline != l.CreatedAt.Add(time.Hour) || a.Lease.Deadline != l.Deadline {
			t.Errorf("applied %t: %d answers were not lost, and the lease is %+v", applied, lost, l)
		}
	}
}

// If the outcome of the extension cannot be resolved, the lease ends and its keys are free, so
// that the caller knows that nothing has changed.
func TestAcquire_EndsALeaseWithUnresolvedExtension(t *testing.T) {
	for _, applied := range []bool{true, false} {
		h, f := newFaulty(t)
		failures := 0
		f.onExtension(func(next func() (lease.Row, error)) (lease.Row, error) {
			if failures++; failures > 10 { // the number of attempts
				return next() // the end of the lease
			}
			if applied && failures == 1 {
				if _, err := next(); err != nil {
					return lease.Row{}, err
				}
			}
			return lease.Row{}, errUnknown
		})
		err := h.tryAcquireFor(h.Leases, hour, "a")
		if fault.CodeOf(err) != fault.Unavailable || fault.ReasonOf(err) == fault.ReasonOutcomeUnknown {
			t.Errorf("applied %t: acquiring: %v", applied, err)
		}
		h.wantAvailable(h.Leases, map[string]bool{"a": true})
		h.runDue(h.After(2 * time.Hour))
		h.wantNoClaims()
	}
}

// If both the outcome of the extension and that of ending the lease are unknown, the error says so. The
// gateway goes on to end the lease, of which nobody has the token, and its keys are free as soon as the
// store answers, even if the extension was applied.
func TestAcquire_EndsALeaseOfUnknownOutcomeLater(t *testing.T) {
	for _, applied := range []bool{true, false} {
		h, f := newFaulty(t)
		rt := newHasty()
		svc := h.otherProcess(rt).Leases
		first := true
		f.onCommits(2, func(next func() (lease.Row, error)) (lease.Row, error) {
			if applied && first {
				if _, err := next(); err != nil {
					t.Error(err)
				}
			}
			first = false
			return lease.Row{}, errUnknown
		})
		if err := h.tryAcquireFor(svc, hour, "a"); fault.ReasonOf(err) != fault.ReasonOutcomeUnknown {
			t.Errorf("acquiring: %v", err)
		}
		f.set(func() { f.commitLease = nil })
		rt.Close() // waits for the background
		h.wantAvailable(h.Leases, map[string]bool{"a": true})
	}
}

// A repetition at another gateway does not get the lease while the first attempt has all its
// keys but not its full time, because the first attempt may still fail. It waits for it.
func TestAcquire_RepetitionWaitsForTheFullTime(t *testing.T) {
	h, f := newFaulty(t)
	rt := sched.NewReal()
	defer rt.Close()
	other := h.otherProcess(rt)
	again := make(chan *lease.Acquired, 1)
	f.onExtension(func(next func() (lease.Row, error)) (lease.Row, error) {
		looked := make(chan struct{})
		var reads atomic.Int64
		f.set(func() {
			f.readLease = func() {
				if reads.Add(1) == 3 { // it has seen twice that the first attempt has not ended
					close(looked)
				}
			}
		})
		go func() {
			got, err := other.Leases.Acquire(context.Background(), domaintest.As("u:acme:ann"), keyed("r", "a", "b"))
			if err != nil {
				t.Errorf("the repetition: %v", err)
			}
			again <- got
		}()
		select {
		case got := <-again:
			t.Errorf("the repetition has %+v before the lease has its full time", got)
			again <- got
		case <-looked:
		}
		return next()
	})
	first, err := h.Leases.Acquire(t.Context(), h.ann, keyed("r", "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if got := <-again; got == nil || got.Lease.ID != first.Lease.ID || got.Lease.Deadline != first.Lease.Deadline || got.Token != "" {
		t.Errorf("the repetition: %+v", got)
	}
}

// Acquire fails if the lease expires by a faster clock while it is extended.
func TestAcquire_ExpiredLeaseIsNotReturned(t *testing.T) {
	h, f := newFaulty(t)
	rt := &stepped{Real: sched.NewReal()}
	defer rt.Close()
	rt.by.Store(int64(halfAMinute))
	ahead := h.otherProcess(rt)
	f.onExtension(func(next func() (lease.Row, error)) (lease.Row, error) {
		f.set(func() { f.commitLease = nil })
		h.acquire(ahead.Leases, h.bob, hour, "a")
		return next()
	})
	err := h.tryAcquireFor(h.Leases, hour, "a")
	if fault.CodeOf(err) != fault.Unavailable || fault.ReasonOf(err) == fault.ReasonContention {
		t.Errorf("acquiring: %v", err)
	}
	h.wantAvailable(h.late.Leases, map[string]bool{"a": false})
}

// A lease has a reminder for the end of its full time before it is extended, and the reminder for its
// first deadline is removed.
func TestAcquire_PutsAReminderForItsFullTime(t *testing.T) {
	h, f := newFaulty(t)
	deadlines := func() (all []clock.Instant) {
		dues, err := h.Store.Journal.DueReminders(t.Context(), clock.Of(time.Now().Add(48*time.Hour)), 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range dues {
			all = append(all, d.At)
		}
		return all
	}
	var before []clock.Instant
	f.onExtension(func(next func() (lease.Row, error)) (lease.Row, error) {
		before = deadlines()
		return next()
	})
	a := h.acquire(h.Leases, h.ann, hour, "a")
	first, last := a.Lease.CreatedAt.Add(halfAMinute+claim.RememberedFor), a.Lease.Deadline.Add(claim.RememberedFor)
	if len(before) != 2 || before[0] != first || before[1] != last {
		t.Errorf("the reminders are at %v, the deadline is %d", before, a.Lease.Deadline)
	}
	h.runDue(h.late)
	if after := deadlines(); len(after) != 1 || after[0] != last {
		t.Errorf("after the first one was done the reminders are at %v", after)
	}
	h.wantAvailable(h.late.Leases, map[string]bool{"a": false})
	h.runDue(h.After(time.Hour + 2*time.Minute))
	h.wantNoClaims()
}

// The scrubber sweeps a lease as the reminder does: an extended lease is not changed.
func TestSweep_KeepsALeaseWithItsFullTime(t *testing.T) {
	h := newLeases(t, nil)
	a := h.acquire(h.Leases, h.ann, hour, "a")
	if err := h.late.Leases.Sweep(t.Context(), a.Lease.ID); err != nil {
		t.Fatal(err)
	}
	h.wantAvailable(h.late.Leases, map[string]bool{"a": false})
}

// A reminder for the deadline is kept if it is handled too early, as after a clock was set back.
func TestSweep_KeepsAReminderThatIsTooEarly(t *testing.T) {
	h := newLeases(t, nil)
	h.acquire(h.Leases, h.ann, nil, "a")
	dues, err := h.Store.Journal.DueReminders(t.Context(), clock.Of(time.Now().Add(time.Hour)), 10)
	if err != nil || len(dues) != 1 {
		t.Fatalf("the reminders: %+v, %v", dues, err)
	}
	if gone, err := h.After(0).Background().Expire(t.Context(), dues[0]); gone || err != nil {
		t.Errorf("it is done: %t, %v", gone, err)
	}
}
