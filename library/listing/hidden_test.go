package listing_test

import (
	"testing"

	"carrel/core/commit"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
)

// hidden counts the entries that one reader's pages do not show.
type hidden struct {
	library.Unwatched
	stale, unseen int
}

func (w *hidden) Hid(stale, unseen int) {
	w.stale += stale
	w.unseen += unseen
}

func TestWatcher_CountsHiddenEntries(t *testing.T) {
	r := staleFixture(t) // n02 has moved, its entry has not, and n00 has entries at two positions
	past := domaintest.RowsStart - 1
	r.Change("c:acme:n04", func(h *library.Header) { h.ExpiresAt = &past })
	r.Change("c:acme:n05", func(h *library.Header) { h.State = commit.Deleted })
	for _, tc := range []struct {
		name          string
		q             library.LibraryQuery
		stale, unseen int
	}{
		{"oldest first", library.LibraryQuery{PageArgs: domaintest.First(10)}, 3, 1},
		{"newest first, where a moved item is shown all the same", library.LibraryQuery{PageArgs: domaintest.First(10), Descending: true}, 3, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &hidden{}
			svc := domaintest.Open(t, domain.Config{Store: r.Store.Store, Runtime: r.Clock, Journal: r.Repairs, Watch: w})
			if _, err := svc.Listing.Library(t.Context(), domaintest.Ann(), "u:acme:ann", tc.q); err != nil {
				t.Fatal(err)
			}
			if w.stale != tc.stale || w.unseen != tc.unseen {
				t.Errorf("%d stale and %d unseen entries were reported, want %d and %d", w.stale, w.unseen, tc.stale, tc.unseen)
			}
		})
	}
	t.Run("nothing hidden", func(t *testing.T) {
		clean := domaintest.NewRows(t)
		clean.Principals("u:acme:ann")
		addNumbered(clean, 3)
		w := &hidden{}
		svc := domaintest.Open(t, domain.Config{Store: clean.Store.Store, Runtime: clean.Clock, Journal: clean.Repairs, Watch: w})
		if _, err := svc.Listing.Library(t.Context(), domaintest.Ann(), "u:acme:ann",
			library.LibraryQuery{PageArgs: domaintest.First(10)}); err != nil {
			t.Fatal(err)
		}
		if w.stale+w.unseen > 0 {
			t.Errorf("%d stale and %d unseen entries were reported for a correct library", w.stale, w.unseen)
		}
	})
}
