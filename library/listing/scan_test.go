package listing_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

func wantSame(r *domaintest.Rows, want, got []string) {
	r.T.Helper()
	if diff := cmp.Diff(append([]string{}, want...), append([]string{}, got...)); diff != "" {
		r.T.Errorf("(-want +got):\n%s", diff)
	}
}

// walkAll pages through a library, with first and after or with last and before, and returns
// the names in the order of the connection. It checks what must be true of every page.
func walkAll(r *domaintest.Rows, v *principal.Viewer, owner principal.ID, q library.LibraryQuery, size int, forwards bool) []string {
	r.T.Helper()
	var all []string
	var cursor *string
	for pages := 0; ; pages++ {
		if pages > 1000 {
			r.T.Fatal("the walk does not end")
		}
		q.PageArgs = domaintest.FirstAfter(size, cursor)
		if !forwards {
			q.PageArgs = domaintest.LastBefore(size, cursor)
		}
		c := r.Read(v, owner, q)
		info := &c.PageInfo
		if len(c.Edges) > size {
			r.T.Fatalf("a page of %d has %d edges", size, len(c.Edges))
		}
		wantEnds(r, c, cursor)
		more, behind, next := info.HasNextPage, info.HasPreviousPage, info.EndCursor()
		if !forwards {
			more, behind, next = info.HasPreviousPage, info.HasNextPage, info.StartCursor()
		}
		if more && len(c.Edges) < size && len(r.Outdated) == 0 {
			r.T.Fatalf("a page of %d has %d edges and says that there are more", size, len(c.Edges))
		}
		// In the opposite direction, an item that has moved on is not met.
		if met := countInPlace(r, all); q.OtherSide && behind != (met > 0) {
			r.T.Errorf("page %d: the other side's flag is %v after %d items", pages, behind, met)
		}
		if forwards {
			all = append(all, domaintest.NamesOf(c)...)
		} else {
			all = append(domaintest.NamesOf(c), all...)
		}
		if !more {
			return all
		}
		cursor = next
	}
}

// countInPlace counts the names whose entries are at the positions of the items.
func countInPlace(r *domaintest.Rows, names []string) (n int) {
	for _, name := range names {
		if !r.Outdated[name] {
			n++
		}
	}
	return n
}

// wantEnds checks that the ends of a page are those of its edges, and that an
// empty page has cursors if it was requested from one.
func wantEnds(r *domaintest.Rows, c *library.LibraryConnection, from *string) {
	r.T.Helper()
	start, end := c.PageInfo.StartCursor(), c.PageInfo.EndCursor()
	if len(c.Edges) == 0 {
		follow := (c.PageInfo.HasNextPage || c.PageInfo.HasPreviousPage) && len(r.Outdated) > 0
		if wanted := from != nil || follow; (start != nil) != wanted || (end != nil) != wanted {
			r.T.Errorf("an empty page from %v has the cursors %v and %v", from, start, end)
		}
		return
	}
	if *start != c.Edges[0].Cursor() || *end != c.Edges[len(c.Edges)-1].Cursor() {
		r.T.Error("the page's cursors are not those of its first and last edge")
	}
}

// TestScan_MatchesASortedList compares all ways of paging with the plain sorted list of what must
// be shown, in libraries full of items that are hidden, deleted, at other positions or expired.
func TestScan_MatchesASortedList(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "u:acme:bob", "u:other:eve")
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		r.T = rt
		owner := principal.ID(fmt.Sprintf("u:acme:owner%d", round))
		r.Principals(owner)
		size := rapid.IntRange(1, 12).Draw(rt, "size")
		q := library.LibraryQuery{OtherSide: true, Descending: rapid.Bool().Draw(rt, "descending")}
		q.IncludeShared = rapid.Bool().Draw(rt, "includeShared")
		forwards := rapid.Bool().Draw(rt, "forwards")
		who := rapid.SampledFrom([]func() *principal.Viewer{
			domaintest.Anonymous, domaintest.Bob, domaintest.Eve, domaintest.Root,
			func() *principal.Viewer { return &principal.Viewer{User: owner} },
		}).Draw(rt, "viewer")()
		fates := []string{"", "", "", "", "moved", "narrowed", "deleted", "expired", "left"}
		towardsNewer := forwards != q.Descending
		if towardsNewer {
			// A walk that starts at the newest end may show it anywhere on its first page; see
			// TestScan_FirstPageShowsEachItemOnce.
			fates = append(fates, "elsewhere")
		}
		r.Outdated = map[string]bool{}
		var items []drawnItem
		for i := range rapid.IntRange(0, 40).Draw(rt, "items") {
			id := library.ContentID(fmt.Sprintf("c:acme:r%d-%d", round, i))
			items = append(items, drawItem(r, rt, owner, id, rapid.SampledFrom(fates).Draw(rt, "fate")))
		}

		want := wantShown(items, who, owner, q)
		got := walkAll(r, who, owner, q, size, forwards)
		if towardsNewer {
			if !forwards {
				slices.Reverse(got)
			}
			// The last page ends with those of its items that have moved on.
			in := len(got)
			for in > 0 && r.Outdated[got[in-1]] {
				in--
			}
			wantDistinct(rt, got[in:])
			if got = got[:in]; !forwards {
				slices.Reverse(got)
			}
		}
		wantSame(r, want, got)
	})
}

func wantDistinct(rt *rapid.T, names []string) {
	rt.Helper()
	sorted := slices.Sorted(slices.Values(names))
	if len(slices.Compact(sorted)) != len(names) {
		rt.Errorf("shown twice: %v", names)
	}
}

// drawnItem is what the oracle knows of an item.
type drawnItem struct {
	name    string
	at      clock.Instant
	vis     principal.Visibility
	fate    string
	sharers []principal.ID
}

// drawItem stores an item that may have had changes that the owner's library does not show yet.
func drawItem(r *domaintest.Rows, rt *rapid.T, owner principal.ID, id library.ContentID, fate string) drawnItem {
	d := drawnItem{name: id.Name(), fate: fate}
	d.at = clock.Instant(rapid.IntRange(1, 30).Draw(rt, "position"))
	visibilities := []principal.Visibility{principal.Private, principal.LoggedIn, principal.Public}
	d.vis = rapid.SampledFrom(visibilities).Draw(rt, "visibility")
	members := []library.Member{domaintest.ContentMember(owner, library.Manages)}
	if rapid.Bool().Draw(rt, "shared with bob") {
		members = append(members, domaintest.ContentMember("u:acme:bob", library.Viewing))
		d.sharers = append(d.sharers, "u:acme:bob")
	}
	r.Item(id, d.at, d.vis, members...)
	switch fate {
	case "moved": // and applied: its entry is at its position
		d.at += 100
		r.Change(id, moveTo(d.at))
		for _, m := range members {
			r.ApplyIndex(id, m.Principal)
		}
	case "narrowed":
		d.vis = principal.Private
		r.Change(id, func(h *library.Header) { h.Visibility = principal.Private })
	case "deleted":
		r.Change(id, func(h *library.Header) { h.State = commit.Deleted })
	case "expired":
		now := domaintest.RowsStart
		r.Change(id, func(h *library.Header) { h.ExpiresAt = &now })
	case "left":
		r.Change(id, func(*library.Header) {}, library.Member{Principal: owner, Role: library.Manages, Leaving: true})
	case "elsewhere": // its fan-out has not reached the library
		r.Change(id, moveTo(d.at+1000))
		r.Outdated[d.name] = true
	}
	return d
}

// wantShown returns what a whole walk must show, as plainly as possible.
func wantShown(items []drawnItem, v *principal.Viewer, owner principal.ID, q library.LibraryQuery) []string {
	shown := slices.Clone(items)
	shown = slices.DeleteFunc(shown, func(d drawnItem) bool {
		if d.fate == "deleted" || d.fate == "expired" || d.fate == "left" || d.fate == "elsewhere" {
			return true
		}
		switch {
		case v.User == owner, v.Admin && v.User.Tenant() == "acme":
			return false
		case d.vis == principal.Public, d.vis == principal.LoggedIn && v.User.Tenant() == "acme":
			return false
		}
		return !q.IncludeShared || !slices.Contains(d.sharers, v.User)
	})
	slices.SortFunc(shown, func(a, b drawnItem) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		if a.name < b.name {
			return -1
		}
		return 1
	})
	list := []string{}
	for _, d := range shown {
		list = append(list, d.name)
	}
	if q.Descending {
		slices.Reverse(list)
	}
	return list
}

// addNumbered stores n PUBLIC items of ann's, n00 the oldest, at 10, 20, ...
func addNumbered(r *domaintest.Rows, n int) {
	r.T.Helper()
	for i := range n {
		r.Item(numberedID(i), clock.Instant(10*i+10), principal.Public, domaintest.ContentMember("u:acme:ann", library.Viewing))
	}
}

func numberedID(i int) library.ContentID {
	return library.ContentID(fmt.Sprintf("c:acme:n%02d", i))
}

// staleFixture is a library in which n02 has moved to the newest end, but its entry has not,
// and n00 has moved after it and has entries at both positions.
func staleFixture(t *testing.T) *domaintest.Rows {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	addNumbered(r, 6)
	r.Change("c:acme:n02", moveTo(1000))
	r.Change("c:acme:n00", moveTo(900))
	r.Must(r.Store.Contents.CleanUp(t.Context(), &library.Cleanup{ID: "c:acme:n00", Positions: []clock.Instant{10}}))
	r.ApplyIndex("c:acme:n00", "u:acme:ann")
	return r
}

// TestScan_FirstPageShowsEachItemOnce: a page without a cursor that starts at the newest end shows
// each item once, in the order of the items' positions.
func TestScan_FirstPageShowsEachItemOnce(t *testing.T) {
	r := staleFixture(t)
	newestFirst := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Descending: true, PageArgs: domaintest.First(10)})
	r.WantNames(newestFirst, "n02", "n00", "n05", "n04", "n03", "n01")
	r.WantNames(r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{PageArgs: domaintest.Last(10)}), "n01",
		"n03", "n04", "n05", "n00", "n02")
	asked := r.Repairs.Take()
	for _, id := range []library.ContentID{"c:acme:n00", "c:acme:n02"} {
		if asked[id] != "u:acme:ann" {
			t.Errorf("the repair of the stale entry of %s was not requested", id)
		}
	}
	// The page continues from the items' positions.
	cursor := newestFirst.Edges[1].Cursor()
	r.WantNames(r.Read(domaintest.Anonymous(), "u:acme:ann",
		library.LibraryQuery{Descending: true, PageArgs: domaintest.FirstAfter(10, &cursor)}), "n05", "n04", "n03", "n01")
}

// TestScan_LaterPagesShowItemsAtTheirPosition: every other page shows an item only at its position.
func TestScan_LaterPagesShowItemsAtTheirPosition(t *testing.T) {
	want := []string{"n01", "n03", "n04", "n05", "n00"}
	for _, c := range []struct {
		name       string
		descending bool
		forwards   bool
	}{
		{"ascending forwards", false, true},
		{"descending backwards", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := staleFixture(t)
			got := walkAll(r, domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Descending: c.descending, OtherSide: true}, 2, c.forwards)
			if c.descending {
				slices.Reverse(got)
			}
			wantSame(r, want, got)
		})
	}
}

// TestScan_WalkTowardsNewerOmitsMovedItems: what moves or is added during a walk towards newer
// entries is omitted, and follows the last page's cursor.
func TestScan_WalkTowardsNewerOmitsMovedItems(t *testing.T) {
	for _, c := range []struct {
		name       string
		descending bool
	}{
		{"ascending forwards", false},
		{"descending backwards", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := domaintest.NewRows(t)
			r.Principals("u:acme:ann")
			addNumbered(r, 5)
			page := func(size int, cursor *string) (shown []string, more bool, next *string) {
				q := library.LibraryQuery{Descending: c.descending, PageArgs: domaintest.FirstAfter(size, cursor)}
				if c.descending {
					q.PageArgs = domaintest.LastBefore(size, cursor)
				}
				conn := r.Read(domaintest.Anonymous(), "u:acme:ann", q)
				shown, info := domaintest.NamesOf(conn), &conn.PageInfo
				wantEnds(r, conn, cursor)
				if c.descending {
					slices.Reverse(shown)
					return shown, info.HasPreviousPage, info.StartCursor()
				}
				return shown, info.HasNextPage, info.EndCursor()
			}
			shown, more, next := page(2, nil)
			wantSame(r, []string{"n00", "n01"}, shown)
			r.Change("c:acme:n00", moveTo(500))
			r.ApplyIndex("c:acme:n00", "u:acme:ann")
			r.Item("c:acme:new", 600, principal.Public, domaintest.ContentMember("u:acme:ann", library.Viewing))
			for _, want := range [][]string{{"n02", "n03"}, {"n04"}} {
				if !more {
					t.Error("the walk ends early")
				}
				shown, more, next = page(2, next)
				wantSame(r, want, shown)
			}
			if more {
				t.Error("beyond the bound of the walk there is more")
			}
			shown, more, _ = page(5, next)
			wantSame(r, []string{"n00", "new"}, shown)
			if more {
				t.Error("there is nothing after the newest")
			}
		})
	}
}

// moveTo is a change of the position alone.
func moveTo(at clock.Instant) func(*library.Header) {
	return func(h *library.Header) { h.Position = at }
}
