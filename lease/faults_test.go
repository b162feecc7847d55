package lease_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/claim"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/lease"
)

// Two interfaces with the name Store, for a type that embeds both.
type (
	claimStore = claim.Store
	leaseStore = lease.Store
)

// faulty is a store whose calls a test can replace. A nil function calls the store.
type faulty struct {
	claimStore
	leaseStore
	mu          sync.Mutex
	commitLease func(r lease.Row, next func() (lease.Row, error)) (lease.Row, error)
	putClaim    func(c claim.Claim, next func() (claim.Claim, error)) (claim.Claim, error)
	dropClaim   func() error
	readLease   func() // called before each read of a lease
}

func (f *faulty) ReadRow(ctx context.Context, id lease.ID) (lease.Row, error) {
	f.mu.Lock()
	do := f.readLease
	f.mu.Unlock()
	if do != nil {
		do()
	}
	return f.leaseStore.ReadRow(ctx, id)
}

func (f *faulty) CommitRow(ctx context.Context, r lease.Row) (lease.Row, error) {
	f.mu.Lock()
	do := f.commitLease
	f.mu.Unlock()
	next := func() (lease.Row, error) { return f.leaseStore.CommitRow(ctx, r) }
	if do == nil {
		return next()
	}
	return do(r, next)
}

func (f *faulty) PutClaim(ctx context.Context, c claim.Claim, over *claim.Token) (claim.Claim, error) {
	f.mu.Lock()
	do := f.putClaim
	f.mu.Unlock()
	next := func() (claim.Claim, error) { return f.claimStore.PutClaim(ctx, c, over) }
	if do == nil {
		return next()
	}
	return do(c, next)
}

func (f *faulty) DropClaim(ctx context.Context, k claim.Key, record string, token *claim.Token) error {
	f.mu.Lock()
	do := f.dropClaim
	f.mu.Unlock()
	if do != nil {
		if err := do(); err != nil {
			return err
		}
	}
	return f.claimStore.DropClaim(ctx, k, record, token)
}

// set changes the functions.
func (f *faulty) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func newFaulty(t *testing.T) (leases, *faulty) {
	f := &faulty{}
	h := newLeases(t, func(s *domain.Store) { f.claimStore, f.leaseStore, s.Claims, s.Leases = s.Claims, s.Leases, f, f })
	return h, f
}

var errUnknown = fault.Uncertain(errors.New("the node was lost"))

// tryAcquire acquires keys for ann.
func (h leases) tryAcquire(svc *lease.Service, keys ...string) error {
	_, err := svc.Acquire(h.T.Context(), h.ann, lease.Acquire{Documents: documents(keys...), WaitMs: atOnce})
	return err
}

// If the store does not take a key, the whole lease fails, and the other keys are free when
// the error is returned.
func TestAcquire_FailsIfAKeyIsNotStored(t *testing.T) {
	h, f := newFaulty(t)
	f.set(func() {
		f.putClaim = func(c claim.Claim, next func() (claim.Claim, error)) (claim.Claim, error) {
			if c.Name == "b" {
				return claim.Claim{}, domaintest.ErrDown
			}
			return next()
		}
	})
	if err := h.tryAcquire(h.Leases, "a", "b", "c"); !errors.Is(err, domaintest.ErrDown) {
		t.Fatalf("acquiring: %v", err)
	}
	h.wantAvailable(h.Leases, map[string]bool{"a": true, "b": true, "c": true})
	h.runDue(h.late)
	h.wantNoClaims()
}

// If the store fails while a refused lease is ended, the error still is that keys are taken.
// The lease then lasts until its deadline, and nobody has its token.
func TestAcquire_ReturnsTheCollisionIfTheStoreFailsAfterIt(t *testing.T) {
	h, f := newFaulty(t)
	h.acquire(h.Leases, h.bob, hour, "b")
	f.set(func() {
		f.commitLease = func(r lease.Row, next func() (lease.Row, error)) (lease.Row, error) {
			if r.Seq > 1 {
				return lease.Row{}, domaintest.ErrDown
			}
			return next()
		}
		f.dropClaim = func() error { return domaintest.ErrDown }
	})
	err := h.tryAcquire(h.Leases, "a", "b")
	domaintest.WantFaults(t, err, "TAKEN documents")
	if got := lease.CollidingKeys(err); !slices.Equal(got, []string{"b"}) {
		t.Errorf("the colliding keys are %q", got)
	}
	h.wantAvailable(h.Leases, map[string]bool{"a": false, "b": false})
	f.set(func() { f.commitLease, f.dropClaim = nil, nil })
	h.wantAvailable(h.late.Leases, map[string]bool{"a": true, "b": false})
	h.runDue(h.late)
	if err := h.tryAcquire(h.late.Leases, "a"); err != nil {
		t.Error(err)
	}
}

// If the store fails once while a refused lease is ended, the write is retried: the keys are
// free when the error is returned.
func TestAcquire_EndsARefusedLeaseAlthoughTheStoreFailsOnce(t *testing.T) {
	h, f := newFaulty(t)
	h.acquire(h.Leases, h.bob, hour, "b")
	failures := 0
	f.set(func() {
		f.commitLease = func(r lease.Row, next func() (lease.Row, error)) (lease.Row, error) {
			if r.Seq > 1 && failures == 0 {
				failures++
				return lease.Row{}, domaintest.ErrDown
			}
			return next()
		}
	})
	domaintest.WantFaults(t, h.tryAcquire(h.Leases, "a", "b"), "TAKEN documents")
	if failures != 1 {
		t.Errorf("the store failed %d times", failures)
	}
	h.wantAvailable(h.Leases, map[string]bool{"a": true, "b": false})
}

// The claims of a cancelled lease are removed when it is swept. A sweep that fails is repeated.
func TestSweep_RemovesClaims(t *testing.T) {
	h, f := newFaulty(t)
	a := h.acquire(h.Leases, h.ann, nil, "a", "b")
	f.set(func() { f.dropClaim = func() error { return domaintest.ErrDown } })
	if _, err := h.Leases.Cancel(t.Context(), end(a)); err != nil {
		t.Fatal(err)
	}
	h.wantAvailable(h.Leases, map[string]bool{"a": true, "b": true})
	if err := h.late.Leases.Sweep(t.Context(), a.Lease.ID); !errors.Is(err, domaintest.ErrDown) {
		t.Errorf("sweeping: %v", err)
	}
	f.set(func() { f.dropClaim = nil })
	if all, err := h.Store.Claims.ScanClaims(t.Context(), claim.Key{Space: "key"}, 10); err != nil || len(all) != 2 {
		t.Fatalf("claims: %v, %v", all, err)
	}
	h.runDue(h.late)
	h.wantNoClaims()
}

// Each unknown outcome of a write is resolved, whether the write was applied or not.
func TestLease_UnknownOutcomesAreResolved(t *testing.T) {
	for _, applied := range []bool{true, false} {
		for _, seq := range []int64{1, 2} {
			h, f := newFaulty(t)
			lost := 2
			f.set(func() {
				f.commitLease = func(r lease.Row, next func() (lease.Row, error)) (lease.Row, error) {
					if r.Seq == seq && lost > 0 {
						lost--
						if applied {
							if _, err := next(); err != nil {
								return lease.Row{}, err
							}
						}
						return lease.Row{}, errUnknown
					}
					return next()
				}
			})
			a := h.acquire(h.Leases, h.ann, nil, "a")
			l, err := h.Leases.Confirm(t.Context(), end(a))
			if err != nil || l.State != lease.Confirmed {
				t.Errorf("applied %t, state %d: %+v, %v", applied, seq, l, err)
			}
			if lost != 0 {
				t.Errorf("applied %t, state %d: nothing was lost", applied, seq)
			}
			h.wantAvailable(h.nextDay.Leases, map[string]bool{"a": false})
		}
	}
}

// A confirm whose outcome is unknown, and that lost against a cancel, fails with CANCELLED.
func TestConfirm_UnknownOutcomeAfterACancelIsCancelled(t *testing.T) {
	h, f := newFaulty(t)
	a := h.acquire(h.Leases, h.ann, nil, "a")
	rt := sched.NewReal()
	defer rt.Close()
	other := h.otherProcess(rt)
	first := true
	f.set(func() {
		f.commitLease = func(_ lease.Row, next func() (lease.Row, error)) (lease.Row, error) {
			if !first {
				return next()
			}
			first = false
			if _, err := other.Leases.Cancel(context.Background(), end(a)); err != nil {
				return lease.Row{}, err
			}
			return lease.Row{}, errUnknown
		}
	})
	_, err := h.Leases.Confirm(t.Context(), end(a))
	domaintest.WantFaults(t, err, "CANCELLED")
	h.wantAvailable(h.Leases, map[string]bool{"a": true})
}

// stepped is the real runtime with a clock that a test moves forward.
type stepped struct {
	*sched.Real
	by atomic.Int64
}

func (c *stepped) Now() time.Time { return c.Real.Now().Add(time.Duration(c.by.Load())) }

// hasty is the real runtime, except that pauses take no time: its clocks move forward instead.
type hasty struct{ stepped }

func newHasty() *hasty { return &hasty{stepped{Real: sched.NewReal()}} }

func (c *hasty) Elapsed() time.Duration { return c.Real.Elapsed() + time.Duration(c.by.Load()) }

func (c *hasty) After(ctx context.Context, d time.Duration) error {
	c.by.Add(int64(d))
	return ctx.Err()
}

func (c *hasty) Wait(ctx context.Context, l sched.Latch, d time.Duration) (bool, error) {
	if d > 0 && !l.IsOpen() {
		return false, c.After(ctx, d)
	}
	return c.Real.Wait(ctx, l, d)
}

// otherProcess returns all Services of another process on the same store.
func (h leases) otherProcess(rt sched.Runtime) *domain.Services {
	return domaintest.Open(h.T, domain.Config{Store: h.Store, Runtime: rt, Journal: h.Journal, Names: &domaintest.CountingNames{}})
}

// Acquire fails if the claims took longer than the lease lasts.
func TestAcquire_FailsIfItExpiresBeforeItHasTheKeys(t *testing.T) {
	h, f := newFaulty(t)
	rt := &stepped{Real: sched.NewReal()}
	defer rt.Close()
	slow := h.otherProcess(rt)
	f.set(func() {
		f.putClaim = func(c claim.Claim, next func() (claim.Claim, error)) (claim.Claim, error) {
			if c.Name == "slow" {
				rt.by.Store(int64(lease.DefaultTTL))
			}
			return next()
		}
	})
	err := h.tryAcquire(slow.Leases, "slow", "a")
	if fault.CodeOf(err) != fault.Unavailable {
		t.Fatalf("acquiring: %v", err)
	}
	h.wantAvailable(h.Leases, map[string]bool{"slow": true, "a": true})
}

// The token is neither stored nor part of any error.
func TestToken_IsNotStored(t *testing.T) {
	h, f := newFaulty(t)
	var rows []lease.Row
	f.set(func() {
		f.commitLease = func(r lease.Row, next func() (lease.Row, error)) (lease.Row, error) {
			if strings.HasPrefix(string(r.ID), "l:") { // not the list of ann's leases
				rows = append(rows, r)
			}
			return next()
		}
	})
	a := h.acquire(h.Leases, h.ann, nil, "a")
	if _, err := h.Leases.Confirm(t.Context(), end(a)); err != nil {
		t.Fatal(err)
	}
	_, again := h.Leases.Confirm(t.Context(), end(a))
	if again == nil || strings.Contains(again.Error(), a.Token) {
		t.Errorf("the error is %v", again)
	}
	for _, r := range rows {
		if strings.Contains(string(r.Data), a.Token) {
			t.Errorf("state %d contains the token", r.Seq)
		}
	}
	if len(rows) != 2 {
		t.Errorf("%d states were stored, want 2", len(rows))
	}
}

// The values of an ended lease are not kept.
func TestLease_EndedLeaseHasNoValues(t *testing.T) {
	h := newLeases(t, nil)
	value := "v"
	a, err := h.Leases.Acquire(t.Context(), h.ann, lease.Acquire{Documents: []lease.Document{{Key: "a", Value: &value}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := h.late.Leases.Lease(t.Context(), string(a.Lease.ID), a.Token)
	if err != nil || l.State != lease.Expired || l.Documents[0].Value != nil || l.Documents[0].Key != "a" {
		t.Errorf("the lease is %+v, %v", l, err)
	}
}
