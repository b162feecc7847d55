package listing_test

import (
	"testing"

	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// A library that is built again is opened once more, when the in-flight lists were already read. Its
// bound is read later than they were, so a copy could show an item that the walk returns again.
func TestPages_OfALibraryThatWasLostReadHeaders(t *testing.T) {
	h := newCopying(t, alwaysOn)
	h.Note("a", principal.Public, "u:acme:ann=MANAGER")
	h.WantNothingInFlight()
	for _, lost := range []bool{false, true, false} {
		if lost {
			h.reads.lost = 2 // once for what was read ahead
		}
		if conn := h.page(domaintest.Anonymous(), library.LibraryQuery{}); len(conn.Edges) != 1 || h.reads.lost != 0 {
			t.Fatalf("%d edges, and %d times more lost", len(conn.Edges), h.reads.lost)
		}
	}
	if h.counts.hits != 1 {
		t.Errorf("copies have served %d entries, want 1", h.counts.hits)
	}
}
