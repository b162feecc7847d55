package library_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/pebblestore"
	"carrel/principal"
)

// calendar is the real runtime with a wall clock that only the test moves.
type calendar struct {
	*sched.Real
	at atomic.Int64 // microseconds
}

func (c *calendar) Now() time.Time { return clock.Instant(c.at.Load()).Time() }

func (c *calendar) instant() clock.Instant { return clock.Instant(c.at.Load()) }

func (c *calendar) pass(d time.Duration) { c.at.Add(d.Microseconds()) }

// datedFixture is a fixture whose Service, journal and store read the same calendar. wrap, if
// it is not nil, returns a store between Service and store.
func datedFixture(t *testing.T, wrap func(*domain.Store)) (*domaintest.Fixture, *calendar) {
	t.Helper()
	c := &calendar{Real: sched.NewReal()}
	c.at.Store(1_800_000_000_000_000)
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem(), Now: c.instant})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(c.Close)
	h := &domaintest.Fixture{T: t, Store: store.Store, Runtime: c.Real}
	if wrap != nil {
		wrap(&h.Store)
	}
	h.Journal = journal.New(t.Context(), h.Store.Journal, c, nil)
	h.Services = domaintest.Open(t, domain.Config{Store: h.Store, Runtime: c, Journal: h.Journal, Names: &domaintest.CountingNames{}})
	return h, c
}

// TestCreate_KeyBindsForADayFromTheAttemptThatSucceeded: a key binds the id for a day from the
// attempt that succeeded, however long before it the first attempt was refused.
func TestCreate_KeyBindsForADayFromTheAttemptThatSucceeded(t *testing.T) {
	h, clock := datedFixture(t, nil)
	h.User("u:acme:ann", principal.Public)
	create := func() (library.ContentID, error) {
		out, err := h.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"), library.CreateContent{
			Kind: library.Note, Title: "t", Visibility: principal.Private, Members: domaintest.MemberChanges("u:acme:ben=VIEWER"),
			IdempotencyKey: domaintest.Ptr("k"),
		})
		if err != nil {
			return "", err
		}
		return out.ID, nil
	}
	same := func(when string, want library.ContentID) {
		t.Helper()
		if got, err := create(); err != nil || got != want {
			t.Errorf("%s: %q, %v; want the first item, %q", when, got, err, want)
		}
	}
	for range 2 { // hours 0 and 11.5
		_, err := create()
		domaintest.WantFaults(t, err, "NOT_FOUND members.0.principalId")
		clock.pass(11*time.Hour + 30*time.Minute)
	}
	h.User("u:acme:ben", principal.Public)
	first, err := create() // hour 23
	if err != nil {
		t.Fatal(err)
	}
	clock.pass(2 * time.Hour)
	h.User("u:acme:eve", principal.Public) // the store forgets what has expired as it writes
	same("hour 25", first)
	clock.pass(22*time.Hour - time.Microsecond)
	same("just before the day ends", first)
	clock.pass(time.Microsecond)
	second, err := create()
	if err != nil || second == first {
		t.Fatalf("after the day: %q, %v; want another item", second, err)
	}
	clock.pass(24*time.Hour - time.Microsecond)
	same("just before the second day ends", second)
	h.WantClean()
}

// TestCreate_KeyBindsForADayFromTheCommit: a creation takes a while from the reading of its key
// to its commit. The day starts with the latter.
func TestCreate_KeyBindsForADayFromTheCommit(t *testing.T) {
	slow := &hookedCommits{}
	h, clock := datedFixture(t, func(s *domain.Store) { slow.ContentStore, s.Contents = s.Contents, slow })
	h.User("u:acme:ann", principal.Public)
	create := func() (library.ContentID, error) {
		out, err := h.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"), library.CreateContent{
			Kind: library.Note, Title: "t", Visibility: principal.Private, IdempotencyKey: domaintest.Ptr("k"),
		})
		if err != nil {
			return "", err
		}
		return out.ID, nil
	}
	// Another writer replaces the base of the first try; the second one plans later.
	slow.beforeCommit("c:acme:host/1", func() {
		v, err := h.Store.Contents.Commit(t.Context(), &library.ContentCommit{ID: "c:acme:host/1",
			Header: library.Header{Content: library.Content{ID: "c:acme:host/1"}, State: commit.Void, Seq: 1, MTS: clock.instant()}})
		if err != nil || !v.Applied {
			t.Errorf("the fence: %+v, %v", v, err)
		}
		clock.pass(4 * time.Second)
	})
	first, err := create()
	if err != nil {
		t.Fatal(err)
	}
	clock.pass(24*time.Hour - time.Second)
	h.User("u:acme:eve", principal.Public)
	if got, err := create(); err != nil || got != first {
		t.Errorf("a second before the day ends: %q, %v; want %q", got, err, first)
	}
}

// After a day a key is forgotten also if the name was chosen: the repetition is a new request, for
// which the name is taken.
func TestCreate_KeyIsForgottenAfterADayUnderAChosenName(t *testing.T) {
	h, clock := datedFixture(t, nil)
	h.User("u:acme:ann", principal.Public)
	create := func(title string) error {
		_, err := h.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"), library.CreateContent{
			Name: domaintest.Ptr("n"), Kind: library.Note, Title: title, Visibility: principal.Private, IdempotencyKey: domaintest.Ptr("k"),
		})
		return err
	}
	domaintest.WantFaults(t, create("t"))
	clock.pass(23 * time.Hour)
	domaintest.WantFaults(t, create("t"))
	clock.pass(time.Hour)
	domaintest.WantFaults(t, create("t"), "TAKEN name")
	clock.pass(23 * time.Hour)
	domaintest.WantFaults(t, create("t"), "TAKEN name")
}
