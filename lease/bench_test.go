package lease_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/lease"
	"carrel/pebblestore"
	"carrel/principal"
)

// BenchmarkAcquire leases and cancels 1, 10 and 100 keys on an embedded store with real files.
func BenchmarkAcquire(b *testing.B) {
	store, err := pebblestore.Open(b.TempDir(), pebblestore.Options{FS: vfs.Default})
	if err != nil {
		b.Fatal(err)
	}
	rt := sched.NewReal()
	b.Cleanup(func() {
		rt.Close()
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	services := domaintest.Open(b, domain.Config{
		Store: store.Store, Runtime: rt, Journal: journal.New(b.Context(), store.Journal, rt, nil), Names: &domaintest.CountingNames{},
	})
	ann := func() *principal.Viewer { return domaintest.As("u:acme:ann") }
	if _, err := services.People.CreateUser(b.Context(), ann(), principal.CreateUser{
		Tenant: "acme", Name: "ann", DisplayName: "Ann", Email: "ann@example.com", Visibility: principal.Public}); err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 10, 100} {
		var keys []string
		for k := range n {
			keys = append(keys, fmt.Sprint("k", k))
		}
		b.Run(fmt.Sprint(n, " keys"), func(b *testing.B) {
			for b.Loop() {
				a, err := services.Leases.Acquire(b.Context(), ann(), lease.Acquire{Documents: documents(keys...), WaitMs: atOnce})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if _, err := services.Leases.Cancel(b.Context(), end(a)); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
