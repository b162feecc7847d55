package listing_test

import (
	"slices"
	"testing"

	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// A library that is built again is opened once more. The in-flight lists are read once more, too: if
// its bound were read later than they were, a copy could show an item that the walk returns again.
func TestPages_OfALibraryThatWasLostReadTheListsAgain(t *testing.T) {
	h := newCopying(t, alwaysOn)
	h.Note("a", principal.Public, "u:acme:ann=MANAGER")
	h.WantNothingInFlight()
	h.page(domaintest.Anonymous(), library.LibraryQuery{})
	want := []string{"slice", "in flight", "slice"}
	for range 2 {
		h.reads.take()
		if conn := h.page(domaintest.Anonymous(), library.LibraryQuery{}); len(conn.Edges) != 1 || h.reads.lost != 0 {
			t.Fatalf("%d edges, and %d times more lost", len(conn.Edges), h.reads.lost)
		}
		if calls, _ := h.reads.take(); !slices.Equal(calls, want) {
			t.Errorf("the page reads %q, want %q", calls, want)
		}
		h.reads.lost, want = 1, append(want, want...)
	}
}
