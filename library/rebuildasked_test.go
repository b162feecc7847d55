package library_test

import (
	"context"
	"testing"
	"time"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
	"carrel/library/repair"
	"carrel/principal"
)

// impatient is a runtime in which waits for a while end at once.
type impatient struct {
	*sched.Real
}

func (impatient) Wait(ctx context.Context, l sched.Latch, d time.Duration) (bool, error) {
	return sched.NewReal().Wait(ctx, l, min(d, time.Millisecond))
}

// A rebuild that takes longer than an answer goes on. The mutation says so, and
// its repetition is told the outcome.
func TestRebuildLibrary_GoesOnAfterItsAnswer(t *testing.T) {
	h, store := losingHouse(t)
	h.user("u:acme:ann", principal.Public)
	h.note("one", principal.Private)
	h.quiet()
	free := make(chan struct{})
	store.mu.Lock()
	store.hold = func() error { <-free; return nil }
	store.mu.Unlock()
	h.svc = h.impatient()
	rebuild := func() (*library.RebuildOutcome, error) {
		return h.svc.RebuildLibrary(t.Context(), admin("u:acme:ann"), "u:acme:ann")
	}
	rows, err := h.store.PageLibrary(t.Context(), library.Slice{Owner: "u:acme:ann", Bucket: principal.Private, Limit: 2})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	if err := h.store.DropEntries(t.Context(), "u:acme:ann", []library.BucketEntry{{Bucket: principal.Private, Entry: rows[0]}}); err != nil {
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
				t.Errorf("the repetition is told %+v", out)
			}
			if out, err = rebuild(); err == nil && out.Restored != 0 {
				t.Errorf("another rebuild is told %+v", out)
			}
			return
		}
		if err := h.runtime.After(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the rebuild does not end")
}

// impatient is a Service of the house that waits for nothing.
func (h *house) impatient() *repair.Service {
	h.t.Helper()
	svc := backendtest.Open(h.t, backend.Config{Store: h.store, Runtime: impatient{h.runtime}, Journal: h.journal, Names: &counting{}})
	h.t.Cleanup(svc.End)
	return svc
}

// A count alone reads no entries. Of a library that is lost it is not zero: the library
// is rebuilt first, or the count is UNAVAILABLE.
func TestLibraryCount_OfALostLibraryIsNotZero(t *testing.T) {
	h, store := losingHouse(t)
	h.user("u:acme:ann", principal.Public)
	h.note("one", principal.Private)
	h.quiet()
	count := func() (library.Count, error) {
		conn, err := h.svc.Library(t.Context(), as("u:acme:ann"), "u:acme:ann", library.LibraryQuery{NoEntries: true})
		if err != nil {
			t.Fatal(err)
		}
		return h.svc.LibraryCount(t.Context(), conn)
	}
	store.lose("u:acme:ann")
	if n, err := count(); err != nil || n.Value != 1 || store.isLost("u:acme:ann") {
		t.Errorf("counted %+v, %v; the library is lost: %v", n, err, store.isLost("u:acme:ann"))
	}
	store.mu.Lock()
	store.hold = func() error { return errDown }
	store.mu.Unlock()
	store.lose("u:acme:ann")
	if n, err := count(); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("counted %+v, %v", n, err)
	}
}
