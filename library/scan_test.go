package library_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"carrel/library"
)

func (r *room) wantSame(want, got []string) {
	r.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), append([]string{}, got...)); diff != "" {
		r.t.Errorf("(-want +got):\n%s", diff)
	}
}

// walkAll pages through a library, with first and after or with last and
// before, and gives the names in the order of the connection. It checks what
// every page must keep.
func (r *room) walkAll(v *library.Viewer, owner library.PrincipalID, q library.LibraryQuery, size int, forwards bool) []string {
	r.t.Helper()
	var all []string
	var cursor *string
	for pages := 0; ; pages++ {
		if pages > 1000 {
			r.t.Fatal("the walk does not end")
		}
		q.PageArgs = firstAfter(size, cursor)
		if !forwards {
			q.PageArgs = lastBefore(size, cursor)
		}
		c := r.read(v, owner, q)
		info := &c.PageInfo
		if len(c.Edges) > size {
			r.t.Fatalf("a page of %d has %d edges", size, len(c.Edges))
		}
		r.wantEnds(c)
		more, behind, next := info.HasNextPage, info.HasPreviousPage, info.EndCursor()
		if !forwards {
			more, behind, next = info.HasPreviousPage, info.HasNextPage, info.StartCursor()
		}
		if more && len(c.Edges) < size {
			r.t.Fatalf("a page of %d has %d edges and says that there are more", size, len(c.Edges))
		}
		if q.OtherSide && behind != (len(all) > 0) {
			r.t.Errorf("page %d: the other side's flag is %v after %d items", pages, behind, len(all))
		}
		if forwards {
			all = append(all, names(c)...)
		} else {
			all = append(names(c), all...)
		}
		if !more {
			return all
		}
		cursor = next
	}
}

// wantEnds checks that the ends of a page are those of its edges.
func (r *room) wantEnds(c *library.LibraryConnection) {
	r.t.Helper()
	start, end := c.PageInfo.StartCursor(), c.PageInfo.EndCursor()
	if len(c.Edges) == 0 {
		if start != nil || end != nil {
			r.t.Errorf("an empty page has the cursors %v and %v", start, end)
		}
		return
	}
	if *start != c.Edges[0].Cursor() || *end != c.Edges[len(c.Edges)-1].Cursor() {
		r.t.Error("the page's cursors are not those of its first and last edge")
	}
}

// TestPagesAgainstASortedList compares all ways of paging with the plain
// sorted list of what should be shown, in libraries full of items that are
// hidden, gone, elsewhere or due.
func TestPagesAgainstASortedList(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann", "u:acme:bob", "u:other:eve")
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		r.t = rt
		owner := library.PrincipalID(fmt.Sprintf("u:acme:owner%d", round))
		r.principals(owner)
		size := rapid.IntRange(1, 12).Draw(rt, "size")
		q := library.LibraryQuery{OtherSide: true, Descending: rapid.Bool().Draw(rt, "descending")}
		q.IncludeShared = rapid.Bool().Draw(rt, "includeShared")
		forwards := rapid.Bool().Draw(rt, "forwards")
		who := rapid.SampledFrom([]func() *library.Viewer{
			anonymous, bob, eve, root, func() *library.Viewer { return &library.Viewer{User: owner} },
		}).Draw(rt, "viewer")()
		fates := []string{"", "", "", "", "moved", "narrowed", "deleted", "expired", "left"}
		if forwards != q.Descending {
			// A walk that begins at the newest end may show it once; see
			// TestFreshPage.
			fates = append(fates, "elsewhere")
		}
		var items []drawnItem
		for i := range rapid.IntRange(0, 40).Draw(rt, "items") {
			id := library.ContentID(fmt.Sprintf("c:acme:r%d-%d", round, i))
			items = append(items, r.drawItem(rt, owner, id, rapid.SampledFrom(fates).Draw(rt, "fate")))
		}

		want := wantShown(items, who, owner, q)
		r.wantSame(want, r.walkAll(who, owner, q, size, forwards))
	})
}

// drawnItem is what the oracle knows of an item.
type drawnItem struct {
	name    string
	at      library.Instant
	vis     library.Visibility
	fate    string
	sharers []library.PrincipalID
}

// drawItem stores an item that may have gone through something that the
// owner's library does not show yet.
func (r *room) drawItem(rt *rapid.T, owner library.PrincipalID, id library.ContentID, fate string) drawnItem {
	d := drawnItem{name: id.Name(), fate: fate}
	d.at = library.Instant(rapid.IntRange(1, 30).Draw(rt, "position"))
	visibilities := []library.Visibility{library.Private, library.LoggedIn, library.Public}
	d.vis = rapid.SampledFrom(visibilities).Draw(rt, "visibility")
	members := []library.Member{has(owner, library.Manages)}
	if rapid.Bool().Draw(rt, "shared with bob") {
		members = append(members, has("u:acme:bob", library.Viewing))
		d.sharers = append(d.sharers, "u:acme:bob")
	}
	r.item(id, d.at, d.vis, members...)
	switch fate {
	case "moved": // and enforced: it stands where it should
		d.at += 100
		r.change(id, moveTo(d.at))
		r.enforce(id, owner)
	case "narrowed":
		d.vis = library.Private
		r.change(id, func(h *library.Header) { h.Visibility = library.Private })
	case "deleted":
		r.change(id, func(h *library.Header) { h.State = library.Deleted })
	case "expired":
		now := roomStart
		r.change(id, func(h *library.Header) { h.ExpiresAt = &now })
	case "left":
		r.change(id, func(*library.Header) {}, library.Member{Principal: owner, Role: library.Manages, Leaving: true})
	case "elsewhere": // its fan-out has not reached the library
		r.change(id, moveTo(d.at+1000))
	}
	return d
}

// wantShown is what a whole walk shows, said as plainly as can be.
func wantShown(items []drawnItem, v *library.Viewer, owner library.PrincipalID, q library.LibraryQuery) []string {
	shown := slices.Clone(items)
	shown = slices.DeleteFunc(shown, func(d drawnItem) bool {
		if d.fate == "deleted" || d.fate == "expired" || d.fate == "left" || d.fate == "elsewhere" {
			return true
		}
		switch {
		case v.User == owner, v.Admin && v.User.Tenant() == "acme":
			return false
		case d.vis == library.Public, d.vis == library.LoggedIn && v.User.Tenant() == "acme":
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

// numbered stores n PUBLIC items of ann's, n00 the oldest, at 10, 20, ...
func (r *room) numbered(n int) {
	r.t.Helper()
	for i := range n {
		r.item(numberedID(i), library.Instant(10*i+10), library.Public, has("u:acme:ann", library.Viewing))
	}
}

func numberedID(i int) library.ContentID {
	return library.ContentID(fmt.Sprintf("c:acme:n%02d", i))
}

// staleRoom is a library in which n02 has moved to the newest end, but its
// entry has not, and n00 has moved behind it and stands in both places.
func staleRoom(t *testing.T) *room {
	r := newRoom(t)
	r.principals("u:acme:ann")
	r.numbered(6)
	r.change("c:acme:n02", moveTo(1000))
	r.change("c:acme:n00", moveTo(900))
	r.must(r.store.Settle(t.Context(), &library.Settlement{ID: "c:acme:n00", Positions: []library.Instant{10}}))
	r.enforce("c:acme:n00", "u:acme:ann")
	return r
}

// TestFreshPage: a page without a cursor that starts at the newest end shows
// each item once, in the order in which the items stand.
func TestFreshPage(t *testing.T) {
	r := staleRoom(t)
	newestFirst := r.read(anonymous(), "u:acme:ann", library.LibraryQuery{Descending: true, PageArgs: first(10)})
	r.wantNames(newestFirst, "n02", "n00", "n05", "n04", "n03", "n01")
	r.wantNames(r.read(anonymous(), "u:acme:ann", library.LibraryQuery{PageArgs: last(10)}), "n01", "n03", "n04", "n05", "n00", "n02")
	asked := r.repairs.take()
	for _, id := range []library.ContentID{"c:acme:n00", "c:acme:n02"} {
		if asked[id] != "u:acme:ann" {
			t.Errorf("the repair of the stale entry of %s was not asked for", id)
		}
	}
	// The page goes on from where the items stand.
	cursor := newestFirst.Edges[1].Cursor()
	r.wantNames(r.read(anonymous(), "u:acme:ann", library.LibraryQuery{Descending: true, PageArgs: firstAfter(10, &cursor)}), "n05", "n04", "n03", "n01")
}

// TestOtherPages: every other page shows an item only where it stands.
func TestOtherPages(t *testing.T) {
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
			r := staleRoom(t)
			got := r.walkAll(anonymous(), "u:acme:ann", library.LibraryQuery{Descending: c.descending, OtherSide: true}, 2, c.forwards)
			if c.descending {
				slices.Reverse(got)
			}
			r.wantSame(want, got)
		})
	}
}

// TestWalkTowardsNewer: what moves or comes during a walk towards newer entries
// is left out of it, and is got from the last page's cursor.
func TestWalkTowardsNewer(t *testing.T) {
	for _, c := range []struct {
		name       string
		descending bool
	}{
		{"ascending forwards", false},
		{"descending backwards", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoom(t)
			r.principals("u:acme:ann")
			r.numbered(5)
			page := func(size int, cursor *string) (shown []string, more bool, next *string) {
				q := library.LibraryQuery{Descending: c.descending, PageArgs: firstAfter(size, cursor)}
				if c.descending {
					q.PageArgs = lastBefore(size, cursor)
				}
				conn := r.read(anonymous(), "u:acme:ann", q)
				shown, info := names(conn), &conn.PageInfo
				r.wantEnds(conn)
				if c.descending {
					slices.Reverse(shown)
					return shown, info.HasPreviousPage, info.StartCursor()
				}
				return shown, info.HasNextPage, info.EndCursor()
			}
			shown, more, next := page(2, nil)
			r.wantSame([]string{"n00", "n01"}, shown)
			r.change("c:acme:n00", moveTo(500))
			r.enforce("c:acme:n00", "u:acme:ann")
			r.item("c:acme:new", 600, library.Public, has("u:acme:ann", library.Viewing))
			for _, want := range [][]string{{"n02", "n03"}, {"n04"}} {
				if !more {
					t.Error("the walk ends early")
				}
				shown, more, next = page(2, next)
				r.wantSame(want, shown)
			}
			if more {
				t.Error("beyond the bound of the walk there is more")
			}
			shown, more, _ = page(5, next)
			r.wantSame([]string{"n00", "new"}, shown)
			if more {
				t.Error("there is nothing after the newest")
			}
		})
	}
}

// TestBudget: a page among very many entries that may not be seen ends all the
// same, and goes on from there.
func TestBudget(t *testing.T) {
	const size, budget = 1, 55
	for _, c := range []struct {
		name       string
		hidden     int
		visible    bool // one more entry, at the far end
		pages      int
		descending bool
		forwards   bool
	}{
		{"ascending forwards", 2 * budget, true, 3, false, true},
		{"ascending backwards", 2 * budget, true, 3, false, false},
		{"descending forwards", 2 * budget, true, 3, true, true},
		{"descending backwards", 2 * budget, true, 3, true, false},
		{"exactly the budget and no more", budget, false, 1, false, true},
		{"exactly the budget, then one", budget, true, 2, false, true},
		{"one less than the budget, then one", budget - 1, true, 1, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoom(t)
			r.principals("u:acme:ann")
			for i := range c.hidden {
				id := library.ContentID(fmt.Sprintf("c:acme:h%d", i))
				r.item(id, library.Instant(100+i), library.Public, has("u:acme:ann", library.Viewing))
				r.change(id, func(h *library.Header) { h.State = library.Deleted })
			}
			newer := c.forwards != c.descending
			want := []string{}
			if c.visible {
				at := library.Instant(1)
				if newer {
					at = 5000
				}
				r.item("c:acme:far", at, library.Public, has("u:acme:ann", library.Viewing))
				want = append(want, "far")
			}
			var cursor *string
			for page := 1; page <= c.pages; page++ {
				q := library.LibraryQuery{Descending: c.descending, OtherSide: true, PageArgs: firstAfter(size, cursor)}
				if !c.forwards {
					q.PageArgs = lastBefore(size, cursor)
				}
				conn := r.read(anonymous(), "u:acme:ann", q)
				more, other, next := conn.PageInfo.HasNextPage, conn.PageInfo.HasPreviousPage, conn.PageInfo.EndCursor()
				if !c.forwards {
					more, other, next = conn.PageInfo.HasPreviousPage, conn.PageInfo.HasNextPage, conn.PageInfo.StartCursor()
				}
				if more != (page < c.pages) {
					t.Fatalf("page %d of %d says that there are more: %v", page, c.pages, more)
				}
				if page < c.pages {
					r.wantNames(conn)
					if next == nil || conn.PageInfo.StartCursor() == nil || conn.PageInfo.EndCursor() == nil {
						t.Fatal("a page that was cut short has no cursors")
					}
				} else {
					r.wantNames(conn, want...)
				}
				// What was scanned last is on the other side; far back the
				// budget ends, and the flag says that there may be something.
				if wantOther := page > 2; other != wantOther {
					t.Errorf("page %d: the other side's flag is %v", page, other)
				}
				cursor = next
			}
		})
	}
}

func TestFlagsOfEmptyPages(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann")
	r.numbered(3)
	all := r.read(anonymous(), "u:acme:ann", library.LibraryQuery{})
	oldest, newest := all.Edges[0].Cursor(), all.Edges[2].Cursor()
	for _, c := range []struct {
		name                 string
		args                 library.PageArgs
		edges                int
		hasNext, hasPrevious bool
	}{
		{"none of many", first(0), 0, true, false},
		{"none of the last", last(0), 0, false, true},
		{"none after the oldest", firstAfter(0, &oldest), 0, true, true},
		{"none before the newest", lastBefore(0, &newest), 0, true, true},
		{"after the newest", firstAfter(5, &newest), 0, false, true},
		{"before the oldest", lastBefore(5, &oldest), 0, true, false},
		{"after the oldest", firstAfter(5, &oldest), 2, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			conn := r.read(anonymous(), "u:acme:ann", library.LibraryQuery{PageArgs: c.args, OtherSide: true})
			r.wantEnds(conn)
			info := &conn.PageInfo
			if len(conn.Edges) != c.edges || info.HasNextPage != c.hasNext || info.HasPreviousPage != c.hasPrevious {
				t.Errorf("%d edges, next %v, previous %v; want %d, %v, %v",
					len(conn.Edges), info.HasNextPage, info.HasPreviousPage, c.edges, c.hasNext, c.hasPrevious)
			}
		})
	}
	t.Run("none after what is gone, beside another of its position", func(t *testing.T) {
		r.t = t
		r.principals("u:acme:eva")
		for _, id := range []library.ContentID{"c:acme:a", "c:acme:b"} {
			r.item(id, 10, library.Public, has("u:acme:eva", library.Viewing))
		}
		edges := r.read(anonymous(), "u:acme:eva", library.LibraryQuery{}).Edges
		gone, other := edges[0].Cursor(), edges[1].Cursor()
		r.change("c:acme:a", func(h *library.Header) { h.State = library.Deleted })
		forwards := r.read(anonymous(), "u:acme:eva", library.LibraryQuery{PageArgs: firstAfter(0, &gone), OtherSide: true})
		if !forwards.PageInfo.HasNextPage || forwards.PageInfo.HasPreviousPage {
			t.Errorf("after the one that is gone: %+v", forwards.PageInfo)
		}
		r.item("c:acme:c", 10, library.Public, has("u:acme:eva", library.Viewing))
		r.change("c:acme:b", func(h *library.Header) { h.State = library.Deleted })
		backwards := r.read(anonymous(), "u:acme:eva", library.LibraryQuery{PageArgs: lastBefore(0, &other), OtherSide: true})
		if !backwards.PageInfo.HasNextPage || backwards.PageInfo.HasPreviousPage {
			t.Errorf("before the one that is gone: %+v", backwards.PageInfo)
		}
	})
	t.Run("an empty library", func(t *testing.T) {
		r.t = t
		r.principals("u:acme:bob")
		for _, args := range []library.PageArgs{first(5), last(5), {}} {
			conn := r.read(anonymous(), "u:acme:bob", library.LibraryQuery{PageArgs: args, OtherSide: true})
			r.wantEnds(conn)
			if len(conn.Edges) > 0 || conn.PageInfo.HasNextPage || conn.PageInfo.HasPreviousPage {
				t.Errorf("an empty library has %+v", conn.PageInfo)
			}
		}
	})
}

// TestCursorOfWhatIsGone: a cursor marks a place, whatever becomes of the item
// that stood there.
func TestCursorOfWhatIsGone(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann")
	r.numbered(5)
	cursor := r.read(anonymous(), "u:acme:ann", library.LibraryQuery{}).Edges[2].Cursor()
	r.change("c:acme:n02", func(h *library.Header) { h.State = library.Deleted })
	r.enforce("c:acme:n02", "u:acme:ann")
	r.wantNames(r.read(anonymous(), "u:acme:ann", library.LibraryQuery{PageArgs: firstAfter(5, &cursor)}), "n03", "n04")
	r.wantNames(r.read(anonymous(), "u:acme:ann", library.LibraryQuery{PageArgs: lastBefore(5, &cursor)}), "n00", "n01")
}

// TestRevocationIsEffectiveAtOnce: what the header says when it is read decides, not
// what it said when the entry was written.
func TestRevocationIsEffectiveAtOnce(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann", "u:acme:bob", "u:acme:cat", "u:other:sam", "g:acme:team")
	r.join("g:acme:team", true, in("u:acme:cat", library.GroupMember))
	r.item("c:acme:secret", 10, library.Public,
		has("u:acme:ann", library.Viewing), has("u:other:sam", library.Manages), has("g:acme:team", library.Viewing))
	for _, c := range []struct {
		name   string
		change func(h *library.Header)
	}{
		{"turned PRIVATE where it stands", func(h *library.Header) { h.Visibility = library.Private }},
		{"turned PRIVATE and moved", func(h *library.Header) { h.Visibility, h.Position = library.Private, 2000 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			r.change("c:acme:secret", c.change)
			for _, v := range []*library.Viewer{anonymous(), bob(), eve()} {
				for _, q := range []library.LibraryQuery{{}, {Descending: true}, {IncludeShared: true}, {PageArgs: last(3)}} {
					r.wantNames(r.read(v, "u:acme:ann", q))
				}
			}
			r.wantNames(r.read(ann(), "u:acme:ann", library.LibraryQuery{Descending: true}), "secret")
			// Those with a role are shown it where they ask for that, only.
			for _, user := range []library.PrincipalID{"u:other:sam", "u:acme:cat"} {
				v := &library.Viewer{User: user}
				r.wantNames(r.read(v, "u:acme:ann", library.LibraryQuery{Descending: true, WithStanding: true}))
				r.wantNames(r.read(v, "u:acme:ann", library.LibraryQuery{Descending: true, IncludeShared: true}), "secret")
			}
		})
	}
}
