//go:build !race

package repair_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
)

// TestRebuild_IsContinuedByAnotherProcess: another process continues an interrupted rebuild.
// What was restored is not read again, and the outcome is that of the whole rebuild.
func TestRebuild_IsContinuedByAnotherProcess(t *testing.T) {
	for _, unrecorded := range []bool{false, true} {
		for _, reader := range []bool{false, true} {
			t.Run(fmt.Sprintf("unrecorded %v, reader %v", unrecorded, reader), func(t *testing.T) {
				h := newRebuildFixture(t)
				h.damage(5, 320)
				h.strays()
				h.interrupt(250, unrecorded)
				svc, store := h.gateway(30 * time.Minute)
				store.unrecorded = unrecorded
				if reader {
					h.lost.lose(rebuildOwner)
					first := 5
					c, err := svc.Listing.Library(t.Context(), domaintest.As(string(rebuildOwner)), rebuildOwner,
						library.LibraryQuery{PageArgs: cursor.PageArgs{First: &first}})
					if err != nil || len(c.Edges) != first {
						t.Fatalf("the reader's page: %v, %v", c, err)
					}
				} else {
					out, err := svc.Repair.RebuildLibrary(t.Context(), domaintest.Admin(string(rebuildOwner)), string(rebuildOwner))
					if err != nil || out.Restored != 2 || out.Removed != rebuildStrays {
						t.Errorf("the repetition returned %+v, %v", out, err)
					}
				}
				// The progress of two pages of a hundred was stored; strays are read twice more.
				if most := rebuildItems - 200 + 2*rebuildStrays; store.repaired > most {
					t.Errorf("%d items were repaired after the interruption, want at most %d", store.repaired, most)
				}
				if h.progress() != nil {
					t.Error("the progress is kept beyond the end")
				}
				h.WantClean()
			})
		}
	}
}

// TestRebuild_IsContinuedWhereEverythingIsRestored: a rebuild that is interrupted while it
// searches for strays has restored everything, and what it has removed is counted.
func TestRebuild_IsContinuedWhereEverythingIsRestored(t *testing.T) {
	for _, strays := range []int{0, rebuildStrays} {
		t.Run(fmt.Sprintf("%d strays", strays), func(t *testing.T) {
			h := newRebuildFixture(t)
			h.damage(5, 320)
			if strays > 0 {
				h.strays()
			}
			svc, store := h.gateway(0)
			store.sweeping = from(5) // four pages of the PRIVATE bucket
			h.fails(svc)
			svc, store = h.gateway(0)
			restored, removed, err := svc.Repair.Rebuild(t.Context(), rebuildOwner)
			if restored != 2 || removed != strays || err != nil {
				t.Errorf("%d restored, %d removed: %v", restored, removed, err)
			}
			if store.repaired != 0 {
				t.Errorf("%d items were repaired again", store.repaired)
			}
			h.WantClean()
		})
	}
}

// TestRebuild_IsContinuedByAClockBehind: a rebuild that is interrupted again and again makes
// progress each time, also by a process whose clock is behind.
func TestRebuild_IsContinuedByAClockBehind(t *testing.T) {
	h := newRebuildFixture(t)
	h.interrupt(150, false)
	svc, store := h.gateway(-30 * time.Minute)
	store.at = from(150)
	h.fails(svc)
	svc, store = h.gateway(0)
	if _, _, err := svc.Repair.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Error(err)
	}
	if store.repaired != rebuildItems-200 {
		t.Errorf("%d items were repaired", store.repaired)
	}
}

// TestRebuild_BeginsAgainWhenItsProgressIsDeleted: deleting the progress of a rebuild makes it
// start again, even if the library was marked as complete all the time.
func TestRebuild_BeginsAgainWhenItsProgressIsDeleted(t *testing.T) {
	h := newRebuildFixture(t)
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
		return h.Store.Libraries.DropRebuildNote(t.Context(), rebuildOwner, kept.AsOf)
	}
	if _, _, err := svc.Repair.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Error(err)
	}
	if store.repaired < 250+rebuildItems {
		t.Errorf("%d items were repaired", store.repaired)
	}
	h.WantClean()
}

// TestRebuild_IsDatedByTheClockOfTheStore: if the progress were dated by a clock that is ahead, it
// would survive a deletion of the library.
func TestRebuild_IsDatedByTheClockOfTheStore(t *testing.T) {
	h := newRebuildFixture(t)
	const ahead = 10 * time.Minute
	store := &rebuilding{losing: h.lost, at: from(150)}
	svc := domaintest.Open(t, domain.Config{Store: store.on(h.Store), Runtime: clockAhead{h.Runtime, ahead},
		Journal: h.Journal, Names: &domaintest.CountingNames{},
		Ahead: func() time.Duration { return ahead }})
	t.Cleanup(svc.Engine.End)
	h.fails(svc)
	var kept struct{ AsOf, At clock.Instant }
	if err := json.Unmarshal(h.progress()[8:], &kept); err != nil {
		t.Fatal(err)
	}
	if now := clock.Of(h.Runtime.Now()); kept.AsOf > now || kept.At > now || kept.AsOf == 0 {
		t.Errorf("at %s the progress is of %s, as of %s", now, kept.At, kept.AsOf)
	}
}

// TestRebuild_KeepsProgressAmongItemsOfOthers: when every item of the store is read, the
// progress is stored every ten pages.
func TestRebuild_KeepsProgressAmongItemsOfOthers(t *testing.T) {
	h := newRebuildFixture(t)
	svc, store := h.gateway(0)
	store.unrecorded, store.others, store.at = true, 1300, from(1)
	h.fails(svc)
	if store.notes != 2 { // at its beginning, and after a thousand
		t.Errorf("the progress was kept %d times", store.notes)
	}
	svc, store = h.gateway(0)
	store.unrecorded, store.others = true, 1300
	if _, _, err := svc.Repair.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Error(err)
	}
	if store.scans != 7 {
		t.Errorf("%d pages of items were read", store.scans)
	}
	h.WantClean()
}

// TestRebuild_MarksAsOfItsBeginning: the marks of a rebuild are as of its start, before
// anything was read, so that a deletion from then on removes them too.
func TestRebuild_MarksAsOfItsBeginning(t *testing.T) {
	h := newRebuildFixture(t)
	svc, first := h.gateway(0)
	first.at = from(150)
	h.fails(svc)
	svc, second := h.gateway(0)
	if _, _, err := svc.Repair.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Fatal(err)
	}
	if second.asOf > first.opened {
		t.Errorf("a rebuild begun before %v marks as of %v", first.opened, second.asOf)
	}
	svc, third := h.gateway(0)
	if _, _, err := svc.Repair.Rebuild(t.Context(), rebuildOwner); err != nil {
		t.Fatal(err)
	}
	if third.asOf > third.opened || third.asOf <= second.opened {
		t.Errorf("a rebuild begun between %v and %v marks as of %v", second.opened, third.opened, third.asOf)
	}
}

// TestRebuild_CanStartOver: a rebuild starts again if its progress does not describe the present
// library.
func TestRebuild_CanStartOver(t *testing.T) {
	for _, c := range []struct {
		name       string
		unrecorded bool // before
		ahead      time.Duration
		meanwhile  func(h *rebuildFixture, store *rebuilding) error
	}{
		{name: "the library was deleted", meanwhile: func(h *rebuildFixture, store *rebuilding) error {
			// As a store does with what is deleted by hand.
			h.lost.lose(rebuildOwner)
			return h.Store.Libraries.DropRebuildNote(h.T.Context(), rebuildOwner, clock.Of(h.Runtime.Now()))
		}},
		{name: "the record was deleted", meanwhile: func(h *rebuildFixture, store *rebuilding) error {
			store.unrecorded = true
			return nil
		}},
		{name: "the record was missing, and is complete again", unrecorded: true,
			meanwhile: func(*rebuildFixture, *rebuilding) error { return nil }},
		{name: "the progress is an hour old", ahead: time.Hour + time.Second, meanwhile: func(*rebuildFixture, *rebuilding) error { return nil }},
		{name: "the progress cannot be read", meanwhile: func(h *rebuildFixture, _ *rebuilding) error {
			return h.Store.Libraries.PutRebuildNote(h.T.Context(), rebuildOwner, clock.Of(h.Runtime.Now()), []byte("\xffof another version"))
		}},
		{name: "the rebuild was completed", meanwhile: func(h *rebuildFixture, _ *rebuilding) error {
			svc, _ := h.gateway(0)
			_, _, err := svc.Repair.Rebuild(h.T.Context(), rebuildOwner)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newRebuildFixture(t)
			h.interrupt(250, c.unrecorded)
			svc, store := h.gateway(c.ahead)
			if err := c.meanwhile(h, store); err != nil {
				t.Fatal(err)
			}
			h.damage(5, 320)
			if restored, _, err := svc.Repair.Rebuild(t.Context(), rebuildOwner); restored != 2 || err != nil {
				t.Errorf("%d were restored: %v", restored, err)
			}
			if store.repaired != rebuildItems {
				t.Errorf("%d items were repaired, want %d", store.repaired, rebuildItems)
			}
			if h.progress() != nil {
				t.Error("the progress is kept beyond the end")
			}
			h.WantClean()
		})
	}
}
