package repair_test

import (
	"context"
	"testing"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// impatient is a runtime in which timed waits end at once.
type impatient struct {
	*sched.Real
}

func (impatient) Wait(ctx context.Context, l sched.Latch, d time.Duration) (bool, error) {
	return sched.NewReal().Wait(ctx, l, min(d, time.Millisecond))
}

// TestRebuildLibrary_ContinuesAfterItsResponse: a rebuild that takes longer than an answer
// continues. The mutation says so, and its repetition returns the outcome.
func TestRebuildLibrary_ContinuesAfterItsResponse(t *testing.T) {
	h, store := losingFixture(t)
	h.User("u:acme:ann", principal.Public)
	h.Note("one", principal.Private)
	h.Quiet()
	free := make(chan struct{})
	store.mu.Lock()
	store.hold = func() error { <-free; return nil }
	store.mu.Unlock()
	h.Services = impatientService(h)
	rebuild := func() (*library.RebuildOutcome, error) {
		return h.Repair.RebuildLibrary(t.Context(), domaintest.Admin("u:acme:ann"), "u:acme:ann")
	}
	rows, err := h.Store.Libraries.PageLibrary(t.Context(), library.Slice{Owner: "u:acme:ann", Bucket: principal.Private, Limit: 2})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	if err := h.Store.Libraries.DropEntries(t.Context(), "u:acme:ann",
		[]library.BucketEntry{{Bucket: principal.Private, Entry: rows[0]}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := rebuild(); fault.CodeOf(err) != fault.Unavailable {
			t.Fatalf("a rebuild that is held up: %v", err)
		}
	}
	close(free)
	for range 2000 {
		out, err := rebuild()
		if err == nil {
			if out.Restored != 1 || out.Removed != 0 {
				t.Errorf("the repetition returns %+v", out)
			}
			if out, err = rebuild(); err == nil && out.Restored != 0 {
				t.Errorf("another rebuild returns %+v", out)
			}
			return
		}
		if err := h.Runtime.After(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the rebuild does not end")
}

// impatientService is a Service of the fixture that does not wait.
func impatientService(h *domaintest.Fixture) *domain.Services {
	h.T.Helper()
	svc := domaintest.Open(h.T, domain.Config{Store: h.Store, Runtime: impatient{h.Runtime}, Journal: h.Journal,
		Names: &domaintest.CountingNames{}})
	h.T.Cleanup(svc.Engine.End)
	return svc
}

// TestLibraryCount_OfALostLibraryIsNotZero: a count alone reads no entries. For a lost library
// it is not zero: the library is rebuilt first, or the count is UNAVAILABLE.
func TestLibraryCount_OfALostLibraryIsNotZero(t *testing.T) {
	h, store := losingFixture(t)
	h.User("u:acme:ann", principal.Public)
	h.Note("one", principal.Private)
	h.Quiet()
	count := func() (library.Count, error) {
		conn, err := h.Listing.Library(t.Context(), domaintest.As("u:acme:ann"), "u:acme:ann", library.LibraryQuery{NoEntries: true})
		if err != nil {
			t.Fatal(err)
		}
		return h.Listing.LibraryCount(t.Context(), conn)
	}
	store.lose("u:acme:ann")
	if n, err := count(); err != nil || n.Value != 1 || store.isLost("u:acme:ann") {
		t.Errorf("counted %+v, %v; the library is lost: %v", n, err, store.isLost("u:acme:ann"))
	}
	store.mu.Lock()
	store.hold = func() error { return domaintest.ErrDown }
	store.mu.Unlock()
	store.lose("u:acme:ann")
	if n, err := count(); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("counted %+v, %v", n, err)
	}
}

func TestRebuildLibrary_AdministratorRestoresLostEntries(t *testing.T) {
	h := domaintest.Town(t)
	h.Note("a", principal.Public, "u:acme:ben=VIEWER")
	b := h.Note("b", principal.Private, "u:acme:ben=VIEWER")
	h.Quiet()
	entries, err := h.Store.Libraries.PageLibrary(t.Context(), library.Slice{Owner: "u:acme:ben", Bucket: principal.Private,
		Limit: 10, Ascending: true})
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v", entries, err)
	}
	var lost []library.BucketEntry
	for _, e := range entries {
		lost = append(lost, library.BucketEntry{Bucket: principal.Private, Entry: e})
	}
	if err := h.Store.Libraries.DropEntries(t.Context(), "u:acme:ben", lost); err != nil {
		t.Fatal(err)
	}
	rebuild := func(v *principal.Viewer, p string) (*library.RebuildOutcome, error) {
		return h.Repair.RebuildLibrary(t.Context(), v, p)
	}
	_, err = rebuild(&principal.Viewer{}, "u:acme:ben")
	domaintest.WantFaults(t, err, "UNAUTHENTICATED")
	_, err = rebuild(domaintest.As("u:acme:ben"), "u:acme:ben")
	domaintest.WantFaults(t, err, "FORBIDDEN principalId")
	_, err = rebuild(domaintest.Admin("u:acme:dora"), "u:acme:none")
	domaintest.WantFaults(t, err, "NOT_FOUND principalId")
	_, err = rebuild(domaintest.Admin("u:acme:dora"), string(b))
	domaintest.WantFaults(t, err, "INVALID principalId")
	out, err := rebuild(domaintest.Admin("u:acme:dora"), "u:acme:ben")
	domaintest.WantFaults(t, err)
	if out.Restored != 2 || out.Removed != 0 {
		t.Errorf("restored %d, removed %d; want 2 and 0", out.Restored, out.Removed)
	}
	h.WantTitles(domaintest.As("u:acme:ben"), "u:acme:ben", "a", "b")
	h.WantClean()
}

func TestReaders_RebuildALostLibrary(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Applied(r.Store.Principals.CommitPrincipal(t.Context(), &principal.Commit{
		ID:     "u:acme:ann",
		Header: principal.Header{ID: "u:acme:ann", Visibility: principal.Public, State: commit.Live, Seq: 1, MTS: 1},
	}))
	r.Item("c:acme:one", 1, principal.Public, domaintest.ContentMember("u:acme:ann", library.Viewing))
	var es []library.BucketEntry
	for _, b := range []library.Bucket{principal.Private, principal.LoggedIn, principal.Public} {
		got, err := r.Store.Libraries.PageLibrary(t.Context(), library.Slice{Owner: "u:acme:ann", Bucket: b, Limit: 10})
		r.Must(err)
		for _, e := range got {
			es = append(es, library.BucketEntry{Bucket: b, Entry: e})
		}
	}
	r.Must(r.Store.Libraries.DropEntries(t.Context(), "u:acme:ann", es))
	r.WantNames(r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{}), "one")
}

func TestReaders_RebuildALibraryWithoutTitles(t *testing.T) {
	h, store := losingFixture(t)
	h.User("u:acme:ann", principal.Public)
	h.Note("b", principal.Private)
	h.Note("a", principal.Private)
	h.Quiet()
	es, err := h.Store.Libraries.PageLibrary(t.Context(), library.Slice{Owner: "u:acme:ann", Bucket: principal.Private,
		Order: library.ByTitle, Limit: 10})
	if err != nil || len(es) != 2 {
		t.Fatalf("%v, %v", es, err)
	}
	lost := []library.BucketEntry{{Bucket: principal.Private, Entry: es[0]}, {Bucket: principal.Private, Entry: es[1]}}
	if err := h.Store.Libraries.DropEntries(t.Context(), "u:acme:ann", lost); err != nil {
		t.Fatal(err)
	}
	store.onlyTitles = true
	store.lose("u:acme:ann")
	for _, o := range library.AllOrders {
		conn, err := h.Listing.Library(t.Context(), domaintest.As("u:acme:ann"), "u:acme:ann", library.LibraryQuery{Order: o, Descending: true})
		if err != nil || len(conn.Edges) != 2 || conn.Edges[0].Node.Title != []string{"a", "b"}[o] {
			t.Errorf("in the order %d: %v, %v", o, conn, err)
		}
		if lost := store.isLost("u:acme:ann"); lost != (o == library.ByChange) {
			t.Errorf("after a read in the order %d, the order of titles is lost: %v", o, lost)
		}
	}
	h.WantClean()
}
