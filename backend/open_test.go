package backend_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/backend"
	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/library"
	"carrel/library/feed"
	"carrel/library/listing"
	"carrel/library/repair"
	"carrel/page"
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

// TestCheckHooks_NamesWhatIsMissing connects the domains one after the other. While a Service lacks
// the next one, the error names what is missing.
func TestCheckHooks_NamesWhatIsMissing(t *testing.T) {
	store, runtime := newStore(t)
	ctx, log := t.Context(), slog.New(slog.DiscardHandler)
	j := journal.New(ctx, store.Journal, runtime, nil)
	cursors, err := cursor.NewSealer(ctx, store.Registers, runtime)
	if err != nil {
		t.Fatal(err)
	}
	want := func(missing string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("the error is %v, want one that names %q", err, missing)
		}
	}

	engine := commit.NewEngine(commit.Config{Runtime: runtime, Journal: j, Registers: store.Registers})
	claims := claim.New(store.Claims, runtime)
	people := principal.New(principal.Config{
		Engine: engine, Store: store.Principals, Directory: store.Directory, Claims: claims, Runtime: runtime, Journal: j, Log: log, Cursors: cursors,
	})
	want("OnCreated", people.CheckHooks())
	libraries, err := library.New(ctx, library.Config{
		Engine: engine, People: people, Contents: store.Contents, Libraries: store.Libraries, Principals: store.Principals, InFlightLists: store.Journal, Registers: store.Registers, Claims: claims,
		Runtime: runtime, Journal: j, Log: log, Watch: library.Unwatched{}, Cursors: cursors, Tuning: library.Tuning{}.WithDefaults(),
	})
	if err != nil {
		t.Fatal(err)
	}
	want("PublishTo", libraries.CheckHooks())
	listings := listing.New(ctx, listing.Config{Engine: engine, People: people, Library: libraries, Contents: store.Contents, Libraries: store.Libraries, Runtime: runtime, Log: log})
	feed.New(ctx, feed.Config{Engine: engine, People: people, Library: libraries, Listing: listings, Contents: store.Contents, Libraries: store.Libraries, Runtime: runtime, Log: log, Watch: library.Unwatched{}})
	want("KeepPages", libraries.CheckHooks())
	page.New(page.Config{Engine: engine, People: people, Library: libraries, Contents: store.Contents, Store: store.Texts, Runtime: runtime, Cursors: cursors})
	want("OnMissing", listings.CheckHooks())
	listings.OnMissing(func(context.Context, principal.ID) error { return nil })
	want("repairs", libraries.CheckHooks())
	engine.Repairs(commit.Content, func(context.Context, commit.Repair) error { return nil })
	repair.New(repair.Config{
		Engine: engine, People: people, Library: libraries, Listing: listings, Contents: store.Contents, Libraries: store.Libraries, Principals: store.Principals, Directory: store.Directory, InFlightLists: store.Journal, Runtime: runtime, Log: log,
	})
	if err := errors.Join(people.CheckHooks(), libraries.CheckHooks(), listings.CheckHooks()); err != nil {
		t.Errorf("all domains are connected: %v", err)
	}
}

// TestOpen_ServicesShareTheStore checks that one Service can read what another has created.
func TestOpen_ServicesShareTheStore(t *testing.T) {
	store, runtime := newStore(t)
	services, err := backend.Open(t.Context(), backend.Config{
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
	services, err := backend.Open(t.Context(), backend.Config{
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
