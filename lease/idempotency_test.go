package lease_test

import (
	"slices"
	"testing"

	"carrel/core/claim"
	"carrel/core/fault"
	"carrel/domain/domaintest"
	"carrel/lease"
	"carrel/principal"
)

// keyed returns the input of Acquire with an idempotency key.
func keyed(request string, keys ...string) lease.Acquire {
	return lease.Acquire{Documents: documents(keys...), WaitMs: atOnce, TTLMs: hour, IdempotencyKey: &request}
}

func TestAcquire_RepetitionReturnsTheSameLeaseWithoutItsToken(t *testing.T) {
	h := newLeases(t, nil)
	ctx := t.Context()
	first, err := h.Leases.Acquire(ctx, h.ann, keyed("r", "a", "b"))
	if err != nil || first.Token == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	wantAgain := func(what string, want lease.State) {
		t.Helper()
		again, err := h.Leases.Acquire(ctx, h.ann, keyed("r", "a", "b"))
		if err != nil || again.Lease.ID != first.Lease.ID || again.Token != "" || again.Lease.State != want {
			t.Fatalf("%s: %+v, %v", what, again, err)
		}
	}
	wantAgain("pending", lease.Pending)
	_, err = h.Leases.Acquire(ctx, h.ann, keyed("r", "a"))
	domaintest.WantFaults(t, err, "IDEMPOTENCY_MISMATCH")
	_, err = h.Leases.Acquire(ctx, h.bob, keyed("r", "a"))
	domaintest.WantFaults(t, err, "TAKEN documents")
	if _, err := h.Leases.Confirm(ctx, end(first)); err != nil {
		t.Fatal(err)
	}
	wantAgain("confirmed", lease.Confirmed)
	// After a day the idempotency key is free again, but the keys of the lease are not.
	_, err = h.nextDay.Leases.Acquire(ctx, h.ann, keyed("r", "a"))
	domaintest.WantFaults(t, err, "TAKEN documents")
}

// A refusal is not kept: repeating the request creates another lease, and so does another input
// with the same idempotency key.
func TestAcquire_RefusalsAreNotKept(t *testing.T) {
	for _, keys := range [][]string{{"a", "b"}, {"b", "c"}} {
		h := newLeases(t, nil)
		ctx := t.Context()
		rival := h.acquire(h.Leases, h.bob, nil, "a")
		_, err := h.Leases.Acquire(ctx, h.ann, keyed("r", "a", "b"))
		domaintest.WantFaults(t, err, "TAKEN documents")
		if _, err := h.Leases.Cancel(ctx, end(rival)); err != nil {
			t.Fatal(err)
		}
		got, err := h.Leases.Acquire(ctx, h.ann, keyed("r", keys...))
		if err != nil || got.Token == "" || got.Lease.State != lease.Pending {
			t.Fatalf("%q: %+v, %v", keys, got, err)
		}
		_, err = h.Leases.Acquire(ctx, h.ann, keyed("r", "x"))
		domaintest.WantFaults(t, err, "IDEMPOTENCY_MISMATCH")
	}
}

// The first attempt was interrupted before it had its keys. A repetition cannot distinguish
// that from an attempt that is still running, so it fails until the deadline.
func TestAcquire_RepetitionOfAnInterruptedAttemptFailsUntilTheDeadline(t *testing.T) {
	h := newLeases(t, nil)
	ctx := t.Context()
	first, err := h.Leases.Acquire(ctx, h.ann, keyed("r", "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Store.Claims.DropClaim(ctx, claim.Leased("acme", "b"), string(first.Lease.ID), nil); err != nil {
		t.Fatal(err)
	}
	rt := newHasty()
	defer rt.Close()
	_, err = h.otherProcess(rt).Leases.Acquire(ctx, h.ann, keyed("r", "a", "b"))
	if fault.CodeOf(err) != fault.Unavailable || fault.ListOf(err)[0].RetryAfter == 0 {
		t.Fatalf("the repetition: %v", err)
	}
	again, err := h.nextDay.Leases.Acquire(ctx, h.ann, keyed("r2", "a", "b"))
	if err != nil || again.Token == "" {
		t.Fatalf("after the deadline: %+v, %v", again, err)
	}
}

// Exactly one of two concurrent requests with the same idempotency key and different inputs
// creates a lease.
func TestAcquire_OneOfTwoInputsWithTheSameKeySucceeds(t *testing.T) {
	for range 20 {
		h := newLeases(t, nil)
		var errs [2]error
		var got [2]*lease.Acquired
		try := func(n int, key string) func() {
			return func() {
				v := &principal.Viewer{User: "u:acme:ann"}
				got[n], errs[n] = h.Leases.Acquire(h.T.Context(), v, keyed("r", key))
			}
		}
		together(try(0, "a"), try(1, "b"))
		made := 0
		for n := range got {
			if errs[n] == nil {
				made++
				continue
			}
			if r := fault.ReasonOf(errs[n]); !slices.Contains([]fault.Reason{fault.ReasonIdempotencyMismatch, fault.ReasonContention}, r) {
				t.Errorf("an attempt: %v", errs[n])
			}
		}
		if made != 1 {
			t.Errorf("%d leases were created: %v", made, errs)
		}
	}
}
