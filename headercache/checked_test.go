package headercache_test

import (
	"slices"
	"testing"

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
