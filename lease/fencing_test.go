package lease_test

import (
	"testing"
	"time"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/sched"
	"carrel/domain/domaintest"
	"carrel/lease"
)

// Each owner of a key has a larger fencing number than all owners before it, whatever the clocks of the
// gateways show, and however the owners before it have ended.
func TestFencingNumber_GrowsWithEachOwner(t *testing.T) {
	h := newLeases(t, nil)
	now := h.Runtime.Now()
	at := func(skew time.Duration) *lease.Service {
		rt := &clocked{Real: sched.NewReal()}
		t.Cleanup(rt.Close)
		rt.now.Store(now.Add(skew).UnixMicro())
		return h.otherProcess(rt).Leases
	}
	fast, slow, late := at(5*time.Second), at(-5*time.Second), at(8*time.Minute)
	last := map[string]int64{}
	acquire := func(what string, svc *lease.Service, ttl int, keys ...string) *lease.Acquired {
		t.Helper()
		a := h.acquire(svc, domaintest.Ann(), &ttl, keys...)
		l, err := svc.Lease(t.Context(), string(a.Lease.ID), a.Token)
		if err != nil || l.Fence != a.Lease.Fence {
			t.Fatalf("%s: the lease was answered with %d, and has %+v, %v", what, a.Lease.Fence, l, err)
		}
		for _, k := range keys {
			if l.Fence <= last[k] {
				t.Errorf("%s: %q has the number %d, after %d", what, k, l.Fence, last[k])
			}
			last[k] = l.Fence
		}
		return a
	}
	cancel := func(svc *lease.Service, a *lease.Acquired) {
		t.Helper()
		if _, err := svc.CancelAs(t.Context(), domaintest.Root(), lease.End{ID: string(a.Lease.ID)}); err != nil {
			t.Fatal(err)
		}
	}
	cancel(fast, acquire("the first owner", fast, 5000, "a", "b"))
	// Each number is that of all keys of the lease, so it passes from a to c.
	cancel(slow, acquire("an owner with a slower clock", slow, 5000, "a", "c"))
	cancel(slow, acquire("an owner of a new key and then of an old one", slow, 5000, "n", "a"))
	cancel(slow, acquire("the next one", slow, 3_600_000, "c", "d"))
	cancel(slow, acquire("one with a long time", slow, 3_600_000, "d"))
	kept := acquire("a confirmed one", slow, 5000, "d", "a")
	if _, err := slow.Confirm(t.Context(), end(kept)); err != nil {
		t.Fatal(err)
	}
	cancel(slow, kept)
	acquire("after a confirmed one", slow, 1000, "d")
	acquire("after one has expired", fast, 1000, "d", "b")
	// An attempt that fails does not forget the number.
	busy := h.acquire(slow, domaintest.Ann(), hour, "e")
	_, err := slow.Acquire(t.Context(), domaintest.Ann(), lease.Acquire{Documents: documents("a", "e"), WaitMs: atOnce})
	domaintest.WantFaults(t, err, "TAKEN documents")
	cancel(slow, busy)
	attempt, err := h.Store.Claims.ReadClaim(t.Context(), claim.Leased("acme", "a"), true)
	if err != nil || attempt.Token.Number() <= last["a"] {
		t.Errorf("the attempt has left %+v, %v", attempt, err)
	}
	last["a"] = attempt.Token.Number()
	cancel(slow, acquire("after an attempt that has failed", slow, 5000, "a"))
	// Once the claims are gone, clocks have passed the numbers.
	h.runDue(h.After(2 * time.Hour))
	acquire("after the claims were removed", late, 5000, "a", "b", "c")
}

// The claims of an ended lease stay for a minute after its number, also if the scrubber finds them.
func TestFencingNumber_IsRememberedForAMinute(t *testing.T) {
	h := newLeases(t, nil)
	a := h.acquire(h.Leases, h.ann, domaintest.Ptr(1000), "a")
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{30 * time.Second, 1}, {58 * time.Second, 1}, {62 * time.Second, 0}} {
		svc := h.After(c.after)
		h.runDue(svc)
		if _, _, err := svc.Repair.ScrubAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		claims, err := h.Store.Claims.ScanClaims(t.Context(), claim.Key{Space: "key"}, 10)
		if err != nil || len(claims) != c.want {
			t.Errorf("%v after lease %d there are the claims %+v, %v", c.after, a.Lease.Fence, claims, err)
		}
	}
	if a.Lease.Fence < int64(clock.Of(time.Now().Add(-time.Hour))) {
		t.Errorf("the number is %d", a.Lease.Fence)
	}
}
