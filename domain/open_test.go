package domain_test

import (
	"context"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/headercache"
	"carrel/library"
	"carrel/pebblestore"
	"carrel/principal"
)

// newStore returns an empty embedded store, and a runtime, for one test.
func newStore(t *testing.T) (*pebblestore.Store, *sched.Real) {
	t.Helper()
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	runtime := sched.NewReal()
	t.Cleanup(func() {
		runtime.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store, runtime
}

// TestOpen_ServicesShareTheStore checks that one Service can read what another has created.
func TestOpen_ServicesShareTheStore(t *testing.T) {
	store, runtime := newStore(t)
	services, err := domain.Open(t.Context(), domain.Config{
		Store: store.Store, Runtime: runtime, Journal: journal.New(t.Context(), store.Journal, runtime, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	ann := &principal.Viewer{User: "u:acme:ann"}
	if _, err := services.People.CreateUser(t.Context(), ann, principal.CreateUser{
		Tenant: "acme", Name: "ann", DisplayName: "Ann", Email: "ann@example.com", Visibility: principal.Private,
	}); err != nil {
		t.Fatal(err)
	}
	page, err := services.Listing.Library(t.Context(), ann, ann.User, library.LibraryQuery{})
	if err != nil || page.Owner != ann.User {
		t.Errorf("the new user's library is %v, %v", page, err)
	}
}

// TestOpen_RemoteStoreIsReadConcurrently: two tasks that wait for each other finish only if they run at
// the same time.
func TestOpen_RemoteStoreIsReadConcurrently(t *testing.T) {
	store, runtime := newStore(t)
	services, err := domain.Open(t.Context(), domain.Config{
		Store: store.Store, Runtime: runtime, Journal: journal.New(t.Context(), store.Journal, runtime, nil), Remote: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	started := []chan struct{}{make(chan struct{}), make(chan struct{})}
	task := func(n int) func() error {
		return func() error {
			close(started[n])
			select {
			case <-started[1-n]:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if err := services.Engine.Together(ctx, []func() error{task(0), task(1)}); err != nil {
		t.Error(err)
	}
}

// TestOpen_CachesHeadersAsTheStoreAllows: only a store that no other process writes gets the exact cache, unless
// nothing is kept. It alone keeps what is missing.
func TestOpen_CachesHeadersAsTheStoreAllows(t *testing.T) {
	for _, c := range []struct {
		remote, exact bool
		bytes, kept   int
	}{{false, true, 1 << 20, 1}, {true, false, 1 << 20, 0}, {false, true, 0, 0}, {true, true, 0, 0}} {
		store, runtime := newStore(t)
		services, err := domain.Open(t.Context(), domain.Config{
			Store: store.Store, Runtime: runtime, Journal: journal.New(t.Context(), store.Journal, runtime, nil),
			Remote: c.remote, HeaderCache: headercache.Config{Bytes: c.bytes},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := services.Headers.ReadHeaders(t.Context(), []principal.ID{"u:acme:none"}, nil); err != nil {
			t.Fatal(err)
		}
		if _, exact := services.Headers.(*headercache.Exact); exact != c.exact || services.Headers.Stats().Headers != c.kept {
			t.Errorf("%+v: the headers are of a %T, with %+v", c, services.Headers, services.Headers.Stats())
		}
	}
}
