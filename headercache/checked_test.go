package headercache_test

import (
	"slices"
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/domain/domaintest"
	"carrel/headercache"
	"carrel/library"
	"carrel/principal"
)

// TestChecked_ReturnsTheRowsOfTheMembersAskedFor: a page of another viewer, or of the same viewer in another library,
// reads other rows of an item.
func TestChecked_ReturnsTheRowsOfTheMembersAskedFor(t *testing.T) {
	const bob = principal.ID("u:acme:bob")
	r := domaintest.NewRows(t)
	r.Principals(ann, bob)
	r.Item(item, 1, principal.Public, domaintest.ContentMember(ann, library.Manages))
	c := headercache.NewChecked(t.Context(), headercache.CheckedConfig{
		Config: headercache.Config{Bytes: 1 << 20, AlwaysOn: true}, Contents: r.Store.Contents, Principals: r.Store.Principals,
		Libraries: r.Store.Libraries, InFlightLists: r.Store.Journal, Runtime: r.Clock, Watch: library.Unwatched{},
	})
	for _, members := range [][]principal.ID{{ann, bob}, {ann, "u:acme:cat"}, {ann}, {bob}, {bob, ann}} {
		for range 2 {
			es := []library.Entry{{EntryKey: library.EntryKey{Content: item}}}
			rows, err := c.ReadItems(t.Context(), &library.Reading{Owner: members[0], Members: members}, es, new(commit.InFlightSet))
			r.Must(err)
			same := func(m library.Member, p principal.ID) bool { return m.Principal == p && m.Active() == (p == ann) }
			if !slices.EqualFunc(rows[0].Members, members, same) {
				t.Errorf("with %v it returns %+v", members, rows[0].Members)
			}
		}
	}
}

// TestChecked_ReadsAnItemThatHasMovedSince: an entry by title is older than the item's last change. The entry at the position
// of the cached item is gone, so the item is read.
func TestChecked_ReadsAnItemThatHasMovedSince(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals(ann)
	r.Item(item, 1, principal.Public, domaintest.ContentMember(ann, library.Manages))
	c := headercache.NewChecked(t.Context(), headercache.CheckedConfig{
		Config: headercache.Config{Bytes: 1 << 20, AlwaysOn: true}, Contents: r.Store.Contents, Principals: r.Store.Principals,
		Libraries: r.Store.Libraries, InFlightLists: r.Store.Journal, Runtime: r.Clock, Watch: library.Unwatched{},
	})
	q := library.Slice{Owner: ann, Bucket: principal.Public, Order: library.ByTitle, Limit: 1}
	es, err := r.Store.Libraries.PageLibrary(t.Context(), q)
	r.Must(err)
	reading := &library.Reading{Owner: ann, Source: principal.Public, Members: []principal.ID{ann}}
	for _, want := range []clock.Instant{1, 1, 7, 7} {
		if want == 7 {
			r.Change(item, func(h *library.Header) { h.Position = 7 })
			r.ApplyIndex(item, ann)
		}
		rows, err := c.ReadItems(t.Context(), reading, es, new(commit.InFlightSet))
		r.Must(err)
		if got := rows[0].Header.Position; got != want {
			t.Errorf("the item is at %d, want %d", got, want)
		}
	}
}
