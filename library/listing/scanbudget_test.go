package listing_test

import (
	"cmp"
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// TestScan_ManyHiddenEntriesEndThePage: a page among very many entries that may not be seen ends
// all the same, and the next one continues from there.
func TestScan_ManyHiddenEntriesEndThePage(t *testing.T) {
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
			r := domaintest.NewRows(t)
			r.Principals("u:acme:ann")
			for i := range c.hidden {
				id := library.ContentID(fmt.Sprintf("c:acme:h%d", i))
				r.Item(id, clock.Instant(100+i), principal.Public, domaintest.ContentMember("u:acme:ann", library.Viewing))
				r.Change(id, func(h *library.Header) { h.State = commit.Deleted })
			}
			newer := c.forwards != c.descending
			want := []string{}
			if c.visible {
				at := clock.Instant(1)
				if newer {
					at = 5000
				}
				r.Item("c:acme:far", at, principal.Public, domaintest.ContentMember("u:acme:ann", library.Viewing))
				want = append(want, "far")
			}
			var cursor *string
			for page := 1; page <= c.pages; page++ {
				q := library.LibraryQuery{Descending: c.descending, OtherSide: true, PageArgs: domaintest.FirstAfter(size, cursor)}
				if !c.forwards {
					q.PageArgs = domaintest.LastBefore(size, cursor)
				}
				conn := r.Read(domaintest.Anonymous(), "u:acme:ann", q)
				more, other, next := conn.PageInfo.HasNextPage, conn.PageInfo.HasPreviousPage, conn.PageInfo.EndCursor()
				if !c.forwards {
					more, other, next = conn.PageInfo.HasPreviousPage, conn.PageInfo.HasNextPage, conn.PageInfo.StartCursor()
				}
				if more != (page < c.pages) {
					t.Fatalf("page %d of %d says that there are more: %v", page, c.pages, more)
				}
				if page < c.pages {
					r.WantNames(conn)
					if next == nil || conn.PageInfo.StartCursor() == nil || conn.PageInfo.EndCursor() == nil {
						t.Fatal("a page that was cut short has no cursors")
					}
				} else {
					r.WantNames(conn, want...)
				}
				// The entry scanned last is on the other side; far back the budget is used up, and the flag
				// says that there may be something.
				if wantOther := page > 2; other != wantOther {
					t.Errorf("page %d: the other side's flag is %v", page, other)
				}
				cursor = next
			}
		})
	}
}

func TestScan_FlagsOfEmptyPagesAreExact(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	addNumbered(r, 3)
	all := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{})
	oldest, newest := all.Edges[0].Cursor(), all.Edges[2].Cursor()
	for _, c := range []struct {
		name                 string
		args                 cursor.PageArgs
		edges                int
		hasNext, hasPrevious bool
	}{
		{"none of many", domaintest.First(0), 0, true, false},
		{"none of the last", domaintest.Last(0), 0, false, true},
		{"none after the oldest", domaintest.FirstAfter(0, &oldest), 0, true, true},
		{"none before the newest", domaintest.LastBefore(0, &newest), 0, true, true},
		{"after the newest", domaintest.FirstAfter(5, &newest), 0, false, true},
		{"before the oldest", domaintest.LastBefore(5, &oldest), 0, true, false},
		{"after the oldest", domaintest.FirstAfter(5, &oldest), 2, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.T = t
			conn := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{PageArgs: c.args, OtherSide: true})
			wantEnds(r, conn, cmp.Or(c.args.After, c.args.Before))
			info := &conn.PageInfo
			if len(conn.Edges) != c.edges || info.HasNextPage != c.hasNext || info.HasPreviousPage != c.hasPrevious {
				t.Errorf("%d edges, next %v, previous %v; want %d, %v, %v",
					len(conn.Edges), info.HasNextPage, info.HasPreviousPage, c.edges, c.hasNext, c.hasPrevious)
			}
		})
	}
	t.Run("none after a deleted one, with another at its position", func(t *testing.T) {
		r.T = t
		r.Principals("u:acme:eva")
		for _, id := range []library.ContentID{"c:acme:a", "c:acme:b"} {
			r.Item(id, 10, principal.Public, domaintest.ContentMember("u:acme:eva", library.Viewing))
		}
		edges := r.Read(domaintest.Anonymous(), "u:acme:eva", library.LibraryQuery{}).Edges
		gone, other := edges[0].Cursor(), edges[1].Cursor()
		r.Change("c:acme:a", func(h *library.Header) { h.State = commit.Deleted })
		forwards := r.Read(domaintest.Anonymous(), "u:acme:eva", library.LibraryQuery{PageArgs: domaintest.FirstAfter(0, &gone), OtherSide: true})
		if !forwards.PageInfo.HasNextPage || forwards.PageInfo.HasPreviousPage {
			t.Errorf("after the one that is gone: %+v", forwards.PageInfo)
		}
		r.Item("c:acme:c", 10, principal.Public, domaintest.ContentMember("u:acme:eva", library.Viewing))
		r.Change("c:acme:b", func(h *library.Header) { h.State = commit.Deleted })
		backwards := r.Read(domaintest.Anonymous(), "u:acme:eva", library.LibraryQuery{PageArgs: domaintest.LastBefore(0, &other),
			OtherSide: true})
		if !backwards.PageInfo.HasNextPage || backwards.PageInfo.HasPreviousPage {
			t.Errorf("before the one that is gone: %+v", backwards.PageInfo)
		}
	})
	t.Run("an empty library", func(t *testing.T) {
		r.T = t
		r.Principals("u:acme:bob")
		for _, args := range []cursor.PageArgs{domaintest.First(5), domaintest.Last(5), {}} {
			conn := r.Read(domaintest.Anonymous(), "u:acme:bob", library.LibraryQuery{PageArgs: args, OtherSide: true})
			wantEnds(r, conn, nil)
			if len(conn.Edges) > 0 || conn.PageInfo.HasNextPage || conn.PageInfo.HasPreviousPage {
				t.Errorf("an empty library has %+v", conn.PageInfo)
			}
		}
	})
}

// TestScan_CursorOfADeletedItemIsValid: a cursor marks a position, whatever becomes of the item
// that was there.
func TestScan_CursorOfADeletedItemIsValid(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	addNumbered(r, 5)
	cursor := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{}).Edges[2].Cursor()
	r.Change("c:acme:n02", func(h *library.Header) { h.State = commit.Deleted })
	r.ApplyIndex("c:acme:n02", "u:acme:ann")
	r.WantNames(r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{PageArgs: domaintest.FirstAfter(5, &cursor)}), "n03", "n04")
	r.WantNames(r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{PageArgs: domaintest.LastBefore(5, &cursor)}), "n00", "n01")
}

// TestScan_RevocationIsEffectiveAtOnce: what the header says when it is read decides, not what it
// said when the entry was written.
func TestScan_RevocationIsEffectiveAtOnce(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "u:acme:bob", "u:acme:cat", "u:other:sam", "g:acme:team")
	r.Join("g:acme:team", true, domaintest.GroupMember("u:acme:cat", principal.GroupMember))
	r.Item("c:acme:secret", 10, principal.Public,
		domaintest.ContentMember("u:acme:ann", library.Viewing), domaintest.ContentMember("u:other:sam", library.Manages),
		domaintest.ContentMember("g:acme:team", library.Viewing))
	for _, c := range []struct {
		name   string
		change func(h *library.Header)
	}{
		{"changed to PRIVATE at its position", func(h *library.Header) { h.Visibility = principal.Private }},
		{"turned PRIVATE and moved", func(h *library.Header) { h.Visibility, h.Position = principal.Private, 2000 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.T = t
			r.Change("c:acme:secret", c.change)
			for _, v := range []*principal.Viewer{domaintest.Anonymous(), domaintest.Bob(), domaintest.Eve()} {
				for _, q := range []library.LibraryQuery{{}, {Descending: true}, {IncludeShared: true}, {PageArgs: domaintest.Last(3)}} {
					r.WantNames(r.Read(v, "u:acme:ann", q))
				}
			}
			r.WantNames(r.Read(domaintest.Ann(), "u:acme:ann", library.LibraryQuery{Descending: true}), "secret")
			// Those with a role are shown it where they ask for that, only.
			for _, user := range []principal.ID{"u:other:sam", "u:acme:cat"} {
				v := &principal.Viewer{User: user}
				r.WantNames(r.Read(v, "u:acme:ann", library.LibraryQuery{Descending: true, WithPermissions: true}))
				r.WantNames(r.Read(v, "u:acme:ann", library.LibraryQuery{Descending: true, IncludeShared: true}), "secret")
			}
		})
	}
}
