package lease_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/lease"
	"carrel/principal"
)

// limited returns Services of another process that allow three keys for each user.
func (h leases) limited(rt sched.Runtime) *domain.Services {
	return domaintest.Open(h.T, domain.Config{Store: h.Store, Runtime: rt, Journal: h.Journal, Names: &domaintest.CountingNames{},
		ConfirmedKeys: 3})
}

// confirm acquires and confirms keys for a viewer, and returns the lease and the error of the confirmation.
func (h leases) confirm(svc *lease.Service, v *principal.Viewer, keys ...string) (*lease.Acquired, error) {
	h.T.Helper()
	a := h.acquire(svc, v, nil, keys...)
	_, err := svc.Confirm(h.T.Context(), end(a))
	return a, err
}

// The keys of a tenant are not those of another one.
func TestAcquire_KeysBelongToTheTenant(t *testing.T) {
	h := newLeases(t, nil)
	h.User("u:other:eve", principal.Public)
	eve := domaintest.Eve()
	if _, err := h.confirm(h.Leases, h.ann, "a"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		v    *principal.Viewer
		want bool
	}{{h.bob, false}, {eve, true}} {
		if free, err := h.Leases.KeyAvailable(t.Context(), c.v, "a"); err != nil || free != c.want {
			t.Errorf("the key is available to %s: %t, %v", c.v.User, free, err)
		}
	}
	if _, err := h.Leases.KeyAvailable(t.Context(), &principal.Viewer{}, "a"); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("an anonymous caller: %v", err)
	}
	if _, err := h.confirm(h.Leases, eve, "a"); err != nil {
		t.Errorf("a user of another tenant: %v", err)
	}
	domaintest.WantFaults(t, h.tryAcquireFor(h.Leases, hour, "a"), "TAKEN documents")
}

// A user holds at most as many keys as the limit says, whether they are confirmed or not. A lease that has
// ended does not count: from its cancellation on, or from its deadline on if nothing has ended it yet.
func TestAcquire_LimitsTheKeysOfAUser(t *testing.T) {
	h := newLeases(t, nil)
	svc := h.limited(h.Runtime).Leases
	refused := func(key ...string) {
		t.Helper()
		_, err := svc.Acquire(t.Context(), h.ann, lease.Acquire{Documents: documents(key...), WaitMs: atOnce, TTLMs: hour})
		domaintest.WantFaults(t, err, "TOO_MANY documents")
	}
	two := h.acquire(svc, h.ann, hour, "a", "b")
	refused("c", "d")
	h.wantAvailable(svc, map[string]bool{"a": false, "c": true, "d": true})
	one := h.acquire(svc, h.ann, hour, "e")
	refused("i")
	if _, err := h.confirm(svc, h.bob, "f", "g", "h"); err != nil {
		t.Errorf("another user: %v", err)
	}
	for _, a := range []*lease.Acquired{two, one} {
		if _, err := svc.Confirm(t.Context(), end(a)); err != nil {
			t.Errorf("confirming what was acquired: %v", err)
		}
	}
	refused("i")
	if _, err := svc.CancelAs(t.Context(), domaintest.Root(), lease.End{ID: string(two.Lease.ID)}); err != nil {
		t.Fatal(err)
	}
	if _, err := svc.Cancel(t.Context(), end(h.acquire(svc, h.ann, hour, "i", "j"))); err != nil {
		t.Fatal(err)
	}
	h.acquire(svc, h.ann, nil, "k", "l")
	refused("m")
	h.acquire(h.limited(domaintest.Later{Real: h.Runtime, By: time.Minute}).Leases, h.ann, nil, "m", "n")
}

// A confirmation that fails after the lease was put on the list takes it off again.
func TestConfirm_FailureLeavesNothingOnTheList(t *testing.T) {
	h, f := newFaulty(t)
	rt := sched.NewReal()
	defer rt.Close()
	svc, other := h.limited(rt).Leases, h.otherProcess(sched.NewReal())
	for n := range 3 {
		a := h.acquire(svc, h.ann, nil, fmt.Sprint("k", n), fmt.Sprint("l", n))
		first := true
		f.onCommits(2, func(next func() (lease.Row, error)) (lease.Row, error) {
			if first {
				first = false
				f.set(func() { f.commitLease = nil })
				if _, err := other.Leases.Cancel(context.Background(), end(a)); err != nil {
					t.Error(err)
				}
			}
			return next()
		})
		_, err := svc.Confirm(t.Context(), end(a))
		domaintest.WantFaults(t, err, "CANCELLED")
	}
	if _, err := h.confirm(svc, h.ann, "a", "b", "c"); err != nil {
		t.Errorf("after three failures: %v", err)
	}
}

// A confirmation that failed is tried again, and its keys count once.
func TestConfirm_TriedAgainCountsOnce(t *testing.T) {
	h, f := newFaulty(t)
	svc := h.limited(h.Runtime).Leases
	a := h.acquire(svc, h.ann, nil, "a", "b")
	f.onCommits(2, func(func() (lease.Row, error)) (lease.Row, error) { return lease.Row{}, domaintest.ErrDown })
	if _, err := svc.Confirm(t.Context(), end(a)); err == nil {
		t.Fatal("the confirmation did not fail")
	}
	f.set(func() { f.commitLease = nil })
	if _, err := svc.Confirm(t.Context(), end(a)); err != nil {
		t.Errorf("the second confirmation: %v", err)
	}
	if _, err := h.confirm(svc, h.ann, "c"); err != nil {
		t.Errorf("the last key: %v", err)
	}
}

// Requests at the same time do not exceed the limit, at several gateways.
func TestAcquire_ConcurrentOnesKeepTheLimit(t *testing.T) {
	h := newLeases(t, nil)
	rt := sched.NewReal()
	defer rt.Close()
	services := []*lease.Service{h.limited(h.Runtime).Leases, h.limited(rt).Leases}
	var all []func()
	var mu sync.Mutex
	acquired := 0
	for n := range 8 {
		all = append(all, func() {
			in := lease.Acquire{Documents: documents(fmt.Sprint("k", n)), WaitMs: atOnce}
			_, err := services[n%2].Acquire(context.Background(), h.ann, in)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				acquired++
			}
		})
	}
	together(all...)
	if acquired != 3 {
		t.Errorf("%d keys are leased, want 3", acquired)
	}
}

// Administrators of the tenant of a lease find it by its keys, and cancel it without its token.
func TestCancelAs_AdministratorsNeedNoToken(t *testing.T) {
	for _, confirmed := range []bool{false, true} {
		h := newLeases(t, nil)
		a := h.acquire(h.Leases, h.ann, hour, "a", "b")
		if confirmed {
			if _, err := h.Leases.Confirm(t.Context(), end(a)); err != nil {
				t.Fatal(err)
			}
		}
		without := lease.End{ID: string(a.Lease.ID)}
		for _, c := range []struct {
			v  *principal.Viewer
			in lease.End
		}{
			{h.ann, without}, {&principal.Viewer{}, without}, {domaintest.OtherRoot(), without},
			{domaintest.Root(), lease.End{ID: without.ID, Token: "another"}},
		} {
			_, err := h.Leases.CancelAs(t.Context(), c.v, c.in)
			domaintest.WantFaults(t, err, "FORBIDDEN token")
		}
		h.wantAvailable(h.Leases, map[string]bool{"a": false, "b": false})
		for _, v := range []*principal.Viewer{h.ann, {}, domaintest.OtherRoot()} {
			tenant := "acme"
			if l, err := h.Leases.KeyHolder(t.Context(), v, "b", &tenant); fault.CodeOf(err) != fault.Forbidden {
				t.Errorf("%s learns the holder of a key: %+v, %v", v.User, l, err)
			}
		}
		for _, v := range []*principal.Viewer{domaintest.Root(), domaintest.Globe()} {
			tenant := "acme"
			if l, err := h.Leases.KeyHolder(t.Context(), v, "b", &tenant); err != nil || l == nil || l.ID != a.Lease.ID {
				t.Errorf("the holder of the key for %s is %+v, %v", v.User, l, err)
			}
		}
		if l, err := h.Leases.KeyHolder(t.Context(), domaintest.Root(), "c", nil); err != nil || l != nil {
			t.Errorf("the holder of a free key is %+v, %v", l, err)
		}
		l, err := h.Leases.CancelAs(t.Context(), domaintest.Root(), without)
		if err != nil || l.State != lease.Cancelled {
			t.Fatalf("an administrator: %+v, %v", l, err)
		}
		h.wantAvailable(h.Leases, map[string]bool{"a": true, "b": true})
		_, err = h.Leases.CancelAs(t.Context(), domaintest.Root(), without)
		domaintest.WantFaults(t, err, "CANCELLED")
		h.acquire(h.Leases, h.bob, hour, "b")
		h.runDue(h.nextDay)
		if l, err := h.Leases.Lease(t.Context(), without.ID, a.Token); l != nil || err != nil {
			t.Errorf("a day later: %+v, %v", l, err)
		}
		h.wantNoClaims()
	}
}

// The deletion of a user ends its leases: those that are pending at once, those that are confirmed with
// everything else of the user. None can be confirmed afterwards.
func TestDeleteUser_EndsItsLeases(t *testing.T) {
	h := newLeases(t, nil)
	value := "a value"
	kept, err := h.Leases.Acquire(t.Context(), h.ann, lease.Acquire{Documents: []lease.Document{{Key: "a", Value: &value}}})
	if err == nil {
		_, err = h.Leases.Confirm(t.Context(), end(kept))
	}
	if err != nil {
		t.Fatal(err)
	}
	pending, late := h.acquire(h.Leases, h.ann, hour, "b"), h.acquire(h.Leases, h.ann, hour, "c")
	bobs := h.acquire(h.Leases, h.bob, hour, "d")
	if d, err := h.People.DeleteUser(t.Context(), domaintest.Root(), principal.DeleteUser{ID: "u:acme:ann"}); err != nil || !d.Complete {
		t.Fatalf("deleting: %+v, %v", d, err)
	}
	h.wantAvailable(h.Leases, map[string]bool{"a": true, "b": true, "c": true, "d": false})
	_, err = h.Leases.Confirm(t.Context(), end(late))
	domaintest.WantFaults(t, err, "CANCELLED")
	if l, err := h.Leases.Lease(t.Context(), string(pending.Lease.ID), pending.Token); err != nil || l.State != lease.Cancelled {
		t.Errorf("the pending lease: %+v, %v", l, err)
	}
	h.acquire(h.Leases, h.bob, hour, "a", "b", "c")
	_, err = h.Leases.Confirm(t.Context(), end(pending))
	domaintest.WantFaults(t, err, "CANCELLED")
	if l, err := h.Leases.Lease(t.Context(), string(kept.Lease.ID), kept.Token); err != nil || l.State != lease.Cancelled ||
		l.Documents[0].Value != nil {
		t.Errorf("the confirmed lease: %+v, %v", l, err)
	}
	if _, err := h.Leases.Confirm(t.Context(), end(bobs)); err != nil {
		t.Errorf("the lease of another user: %v", err)
	}
}

// The deletion goes on after a failure of the store, and finds what is left.
func TestDeleteUser_GoesOnEndingLeases(t *testing.T) {
	h, f := newFaulty(t)
	var ids []string
	for n := range 3 {
		a, err := h.confirm(h.Leases, h.ann, fmt.Sprint("k", n))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, string(a.Lease.ID))
	}
	fails := 1
	f.set(func() {
		f.commitLease = func(r lease.Row, next func() (lease.Row, error)) (lease.Row, error) {
			if slices.Contains(ids, string(r.ID)) && fails > 0 {
				fails--
				return lease.Row{}, domaintest.ErrDown
			}
			return next()
		}
	})
	if d, err := h.People.DeleteUser(t.Context(), domaintest.Root(), principal.DeleteUser{ID: "u:acme:ann"}); err != nil || d.Complete {
		t.Fatalf("deleting: %+v, %v", d, err)
	}
	if err := h.People.Upkeep.RemoveDeleted(t.Context(), "u:acme:ann"); err != nil {
		t.Fatal(err)
	}
	h.wantAvailable(h.Leases, map[string]bool{"k0": true, "k1": true, "k2": true})
}

// While a deletion goes on, the leases of the user are CANCELLED when read, and none can be confirmed.
func TestDeleteUser_ItsLeasesEndAtOnce(t *testing.T) {
	h, f := newFaulty(t)
	kept, err := h.confirm(h.Leases, h.ann, "a")
	if err != nil {
		t.Fatal(err)
	}
	read, late := h.acquire(h.Leases, h.ann, hour, "b"), h.acquire(h.Leases, h.ann, hour, "c")
	f.set(func() { // the list of the user cannot be closed
		f.commitLease = func(r lease.Row, next func() (lease.Row, error)) (lease.Row, error) {
			if strings.HasPrefix(string(r.ID), "h:") {
				return lease.Row{}, domaintest.ErrDown
			}
			return next()
		}
	})
	if d, err := h.People.DeleteUser(t.Context(), domaintest.Root(), principal.DeleteUser{ID: "u:acme:ann"}); err != nil || d.Complete {
		t.Fatalf("deleting: %+v, %v", d, err)
	}
	for name, a := range map[string]*lease.Acquired{"pending": read, "confirmed": kept} {
		if l, err := h.Leases.Lease(t.Context(), string(a.Lease.ID), a.Token); err != nil || l.State != lease.Cancelled ||
			l.Documents[0].Value != nil {
			t.Errorf("the %s lease: %+v, %v", name, l, err)
		}
	}
	f.set(func() { f.commitLease = nil })
	_, err = h.Leases.Confirm(t.Context(), end(late))
	domaintest.WantFaults(t, err, "CANCELLED")
}
