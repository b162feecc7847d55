package repair_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

const rebuildOwner principal.ID = "u:acme:ann"

// rebuilding is the store of one process. It counts what rebuilds of the library do, and calls
// functions of a test as they do it.
type rebuilding struct {
	*losing
	library.ContentStore
	unrecorded bool                     // the record is missing
	at         func(repaired int) error // at each item that is repaired
	sweeping   func(page int) error     // at each page of a sweep
	marked     func()                   // when the library was marked as complete
	others     int                      // number of items without members that are listed first

	counting                      sync.Mutex
	repaired, pages, scans, notes int
	opened, asOf                  clock.Instant // when Recorded was first called, and the asOf of SetBuilt
}

// on returns s with the changes.
func (r *rebuilding) on(s domain.Store) domain.Store {
	r.ContentStore, s.Contents, s.Libraries = s.Contents, r, r
	return s
}

// count increments a counter, and calls the function that is set for it.
func (r *rebuilding) count(count *int, call func(int) error) error {
	r.counting.Lock()
	*count++
	n := *count
	r.counting.Unlock()
	if call == nil {
		return nil
	}
	return call(n)
}

func (r *rebuilding) PageLibrary(ctx context.Context, s library.Slice) ([]library.Entry, error) {
	if s.Limit > 1 {
		if err := r.count(&r.pages, r.sweeping); err != nil {
			return nil, err
		}
	}
	return r.losing.PageLibrary(ctx, s)
}

func (r *rebuilding) PutRebuildNote(ctx context.Context, p principal.ID, asOf clock.Instant, note []byte) error {
	r.notes++
	return r.losing.PutRebuildNote(ctx, p, asOf, note)
}

func (r *rebuilding) ScanContents(ctx context.Context, after library.ContentID, limit int) (ids []library.ContentID, err error) {
	r.scans++
	for n := range r.others {
		if id := library.ContentID(fmt.Sprintf("c:acme:!%05d", n)); id > after && len(ids) < limit {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		return ids, nil
	}
	return r.ContentStore.ScanContents(ctx, after, limit)
}

func (r *rebuilding) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	if len(q.Members) == 1 && q.Members[0] == rebuildOwner && q.Request == nil {
		if err := r.count(&r.repaired, r.at); err != nil {
			return nil, err
		}
	}
	return r.ContentStore.Read(ctx, id, q)
}

func (r *rebuilding) SharedWith(ctx context.Context, p principal.ID, after library.ContentID, limit int) ([]library.Shared, error) {
	if r.unrecorded {
		return nil, nil
	}
	return r.losing.SharedWith(ctx, p, after, limit)
}

func (r *rebuilding) Recorded(ctx context.Context, p principal.ID) (bool, error) {
	if r.opened == 0 {
		r.opened = clock.Of(time.Now())
	}
	if r.unrecorded {
		return false, nil
	}
	return r.losing.Recorded(ctx, p)
}

func (r *rebuilding) SetBuilt(ctx context.Context, p principal.ID, asOf clock.Instant) error {
	r.unrecorded, r.asOf = false, asOf
	err := r.losing.SetBuilt(ctx, p, asOf)
	if r.marked != nil {
		r.marked()
	}
	return err
}

// clockAhead is a runtime whose clock is ahead.
type clockAhead struct {
	*sched.Real
	by time.Duration
}

func (c clockAhead) Now() time.Time { return c.Real.Now().Add(c.by) }

// rebuildFixture has a library of a number of items, and of stray entries.
type rebuildFixture struct {
	*domaintest.Fixture
	lost *losing
	ids  []library.ContentID
}

const rebuildItems, rebuildStrays = 330, 3

func newRebuildFixture(t *testing.T) *rebuildFixture {
	t.Helper()
	h, lost := losingFixture(t)
	h.User(string(rebuildOwner), principal.Public)
	r := &rebuildFixture{Fixture: h, lost: lost}
	for n := range rebuildItems {
		r.ids = append(r.ids, h.Note(fmt.Sprintf("%03d", n), principal.Private))
	}
	h.Quiet()
	return r
}

// gateway is another process on the store.
func (h *rebuildFixture) gateway(ahead time.Duration) (*domain.Services, *rebuilding) {
	h.T.Helper()
	store := &rebuilding{losing: h.lost}
	svc := domaintest.Open(h.T, domain.Config{Store: store.on(h.Store), Runtime: clockAhead{h.Runtime, ahead},
		Journal: h.Journal, Names: &domaintest.CountingNames{}})
	h.T.Cleanup(svc.Engine.End)
	return svc, store
}

// damage removes the entries of these items from the library.
func (h *rebuildFixture) damage(items ...int) {
	h.T.Helper()
	for _, n := range items {
		entry := h.entry(n)
		if err := h.Store.Libraries.DropEntries(h.T.Context(), rebuildOwner,
			[]library.BucketEntry{{Bucket: principal.Private, Entry: entry}}); err != nil {
			h.T.Fatal(err)
		}
	}
}

func (h *rebuildFixture) entry(n int) library.Entry {
	head := h.Content(h.ids[n])
	return library.Entry{EntryKey: library.EntryKey{Position: head.Position, Content: head.ID}, MTS: head.MTS, Role: library.Manages}
}

// strays adds entries at positions at which their items have never been.
func (h *rebuildFixture) strays() {
	h.T.Helper()
	for n := range rebuildStrays {
		rows, err := h.Store.Contents.Read(h.T.Context(), h.ids[n], library.ContentQuery{Members: []principal.ID{rebuildOwner}})
		if err != nil {
			h.T.Fatal(err)
		}
		rows.Header.Position -= 7
		if err := h.Store.Contents.ApplyIndex(h.T.Context(), &library.IndexUpdate{Header: &rows.Header, Rows: rows.Members}); err != nil {
			h.T.Fatal(err)
		}
	}
}

// from returns a function that fails for all numbers from least on.
func from(least int) func(int) error {
	return func(n int) error {
		if n >= least {
			return domaintest.ErrDown
		}
		return nil
	}
}

// interrupt runs a rebuild that fails when it repairs its at-th item.
func (h *rebuildFixture) interrupt(at int, unrecorded bool) {
	h.T.Helper()
	svc, store := h.gateway(0)
	store.unrecorded, store.at = unrecorded, from(at)
	h.fails(svc)
}

// fails runs a rebuild, which must fail.
func (h *rebuildFixture) fails(svc *domain.Services) {
	h.T.Helper()
	if _, _, err := svc.Repair.Rebuild(h.T.Context(), rebuildOwner); !errors.Is(err, domaintest.ErrDown) {
		h.T.Fatalf("a rebuild that is interrupted: %v", err)
	}
}

func (h *rebuildFixture) progress() []byte {
	h.T.Helper()
	note, err := h.Store.Libraries.RebuildNote(h.T.Context(), rebuildOwner)
	if err != nil {
		h.T.Fatal(err)
	}
	return note
}
