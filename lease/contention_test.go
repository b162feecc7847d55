package lease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"carrel/core/claim"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/domain/domaintest"
	"carrel/lease"
	"carrel/principal"
)

// holders records which client holds each key, by the answers that the clients got.
type holders struct {
	sync.Mutex
	of map[string]int
}

// take records that a client holds keys. It returns a key that another client holds too.
func (o *holders) take(client int, keys []string) (collision string) {
	o.Lock()
	defer o.Unlock()
	for _, k := range keys {
		if other, held := o.of[k]; held {
			return fmt.Sprintf("%s is held by %d and %d", k, other, client)
		}
		o.of[k] = client
	}
	return ""
}

// release records that keys are about to be released.
func (o *holders) release(keys []string) {
	o.Lock()
	defer o.Unlock()
	for _, k := range keys {
		delete(o.of, k)
	}
}

// 200 clients of two processes request some of 50 keys. Each gets its keys in the end, and no
// key ever has two holders.
func TestAcquire_200ClientsFor50KeysNeverShareAKey(t *testing.T) {
	const clients, keys = 200, 50
	h := newLeases(t, nil)
	rt := sched.NewReal()
	defer rt.Close()
	services := []*lease.Service{h.Leases, h.otherProcess(rt).Leases}
	held := &holders{of: map[string]int{}}
	var wins, refusals, contentions [clients]int
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			svc, rnd := services[n%2], rand.New(rand.NewPCG(1, uint64(n)))
			for wins[n] == 0 {
				var mine []string
				for _, k := range rnd.Perm(keys)[:1+rnd.IntN(4)] {
					mine = append(mine, fmt.Sprint("k", k))
				}
				v := &principal.Viewer{User: "u:acme:ann"}
				a, err := svc.Acquire(context.Background(), v, lease.Acquire{Documents: documents(mine...), WaitMs: atOnce, TTLMs: hour})
				switch fault.ReasonOf(err) {
				case fault.ReasonTaken:
					refusals[n]++
					if len(lease.CollidingKeys(err)) == 0 {
						t.Error("TAKEN names no key")
					}
					continue
				case fault.ReasonContention:
					contentions[n]++
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if c := held.take(n, mine); c != "" {
					t.Error(c)
				}
				wins[n]++
				held.release(mine)
				if _, err := svc.Cancel(context.Background(), end(a)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	sum := func(of [clients]int) (n int) {
		for _, v := range of {
			n += v
		}
		return n
	}
	if got := sum(wins); got != clients {
		t.Errorf("%d of %d clients got their keys", got, clients)
	}
	t.Logf("%d leases, %d refusals, %d contentions", sum(wins), sum(refusals), sum(contentions))
	free := map[string]bool{}
	for k := range keys {
		free[fmt.Sprint("k", k)] = true
	}
	h.wantAvailable(h.Leases, free)
	h.runDue(h.After(2 * time.Hour))
	h.wantNoClaims()
}

// At most one of many concurrent requests for the same keys succeeds. If none does, a single
// request afterwards succeeds.
func TestAcquire_OneOfManyGetsTheSameKeys(t *testing.T) {
	h := newLeases(t, nil)
	for round := range 10 {
		keys := []string{fmt.Sprint("a", round), fmt.Sprint("b", round), fmt.Sprint("c", round)}
		var mu sync.Mutex
		won := 0
		var all []func()
		for n := range 8 {
			mine := []string{keys[n%3], keys[(n+1)%3], keys[(n+2)%3]}
			all = append(all, func() {
				v := &principal.Viewer{User: "u:acme:ann"}
				_, err := h.Leases.Acquire(context.Background(), v, lease.Acquire{Documents: documents(mine...), WaitMs: atOnce, TTLMs: hour})
				if err == nil {
					mu.Lock()
					won++
					mu.Unlock()
				} else if r := fault.ReasonOf(err); r != fault.ReasonTaken && r != fault.ReasonContention {
					t.Error(err)
				}
			})
		}
		together(all...)
		if won == 0 {
			h.acquire(h.Leases, h.bob, hour, keys...)
		}
		if won > 1 {
			t.Errorf("%d clients got the same keys", won)
		}
		h.wantAvailable(h.Leases, map[string]bool{keys[0]: false, keys[1]: false, keys[2]: false})
	}
}

// A lease gets keys that nobody holds any more, even if old claims of them remain.
func TestAcquire_TakesKeysWithOldClaims(t *testing.T) {
	h := newLeases(t, nil)
	claims := claim.New(h.Store.Claims, h.Runtime, nil)
	for key, record := range map[string]string{
		"of no lease":         "l:00000000000000000000000000000000",
		"of one that is over": string(h.acquire(h.Leases, h.bob, nil, "x").Lease.ID),
		"of one without this": string(h.acquire(h.late.Leases, h.bob, domaintest.Ptr(1000), "y").Lease.ID),
	} {
		if err := claims.Take(t.Context(), claim.Leased("acme", key), record, 0); err != nil {
			t.Fatal(err)
		}
	}
	h.acquire(h.nextDay.Leases, h.ann, hour, "of no lease", "of one that is over", "of one without this", "x", "y")
}
