package listing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// scans is a store that counts what pages scan.
type scans struct {
	backend.Store
	slices, batches, headers, most int
	// before is called before each slice but the first.
	before func()
}

func (s *scans) PageLibrary(ctx context.Context, q library.Slice) ([]library.Entry, error) {
	if s.slices++; s.before != nil {
		s.before()
	}
	return s.Store.PageLibrary(ctx, q)
}

func (s *scans) OpenLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	s.slices++
	return s.Store.OpenLibrary(ctx, q, newest)
}

func (s *scans) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	s.batches, s.headers, s.most = s.batches+1, s.headers+len(ids), max(s.most, len(ids))
	return s.Store.ReadMany(ctx, ids, members)
}

// long returns ann's library of n items, in a store that counts what is read. change sets the
// fields in which the items differ.
func long(t *testing.T, n int, change func(i int, h *library.Header)) (*backendtest.Rows, *scans) {
	t.Helper()
	r := backendtest.NewRows(t)
	r.Principals("u:acme:ann")
	for i := range n {
		id := library.ContentID(fmt.Sprintf("c:acme:n%04d", i))
		r.Change(id, func(h *library.Header) {
			h.Position, h.Visibility = clock.Instant(10*i+10), principal.Public
			change(i, h)
		}, backendtest.ContentMember("u:acme:ann", library.Viewing))
		r.ApplyIndex(id, "u:acme:ann")
	}
	s := &scans{Store: r.Store}
	r.Service = r.OpenProcess(s)
	return r, s
}

// anyLink is a filter that few items of these tests match.
func anyLink() *library.LibraryFilter {
	return &library.LibraryFilter{Kinds: []library.ContentKind{library.Link}}
}

func linkAt(indexes ...int) func(i int, h *library.Header) {
	return func(i int, h *library.Header) {
		if slices.Contains(indexes, i) {
			h.Kind = library.Link
		}
	}
}

// TestFilter_ScanIsBounded: a page ends when it has scanned 2,000 entries, and goes on from there.
func TestFilter_ScanIsBounded(t *testing.T) {
	const n = 4100
	r, s := long(t, n, linkAt(0, n-1))
	for _, c := range []struct {
		name                 string
		descending, forwards bool
		near, far            string
	}{
		{"ascending forwards", false, true, "n0000", "n4099"},
		{"ascending backwards", false, false, "n4099", "n0000"},
		{"descending forwards", true, true, "n4099", "n0000"},
		{"descending backwards", true, false, "n0000", "n4099"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.T = t
			var from *string
			for page, want := range [][]string{{c.near}, nil, {c.far}} {
				*s = scans{Store: r.Store}
				q := library.LibraryQuery{Filter: anyLink(), Descending: c.descending, OtherSide: true, PageArgs: backendtest.FirstAfter(1, from)}
				if !c.forwards {
					q.PageArgs = backendtest.LastBefore(1, from)
				}
				conn := r.Read(backendtest.Anonymous(), "u:acme:ann", q)
				r.WantNames(conn, want...)
				info := &conn.PageInfo
				more, behind, next := info.HasNextPage, info.HasPreviousPage, info.EndCursor()
				if !c.forwards {
					more, behind, next = info.HasPreviousPage, info.HasNextPage, info.StartCursor()
				}
				if more != (page < 2) || behind != (page > 0) || next == nil {
					t.Fatalf("page %d says that there is more: %t, and behind it: %t", page, more, behind)
				}
				if s.headers > 2000 || page < 2 && s.headers != 2000 || s.most > 250 || s.slices > 13 {
					t.Errorf("page %d has read %d slices, and %d headers in %d batches, the largest of %d", page, s.slices, s.headers, s.batches, s.most)
				}
				from = next
			}
		})
	}
}

// TestFilter_ScansExactlyTheLimit: hasNextPage is exact if the library has as many entries as a
// page may scan, one less or one more.
func TestFilter_ScansExactlyTheLimit(t *testing.T) {
	for n, more := range map[int]bool{1999: false, 2000: false, 2001: true} {
		r, _ := long(t, n, linkAt())
		conn := r.Read(backendtest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink()})
		if conn.PageInfo.HasNextPage != more || (conn.PageInfo.EndCursor() != nil) != more {
			t.Errorf("of %d entries there are more: %t", n, conn.PageInfo.HasNextPage)
		}
	}
}

// TestFilter_OtherSideBeginsAtTheCursor: what lies between the cursor and the first edge has been
// scanned, and is not scanned again for the flag.
func TestFilter_OtherSideBeginsAtTheCursor(t *testing.T) {
	r, s := long(t, 1500, linkAt(1400))
	from := r.Read(backendtest.Anonymous(), "u:acme:ann", library.LibraryQuery{}).Edges[3].Cursor()
	s.headers = 0
	conn := r.Read(backendtest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink(), OtherSide: true, PageArgs: backendtest.FirstAfter(1, &from)})
	r.WantNames(conn, "n1400")
	if conn.PageInfo.HasPreviousPage || conn.PageInfo.HasNextPage || s.headers != 1500 {
		t.Errorf("before it: %t, behind it: %t; %d headers were read", conn.PageInfo.HasPreviousPage, conn.PageInfo.HasNextPage, s.headers)
	}
}

// TestFilter_ReadsLittleIfMuchMatches: it does not read ahead of what is found.
func TestFilter_ReadsLittleIfMuchMatches(t *testing.T) {
	r, s := long(t, 400, func(int, *library.Header) {})
	notes := &library.LibraryFilter{Kinds: []library.ContentKind{library.Note}}
	conn := r.Read(backendtest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: notes, PageArgs: backendtest.First(20)})
	if len(conn.Edges) != 20 || s.headers > 50 {
		t.Errorf("%d edges by %d headers", len(conn.Edges), s.headers)
	}
}

// TestFilter_ComparedTextIsBounded: a page also ends when it has compared 4 MiB of texts.
func TestFilter_ComparedTextIsBounded(t *testing.T) {
	const n = 900
	text := strings.Repeat("garden ", 1428) // of 9,996 bytes
	r, s := long(t, n, func(i int, h *library.Header) {
		h.Description = &text
		if i == 0 || i == n-1 {
			h.Title = "The end"
		}
	})
	end := &library.LibraryFilter{Text: backendtest.Ptr("end")}
	for _, forwards := range []bool{true, false} {
		var from *string
		pages, names := 0, []string{}
		for more := true; more; pages++ {
			*s = scans{Store: r.Store}
			q := library.LibraryQuery{Filter: end, PageArgs: backendtest.FirstAfter(5, from)}
			if !forwards {
				q.PageArgs = backendtest.LastBefore(5, from)
			}
			conn := r.Read(backendtest.Anonymous(), "u:acme:ann", q)
			names = append(names, backendtest.NamesOf(conn)...)
			if more, from = conn.PageInfo.HasNextPage, conn.PageInfo.EndCursor(); !forwards {
				more, from = conn.PageInfo.HasPreviousPage, conn.PageInfo.StartCursor()
			}
			if s.headers > 420+250 {
				t.Errorf("page %d has read %d headers", pages, s.headers)
			}
		}
		if slices.Sort(names); !slices.Equal(names, []string{"n0000", "n0899"}) || pages != 3 {
			t.Errorf("%d pages show %v", pages, names)
		}
	}
}

// TestFilter_HiddenTextsDoNotCount: where a page ends says nothing about items that its viewer may
// not see.
func TestFilter_HiddenTextsDoNotCount(t *testing.T) {
	text := strings.Repeat("garden ", 1428)
	r, _ := long(t, 900, func(i int, h *library.Header) { h.Description = &text })
	for i := range 900 {
		r.Change(library.ContentID(fmt.Sprintf("c:acme:n%04d", i)), func(h *library.Header) { h.Visibility = principal.Private })
	}
	conn := r.Read(backendtest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: &library.LibraryFilter{Text: backendtest.Ptr("garden")}})
	if len(conn.Edges) > 0 || conn.PageInfo.HasNextPage {
		t.Errorf("%d edges, and more: %t", len(conn.Edges), conn.PageInfo.HasNextPage)
	}
}

// TestFilter_ReadsTheSameWhateverIsHidden: neither what a page says nor what it reads depends on
// items that its viewer may not see, in its buckets and beyond.
func TestFilter_ReadsTheSameWhateverIsHidden(t *testing.T) {
	read := func(title string) (reads [3]int, more bool) {
		r, s := long(t, 300, func(i int, h *library.Header) {
			h.Title = "seen"
			if i%3 > 0 {
				h.Title, h.Visibility = title, principal.Private
			}
		})
		r.Principals("u:acme:bob", "g:acme:team")
		r.Join("g:acme:team", true, backendtest.GroupMember("u:acme:bob", principal.GroupMember))
		conn := r.Read(backendtest.Bob(), "u:acme:ann", library.LibraryQuery{
			Filter: &library.LibraryFilter{Text: backendtest.Ptr("garden")}, IncludeShared: true, PageArgs: backendtest.First(3),
		})
		r.WantNames(conn)
		return [3]int{s.slices, s.batches, s.headers}, conn.PageInfo.HasNextPage
	}
	hit, moreOfHit := read("garden")
	miss, moreOfMiss := read("house")
	if hit != miss || moreOfHit || moreOfMiss || hit[2] < 300 {
		t.Errorf("slices, batches and headers where hidden items match: %v and more %t, where none do: %v and more %t", hit, moreOfHit, miss, moreOfMiss)
	}
}

// TestFilter_EndsWithItsRequest: nothing more is read once the request is cancelled.
func TestFilter_EndsWithItsRequest(t *testing.T) {
	r, s := long(t, 1000, linkAt())
	ctx, cancel := context.WithCancel(t.Context())
	s.before = func() {
		if s.slices == 3 {
			cancel()
		}
	}
	if _, err := r.Service.Library(ctx, backendtest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink()}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if s.slices != 3 || s.batches != 2 {
		t.Errorf("%d slices and %d batches were read", s.slices, s.batches)
	}
}

// TestFilter_UsesTheLatestRead: a page towards newer entries may meet an item again that has moved;
// it then shows the item only if it matches now.
func TestFilter_UsesTheLatestRead(t *testing.T) {
	const n = 200
	for _, c := range []struct {
		name          string
		before, after library.ContentKind
		indexed       bool // the scan meets the item at its new position
		want          []string
	}{
		{"matches no more", library.Link, library.Note, true, nil},
		{"matches now", library.Note, library.Link, true, []string{"n0003"}},
		{"matches still", library.Link, library.Link, true, []string{"n0003"}},
		{"has matched where it was", library.Link, library.Note, false, []string{"n0003"}},
	} {
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, met elsewhere first: %t", c.name, elsewhere), func(t *testing.T) {
				r, s := long(t, n, func(i int, h *library.Header) {
					if i == 3 {
						h.Kind = c.before
					}
				})
				if elsewhere { // its first entry is not where it is
					r.Change("c:acme:n0003", moveTo(10*n+100))
				}
				s.before = func() {
					if s.slices != 2 {
						return
					}
					r.Change("c:acme:n0003", func(h *library.Header) { h.Kind, h.Position = c.after, 10*n+200 })
					if c.indexed {
						r.ApplyIndex("c:acme:n0003", "u:acme:ann")
					}
				}
				q := library.LibraryQuery{Filter: anyLink(), PageArgs: backendtest.First(50)}
				r.WantNames(r.Read(backendtest.Anonymous(), "u:acme:ann", q), c.want...)
			})
		}
	}
}

// TestFilter_ShowsMovedItems: what has moved on and matches is shown, as on other pages.
func TestFilter_ShowsMovedItems(t *testing.T) {
	r, _ := long(t, 5, linkAt(1, 3))
	r.Change("c:acme:n0001", moveTo(900))
	r.Change("c:acme:n0002", moveTo(800))
	r.WantNames(r.Read(backendtest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink()}), "n0003", "n0001")
	r.WantNames(r.Read(backendtest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink(), Descending: true}), "n0001", "n0003")
}

// TestFilter_RequestsEveryRepair: a scan asks for the repair of each entry that should not be
// there, whether its item matches or not.
func TestFilter_RequestsEveryRepair(t *testing.T) {
	r, _ := long(t, 10, linkAt(2))
	r.Change("c:acme:n0002", func(h *library.Header) { h.State = commit.Deleted })
	r.Change("c:acme:n0004", moveTo(900))
	r.Read(backendtest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink()})
	asked := r.Repairs.Take()
	for _, id := range []library.ContentID{"c:acme:n0002", "c:acme:n0004"} {
		if asked[id] != "u:acme:ann" {
			t.Errorf("the repair of %s was not asked for", id)
		}
	}
}
