package repair_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/sched"
	"carrel/library"
	"carrel/library/repair"
	"carrel/principal"
)

const rebuildOwner principal.ID = "u:acme:ann"

// rebuilding is the store of one process. It counts what rebuilds of the library
// do, and calls what a test has set as they do it.
type rebuilding struct {
	*losing
	unrecorded bool                   // the record is missing
	at         func(mended int) error // at each item that is mended
	sweeping   func(page int) error   // at each page of a sweep
	others     int                    // number of items without members that are listed first

	counting                    sync.Mutex
	mended, pages, scans, notes int
	opened, asOf                clock.Instant // when Recorded was first called, and the asOf of SetBuilt
}

// tell counts, and calls what is set for it.
func (r *rebuilding) tell(count *int, call func(int) error) error {
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
		if err := r.tell(&r.pages, r.sweeping); err != nil {
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
	return r.losing.ScanContents(ctx, after, limit)
}

func (r *rebuilding) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	if len(q.Members) == 1 && q.Members[0] == rebuildOwner && q.Request == nil {
		if err := r.tell(&r.mended, r.at); err != nil {
			return nil, err
		}
	}
	return r.losing.Read(ctx, id, q)
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
	return r.losing.SetBuilt(ctx, p, asOf)
}

// clockAhead is a runtime whose clock is ahead.
type clockAhead struct {
	*sched.Real
	by time.Duration
}

func (c clockAhead) Now() time.Time { return c.Real.Now().Add(c.by) }

// rebuildHouse has a library of so many items, and of stray entries.
type rebuildHouse struct {
	*backendtest.Fixture
	lost *losing
	ids  []library.ContentID
}

const rebuildItems, rebuildStrays = 330, 3

func newRebuildHouse(t *testing.T) *rebuildHouse {
	t.Helper()
	h, lost := losingHouse(t)
	h.User(string(rebuildOwner), principal.Public)
	r := &rebuildHouse{Fixture: h, lost: lost}
	for n := range rebuildItems {
		r.ids = append(r.ids, h.Note(fmt.Sprintf("%03d", n), principal.Private))
	}
	h.Quiet()
	return r
}

// gateway is another process on the store.
func (h *rebuildHouse) gateway(ahead time.Duration) (*repair.Service, *rebuilding) {
	h.T.Helper()
	store := &rebuilding{losing: h.lost}
	svc := backendtest.Open(h.T, backend.Config{Store: store, Runtime: clockAhead{h.Runtime, ahead}, Journal: h.Journal, Names: &backendtest.CountingNames{}})
	h.T.Cleanup(svc.End)
	return svc, store
}

// damage takes entries of these items out of the library, and puts strays in.
func (h *rebuildHouse) damage(items ...int) {
	h.T.Helper()
	for _, n := range items {
		entry := h.entry(n)
		if err := h.Store.DropEntries(h.T.Context(), rebuildOwner, []library.BucketEntry{{Bucket: principal.Private, Entry: entry}}); err != nil {
			h.T.Fatal(err)
		}
	}
}

func (h *rebuildHouse) entry(n int) library.Entry {
	head := h.Content(h.ids[n])
	return library.Entry{Position: head.Position, Content: head.ID, MTS: head.MTS, Role: library.Manages}
}

// strays are entries where their items have never been.
func (h *rebuildHouse) strays() {
	h.T.Helper()
	for n := range rebuildStrays {
		rows, err := h.Store.Read(h.T.Context(), h.ids[n], library.ContentQuery{Members: []principal.ID{rebuildOwner}})
		if err != nil {
			h.T.Fatal(err)
		}
		rows.Header.Position -= 7
		if err := h.Store.ApplyIndex(h.T.Context(), &library.IndexUpdate{Header: &rows.Header, Rows: rows.Members}); err != nil {
			h.T.Fatal(err)
		}
	}
}

// from fails from a count on.
func from(least int) func(int) error {
	return func(n int) error {
		if n >= least {
			return backendtest.ErrDown
		}
		return nil
	}
}

// interrupt begins a rebuild that fails as it mends the item of a number.
func (h *rebuildHouse) interrupt(at int, unrecorded bool) {
	h.T.Helper()
	svc, store := h.gateway(0)
	store.unrecorded, store.at = unrecorded, from(at)
	h.fails(svc)
}

// fails rebuilds, and is interrupted.
func (h *rebuildHouse) fails(svc *repair.Service) {
	h.T.Helper()
	if _, _, err := svc.Rebuild(h.T.Context(), rebuildOwner); !errors.Is(err, backendtest.ErrDown) {
		h.T.Fatalf("a rebuild that is interrupted: %v", err)
	}
}

func (h *rebuildHouse) progress() []byte {
	h.T.Helper()
	note, err := h.Store.RebuildNote(h.T.Context(), rebuildOwner)
	if err != nil {
		h.T.Fatal(err)
	}
	return note
}

// A rebuild that was interrupted is continued by another process: what had been
// restored is not read again, and the outcome is that of the whole rebuild.
func TestRebuild_IsContinuedByAnotherProcess(t *testing.T) {
	for _, unrecorded := range []bool{false, true} {
		for _, reader := range []bool{false, true} {
			t.Run(fmt.Sprintf("unrecorded %v, reader %v", unrecorded, reader), func(t *testing.T) {
				h := newRebuildHouse(t)
				h.damage(5, 320)
				h.strays()
				h.interrupt(250, unrecorded)
				svc, store := h.gateway(30 * time.Minute)
				store.unrecorded = unrecorded
				if reader {
					h.lost.lose(rebuildOwner)
					first := 5
					c, err := svc.Library(t.Context(), backendtest.As(string(rebuildOwner)), rebuildOwner, library.LibraryQuery{PageArgs: cursor.PageArgs{First: &first}})
					if err != nil || len(c.Edges) != first {
						t.Fatalf("the reader's page: %v, %v", c, err)
					}
				} else {
					out, err := svc.RebuildLibrary(t.Context(), backendtest.Admin(string(rebuildOwner)), string(rebuildOwner))
					if err != nil || out.Restored != 2 || out.Removed != rebuildStrays {
						t.Errorf("the repetition returned %+v, %v", out, err)
					}
				}
				// Two pages of a hundred were kept; strays are read twice more.
				if most := rebuildItems - 200 + 2*rebuildStrays; store.mended > most {
					t.Errorf("%d items were mended after the interruption, want at most %d", store.mended, most)
				}
				if h.progress() != nil {
					t.Error("the progress is kept beyond the end")
				}
				h.WantClean()
			})
		}
	}
}

// A rebuild that is interrupted as it looks for strays has restored everything,
// and what it has removed is counted.
func TestRebuild_IsContinuedWhereEverythingIsRestored(t *testing.T) {
	for _, strays := range []int{0, rebuildStrays} {
		t.Run(fmt.Sprintf("%d strays", strays), func(t *testing.T) {
			h := newRebuildHouse(t)
			h.damage(5, 320)
			if strays > 0 {
				h.strays()
			}
			svc, store := h.gateway(0)
			store.sweeping = from(5) // four pages of the PRIVATE bucket
			h.fails(svc)
			svc, store = h.gateway(0)
			restored, removed, err := svc.Rebuild(t.Context(), rebuildOwner)
			if restored != 2 || removed != strays || err != nil {
				t.Errorf("%d restored, %d removed: %v", restored, removed, err)
			}
			if store.mended != 0 {
				t.Errorf("%d items were mended again", store.mended)
			}
			h.WantClean()
		})
	}
}

// A rebuild that is interrupted again and again gets further each time, also by a
// process whose clock is behind.
func TestRebuild_IsContinuedByAClockBehind(t *testing.T) {
	h := newRebuildHouse(t)
	h.interrupt(150, false)
	svc, store := h.gateway(-30 * time.Minute)
	store.at = from(150)
	h.fails(svc)
	svc, store = h.gateway(0)
	if _, _, err := svc.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Error(err)
	}
	if store.mended != rebuildItems-200 {
		t.Errorf("%d items were mended", store.mended)
	}
}

// Deleting the progress of a rebuild makes it begin again, also where the library
// was marked as complete all the time.
func TestRebuild_BeginsAgainWhenItsProgressIsDeleted(t *testing.T) {
	h := newRebuildHouse(t)
	h.damage(5, 320)
	svc, store := h.gateway(0)
	store.at = func(n int) error {
		if n != 250 {
			return nil
		}
		var kept struct{ AsOf clock.Instant }
		if err := json.Unmarshal(h.progress()[8:], &kept); err != nil {
			return err
		}
		return h.Store.DropRebuildNote(t.Context(), rebuildOwner, kept.AsOf)
	}
	if _, _, err := svc.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Error(err)
	}
	if store.mended < 250+rebuildItems {
		t.Errorf("%d items were mended", store.mended)
	}
	h.WantClean()
}

// A rebuild is dated by the store's clock: the progress of a gateway whose clock is
// ahead would outlast a deletion of the library.
func TestRebuild_IsDatedByTheClockOfTheStore(t *testing.T) {
	h := newRebuildHouse(t)
	const ahead = 10 * time.Minute
	store := &rebuilding{losing: h.lost, at: from(150)}
	svc := backendtest.Open(t, backend.Config{Store: store, Runtime: clockAhead{h.Runtime, ahead}, Journal: h.Journal, Names: &backendtest.CountingNames{},
		Ahead: func() time.Duration { return ahead }})
	t.Cleanup(svc.End)
	h.fails(svc)
	var kept struct{ AsOf, At clock.Instant }
	if err := json.Unmarshal(h.progress()[8:], &kept); err != nil {
		t.Fatal(err)
	}
	if now := clock.Of(h.Runtime.Now()); kept.AsOf > now || kept.At > now || kept.AsOf == 0 {
		t.Errorf("at %s the progress is of %s, as of %s", now, kept.At, kept.AsOf)
	}
}

// Where every item of the store is looked at, the progress is kept every ten pages.
func TestRebuild_KeepsProgressAmongItemsOfOthers(t *testing.T) {
	h := newRebuildHouse(t)
	svc, store := h.gateway(0)
	store.unrecorded, store.others, store.at = true, 1300, from(1)
	h.fails(svc)
	if store.notes != 2 { // at its beginning, and after a thousand
		t.Errorf("the progress was kept %d times", store.notes)
	}
	svc, store = h.gateway(0)
	store.unrecorded, store.others = true, 1300
	if _, _, err := svc.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Error(err)
	}
	if store.scans != 7 {
		t.Errorf("%d pages of items were read", store.scans)
	}
	h.WantClean()
}

// The marks of a rebuild hold as of its beginning, before anything was read, so
// that whatever is deleted from then on takes them along.
func TestRebuild_MarksAsOfItsBeginning(t *testing.T) {
	h := newRebuildHouse(t)
	svc, first := h.gateway(0)
	first.at = from(150)
	h.fails(svc)
	svc, second := h.gateway(0)
	if _, _, err := svc.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Fatal(err)
	}
	if second.asOf > first.opened {
		t.Errorf("a rebuild begun before %v marks as of %v", first.opened, second.asOf)
	}
	svc, third := h.gateway(0)
	if _, _, err := svc.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Fatal(err)
	}
	if third.asOf > third.opened || third.asOf <= second.opened {
		t.Errorf("a rebuild begun between %v and %v marks as of %v", second.opened, third.opened, third.asOf)
	}
}

// A rebuild is begun anew where its progress says nothing of the library, of now.
func TestRebuild_IsBegunAnew(t *testing.T) {
	for _, c := range []struct {
		name       string
		unrecorded bool // before
		ahead      time.Duration
		meanwhile  func(h *rebuildHouse, store *rebuilding) error
	}{
		{name: "the library was deleted", meanwhile: func(h *rebuildHouse, store *rebuilding) error {
			// As a store does with what is deleted by hand.
			h.lost.lose(rebuildOwner)
			return h.Store.DropRebuildNote(h.T.Context(), rebuildOwner, clock.Of(h.Runtime.Now()))
		}},
		{name: "the record was deleted", meanwhile: func(h *rebuildHouse, store *rebuilding) error {
			store.unrecorded = true
			return nil
		}},
		{name: "the record was missing, and is there", unrecorded: true, meanwhile: func(*rebuildHouse, *rebuilding) error { return nil }},
		{name: "the progress is an hour old", ahead: time.Hour + time.Second, meanwhile: func(*rebuildHouse, *rebuilding) error { return nil }},
		{name: "the progress cannot be read", meanwhile: func(h *rebuildHouse, _ *rebuilding) error {
			return h.Store.PutRebuildNote(h.T.Context(), rebuildOwner, clock.Of(h.Runtime.Now()), []byte("\xffof another version"))
		}},
		{name: "the rebuild was completed", meanwhile: func(h *rebuildHouse, _ *rebuilding) error {
			svc, _ := h.gateway(0)
			_, _, err := svc.Rebuild(h.T.Context(), rebuildOwner)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newRebuildHouse(t)
			h.interrupt(250, c.unrecorded)
			svc, store := h.gateway(c.ahead)
			if err := c.meanwhile(h, store); err != nil {
				t.Fatal(err)
			}
			h.damage(5, 320)
			if restored, _, err := svc.Rebuild(t.Context(), rebuildOwner); restored != 2 || err != nil {
				t.Errorf("%d were restored: %v", restored, err)
			}
			if store.mended != rebuildItems {
				t.Errorf("%d items were mended, want %d", store.mended, rebuildItems)
			}
			if h.progress() != nil {
				t.Error("the progress is kept beyond the end")
			}
			h.WantClean()
		})
	}
}
