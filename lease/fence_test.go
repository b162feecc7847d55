package lease_test

import (
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/claim"
	"carrel/core/sched"
	"carrel/domain/domaintest"
	"carrel/lease"
)

// clocked is the real runtime with a time that a test sets.
type clocked struct {
	*sched.Real
	now atomic.Int64 // in microseconds
}

func (c *clocked) Now() time.Time { return time.UnixMicro(c.now.Load()) }

// A contender takes a key from a lease only after the lease has expired in exactly the state
// that the contender has read.
func TestFence_ExpiresOnlyTheStateThatWasRead(t *testing.T) {
	h := newLeases(t, nil)
	rt := &clocked{Real: h.Runtime}
	rt.now.Store(h.Runtime.Now().UnixMicro())
	svc := h.otherProcess(rt).Leases
	record := lease.Record(svc)
	key := claim.Leased("acme", "k")
	a := h.acquire(svc, domaintest.Ann(), domaintest.Ptr(5000), "k")
	id, deadline := string(a.Lease.ID), int64(a.Lease.Deadline)
	look := func(at int64, want claim.Status) claim.Look {
		t.Helper()
		rt.now.Store(at)
		got, err := record.Look(t.Context(), id, key)
		if err != nil || got.Status != want {
			t.Fatalf("%d µs after the deadline: %+v and %v, want status %d", at-deadline, got, err, want)
		}
		return got
	}
	fence := func(base int64, want bool) {
		t.Helper()
		if got, err := record.Fence(t.Context(), id, base); err != nil || got != want {
			t.Fatalf("Fence: %t and %v, want %t", got, err, want)
		}
	}
	look(deadline-1, claim.Held)
	idle := look(deadline, claim.Idle)
	fence(idle.Base-1, false) // not the state that was read
	fence(idle.Base+1, false)
	fence(idle.Base, true)
	look(deadline-1, claim.Ended)
	fence(idle.Base+1, false) // it has ended
	rt.now.Store(deadline - 1)
	b := h.acquire(svc, domaintest.Ann(), domaintest.Ptr(5000), "k")
	if _, err := svc.Confirm(t.Context(), end(b)); err != nil {
		t.Fatal(err)
	}
	id = string(b.Lease.ID)
	confirmed := look(int64(b.Lease.Deadline)+1, claim.Held)
	fence(confirmed.Base, false) // it is permanent
}

// A contender whose clock goes back between its reads takes a key only after the former lease has expired in
// the store. Otherwise a gateway with a slower clock could confirm that lease, and the key would have two owners.
func TestAcquire_ExpiresTheFormerLeaseIfTheClockGoesBack(t *testing.T) {
	h, f := newFaulty(t)
	slow, rt := &clocked{Real: h.Runtime}, &clocked{Real: h.Runtime}
	slow.now.Store(h.Runtime.Now().UnixMicro())
	owner, contender := h.otherProcess(slow).Leases, h.otherProcess(rt).Leases
	former := h.acquire(owner, domaintest.Ann(), domaintest.Ptr(5000), "k")
	deadline := int64(former.Lease.Deadline)
	rt.now.Store(deadline + 2)
	f.set(func() {
		f.putClaim = func(_ claim.Claim, next func() (claim.Claim, error)) (claim.Claim, error) {
			reads := int64(0)
			f.set(func() {
				f.readLease = func() { // by turns, the deadline has passed and has not
					rt.now.Store(deadline + 1 - 2*(reads%2))
					reads++
				}
			})
			return next()
		}
	})
	if err := h.tryAcquire(contender, "k"); err != nil {
		t.Fatal(err)
	}
	_, err := owner.Confirm(t.Context(), end(former))
	domaintest.WantFaults(t, err, "EXPIRED")
}

// The deadline is the first instant at which a lease can no longer be confirmed.
func TestConfirm_FailsAtTheDeadline(t *testing.T) {
	h := newLeases(t, nil)
	rt := &clocked{Real: h.Runtime}
	rt.now.Store(h.Runtime.Now().UnixMicro())
	svc := h.otherProcess(rt).Leases
	early, late := h.acquire(svc, domaintest.Ann(), domaintest.Ptr(5000), "a"), h.acquire(svc, domaintest.Ann(), domaintest.Ptr(5000), "b")
	rt.now.Store(int64(early.Lease.Deadline) - 1)
	if l, err := svc.Confirm(t.Context(), end(early)); err != nil || l.State != lease.Confirmed {
		t.Errorf("before the deadline: %+v, %v", l, err)
	}
	rt.now.Store(int64(late.Lease.Deadline))
	if _, err := svc.Confirm(t.Context(), end(late)); err == nil {
		t.Error("a lease is confirmed at its deadline")
	}
	if l, err := svc.Lease(t.Context(), string(late.Lease.ID), late.Token); err != nil || l.State != lease.Expired {
		t.Errorf("at the deadline: %+v, %v", l, err)
	}
}
