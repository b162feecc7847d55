//go:build !race

package listing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/headercache"
	"carrel/library"
	"carrel/library/listing"
	"carrel/principal"
)

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
				*s = scans{ContentStore: s.ContentStore, LibraryStore: s.LibraryStore}
				q := library.LibraryQuery{Filter: anyLink(), Descending: c.descending, OtherSide: true, PageArgs: domaintest.FirstAfter(1, from)}
				if !c.forwards {
					q.PageArgs = domaintest.LastBefore(1, from)
				}
				conn := r.Read(domaintest.Anonymous(), "u:acme:ann", q)
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
		conn := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink()})
		if conn.PageInfo.HasNextPage != more || (conn.PageInfo.EndCursor() != nil) != more {
			t.Errorf("of %d entries there are more: %t", n, conn.PageInfo.HasNextPage)
		}
	}
}

// TestFilter_OtherSideBeginsAtTheCursor: what lies between the cursor and the first edge has been
// scanned, and is not scanned again for the flag.
func TestFilter_OtherSideBeginsAtTheCursor(t *testing.T) {
	r, s := long(t, 1500, linkAt(1400))
	from := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{}).Edges[3].Cursor()
	s.headers = 0
	conn := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink(), OtherSide: true,
		PageArgs: domaintest.FirstAfter(1, &from)})
	r.WantNames(conn, "n1400")
	if conn.PageInfo.HasPreviousPage || conn.PageInfo.HasNextPage || s.headers != 1500 {
		t.Errorf("before it: %t, behind it: %t; %d headers were read", conn.PageInfo.HasPreviousPage, conn.PageInfo.HasNextPage, s.headers)
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
	end := &library.LibraryFilter{Text: domaintest.Ptr("end")}
	for _, forwards := range []bool{true, false} {
		var from *string
		pages, names := 0, []string{}
		for more := true; more; pages++ {
			*s = scans{ContentStore: s.ContentStore, LibraryStore: s.LibraryStore}
			q := library.LibraryQuery{Filter: end, PageArgs: domaintest.FirstAfter(5, from)}
			if !forwards {
				q.PageArgs = domaintest.LastBefore(5, from)
			}
			conn := r.Read(domaintest.Anonymous(), "u:acme:ann", q)
			names = append(names, domaintest.NamesOf(conn)...)
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
	conn := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: &library.LibraryFilter{Text: domaintest.Ptr("garden")}})
	if len(conn.Edges) > 0 || conn.PageInfo.HasNextPage {
		t.Errorf("%d edges, and more: %t", len(conn.Edges), conn.PageInfo.HasNextPage)
	}
}

// TestFilter_LeavesCopiesInUse: a search reads many entries that were not read before, which does
// not end the use of copies for other pages. A search whose items are copied counts for it, as
// much as the usual page does.
func TestFilter_LeavesCopiesInUse(t *testing.T) {
	r, _ := long(t, 3000, linkAt())
	svc := domaintest.Open(t, domain.Config{Store: r.Store.Store, Runtime: r.Clock, Journal: r.Repairs, Remote: true,
		HeaderCache: headercache.Config{Bytes: 10_000 << 10}})
	read := func(times int, q library.LibraryQuery) {
		for range times {
			if _, err := svc.Listing.Library(t.Context(), domaintest.Anonymous(), "u:acme:ann", q); err != nil {
				t.Fatal(err)
			}
		}
	}
	inUse := func() bool { return svc.Headers.Stats().InUse }
	read(100, library.LibraryQuery{})
	if !inUse() {
		t.Fatal("after 100 equal pages copies are not in use")
	}
	read(1, library.LibraryQuery{Filter: anyLink()})
	read(100, library.LibraryQuery{})
	if st := svc.Headers.Stats(); !st.InUse || st.Headers < listing.MaxFilterScan {
		t.Errorf("after a search: %+v", st)
	}
	// In a process that has just started, 20 equal searches are as good as 20 equal pages.
	svc = domaintest.Open(t, domain.Config{Store: r.Store.Store, Runtime: r.Clock, Journal: r.Repairs, Remote: true,
		HeaderCache: headercache.Config{Bytes: 10_000 << 10}})
	read(20, library.LibraryQuery{Filter: anyLink()})
	if !inUse() {
		t.Error("after 20 equal searches copies are not in use")
	}
	// One search of copies is no better than one page of them.
	svc = domaintest.Open(t, domain.Config{Store: r.Store.Store, Runtime: r.Clock, Journal: r.Repairs, Remote: true,
		HeaderCache: headercache.Config{Bytes: 10_000 << 10}})
	read(2, library.LibraryQuery{Filter: anyLink()})
	q := library.LibraryQuery{Descending: true}
	for range 7 { // these have no copies
		q.PageArgs = domaintest.FirstAfter(100, q.After)
		conn, err := svc.Listing.Library(t.Context(), domaintest.Anonymous(), "u:acme:ann", q)
		if err != nil {
			t.Fatal(err)
		}
		q.After = conn.PageInfo.EndCursor()
	}
	if inUse() {
		t.Error("after a search of copies and pages without any, copies are in use")
	}
}
