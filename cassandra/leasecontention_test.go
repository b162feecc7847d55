package cassandra

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"carrel/core/fault"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/lease"
	"carrel/principal"
)

// Twenty clients of two gateways that want three of twelve keys each: of 240 attempts at least one in four
// gets its keys, and nearly all do if they wait. The others are refused as TAKEN or for contention.
func TestLeases_ContentionLeavesWinners(t *testing.T) {
	const clients, attempts, keys, wanted = 20, 12, 12, 3
	store := open(t, options(t)).Store
	gateway := func() *domain.Services {
		rt := sched.NewReal()
		t.Cleanup(rt.Close)
		return domaintest.Open(t, domain.Config{Store: store, Runtime: rt, Journal: journal.New(t.Context(), store.Journal, rt, nil),
			Names: &domaintest.CountingNames{}, Remote: true})
	}
	gateways := []*domain.Services{gateway(), gateway()}
	ann := &principal.Viewer{User: "u:acme:ann"}
	_, err := gateways[0].People.CreateUser(t.Context(), ann, principal.CreateUser{Tenant: "acme", Name: "ann", DisplayName: "Ann",
		Email: "ann@example.com", Visibility: principal.Public})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ waitMs, want int }{{0, clients * attempts / 4}, {2000, clients * attempts * 3 / 4}} {
		var won atomic.Int64
		var all sync.WaitGroup
		for n := range clients {
			all.Go(func() {
				leases := gateways[n%len(gateways)].Leases
				random := rand.New(rand.NewPCG(1, uint64(n)))
				for range attempts {
					in := lease.Acquire{TTLMs: domaintest.Ptr(3_600_000), WaitMs: &c.waitMs}
					for _, k := range random.Perm(keys)[:wanted] {
						in.Documents = append(in.Documents, lease.Document{Key: fmt.Sprint("key", k)})
					}
					a, err := leases.Acquire(context.Background(), &principal.Viewer{User: "u:acme:ann"}, in)
					if reason := fault.ReasonOf(err); err != nil && reason != fault.ReasonTaken && reason != fault.ReasonContention {
						t.Errorf("client %d: %v", n, err)
					}
					if err != nil {
						continue
					}
					won.Add(1)
					if _, err := leases.Cancel(context.Background(), lease.End{ID: string(a.Lease.ID), Token: a.Token}); err != nil {
						t.Errorf("client %d: cancel: %v", n, err)
					}
				}
			})
		}
		all.Wait()
		t.Logf("waiting %d ms: %d of %d attempts won", c.waitMs, won.Load(), clients*attempts)
		if got := int(won.Load()); got < c.want {
			t.Errorf("waiting %d ms: %d of %d attempts won, want at least %d", c.waitMs, got, clients*attempts, c.want)
		}
	}
}
