package lease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
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
	"carrel/principal"
)

// awaited acquires keys for bob, who waits for up to 10 s.
func awaited(svc *lease.Service, keys ...string) (*lease.Acquired, error) {
	in := lease.Acquire{Documents: documents(keys...), TTLMs: hour, WaitMs: domaintest.Ptr(10_000)}
	return svc.Acquire(context.Background(), domaintest.Bob(), in)
}

// A client that waits gets the keys when their holder gives them up, at any gateway.
func TestAcquire_WaitsForTakenKeys(t *testing.T) {
	h, f := newFaulty(t)
	rt := sched.NewReal()
	defer rt.Close()
	other := h.otherProcess(rt).Leases
	a := h.acquire(h.Leases, h.ann, hour, "a")
	refused := make(chan struct{})
	f.set(func() {
		f.commitLease = func(r lease.Row, next func() (lease.Row, error)) (lease.Row, error) {
			if r.ID != a.Lease.ID && r.Seq == 2 { // the first attempt of the client is refused
				f.set(func() { f.commitLease = nil })
				close(refused)
			}
			return next()
		}
	})
	go func() {
		<-refused
		if _, err := h.Leases.Cancel(context.Background(), end(a)); err != nil {
			t.Errorf("cancelling: %v", err)
		}
	}()
	if b, err := awaited(other, "a", "b"); err != nil || b.Token == "" || b.Lease.Deadline != b.Lease.CreatedAt.Add(time.Hour) {
		t.Errorf("the client that waits: %+v, %v", b, err)
	}
}

// A client waits for as long as it has said, and not at all for a key that is held permanently.
func TestAcquire_WaitEnds(t *testing.T) {
	for _, confirmed := range []bool{false, true} {
		h := newLeases(t, nil)
		a := h.acquire(h.Leases, h.ann, hour, "a")
		if confirmed {
			if _, err := h.Leases.Confirm(t.Context(), end(a)); err != nil {
				t.Fatal(err)
			}
		}
		rt := newHasty()
		svc, began := h.otherProcess(rt).Leases, rt.Elapsed()
		_, err := awaited(svc, "b", "a")
		took := rt.Elapsed() - began
		rt.Close()
		domaintest.WantFaults(t, err, "TAKEN documents")
		if got := lease.CollidingKeys(err); !slices.Equal(got, []string{"a"}) {
			t.Errorf("the colliding keys are %q", got)
		}
		// Its pauses end with its time. The last one may be the shortest one.
		paused := time.Duration(rt.by.Load())
		if confirmed && paused > time.Second || !confirmed && (took < 10*time.Second || paused > 10*time.Second+20*time.Millisecond) {
			t.Errorf("confirmed %t: the client has paused for %v of %v", confirmed, paused, took)
		}
	}
}

func TestAcquire_RefusesMalformedWaits(t *testing.T) {
	h := newLeases(t, nil)
	for ms, valid := range map[int]bool{-1: false, 0: true, 10_000: true, 10_001: false} {
		_, err := h.Leases.Acquire(t.Context(), domaintest.Ann(), lease.Acquire{Documents: documents(fmt.Sprint(ms)), WaitMs: &ms})
		if valid {
			domaintest.WantFaults(t, err)
		} else {
			domaintest.WantFaults(t, err, "INVALID waitMs")
		}
	}
}

// remote is a store whose writes of leases and claims take a millisecond, so that clients meet.
type remote struct {
	claimStore
	leaseStore
	rt sched.Runtime
}

func (s remote) CommitRow(ctx context.Context, r lease.Row) (lease.Row, error) {
	if err := s.rt.After(ctx, time.Millisecond); err != nil {
		return lease.Row{}, err
	}
	return s.leaseStore.CommitRow(ctx, r)
}

func (s remote) PutClaim(ctx context.Context, c claim.Claim, over *claim.Token) (claim.Claim, error) {
	if err := s.rt.After(ctx, time.Millisecond); err != nil {
		return claim.Claim{}, err
	}
	return s.claimStore.PutClaim(ctx, c, over)
}

// Of 240 attempts of 20 clients of one gateway that want three of twelve keys each, and do not wait for
// keys that are held, at least one in four gets its keys.
func TestAcquire_ManyClientsForFewKeys(t *testing.T) {
	rt := sched.NewReal()
	defer rt.Close()
	h := newLeases(t, func(s *domain.Store) {
		s.Claims, s.Leases = remote{s.Claims, s.Leases, rt}, remote{s.Claims, s.Leases, rt}
	})
	var won atomic.Int64
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(n)))
			for range 12 {
				var keys []string
				for _, k := range rnd.Perm(12)[:3] {
					keys = append(keys, fmt.Sprint("k", k))
				}
				v := &principal.Viewer{User: "u:acme:ann"}
				a, err := h.Leases.Acquire(context.Background(), v, lease.Acquire{Documents: documents(keys...), TTLMs: hour, WaitMs: atOnce})
				if err != nil {
					if r := fault.ReasonOf(err); r != fault.ReasonTaken && r != fault.ReasonContention {
						t.Error(err)
					}
					continue
				}
				won.Add(1)
				if _, err := h.Leases.Cancel(context.Background(), end(a)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d of 240 attempts got their keys", won.Load())
	if won.Load() < 60 {
		t.Errorf("%d of 240 attempts got their keys, want 60", won.Load())
	}
}

// Eight repetitions of one request at the same time, at two gateways, all get the first lease.
func TestAcquire_ConcurrentRepetitionsGetTheFirstLease(t *testing.T) {
	rt := sched.NewReal()
	defer rt.Close()
	h := newLeases(t, func(s *domain.Store) {
		s.Claims, s.Leases = remote{s.Claims, s.Leases, rt}, remote{s.Claims, s.Leases, rt}
	})
	services := []*lease.Service{h.Leases, h.otherProcess(rt).Leases}
	for round := range 5 {
		var mu sync.Mutex
		got := map[lease.ID]int{}
		tokens := 0
		var all []func()
		for n := range 8 {
			all = append(all, func() {
				a, err := services[n%2].Acquire(context.Background(), domaintest.Ann(),
					keyed(fmt.Sprint("r", round), fmt.Sprint("a", round), fmt.Sprint("b", round)))
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				if got[a.Lease.ID]++; a.Token != "" {
					tokens++
				}
			})
		}
		together(all...)
		if len(got) != 1 || tokens != 1 {
			t.Errorf("the leases %v, with %d tokens", got, tokens)
		}
	}
}
