package listing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// scans is a store that counts what pages scan.
type scans struct {
	library.ContentStore
	library.LibraryStore
	slices, batches, headers, most int
	// before is called before each slice but the first.
	before func()
}

// on returns s with the changes.
func (c *scans) on(s domain.Store) domain.Store {
	c.ContentStore, c.LibraryStore, s.Contents, s.Libraries = s.Contents, s.Libraries, c, c
	return s
}

func (s *scans) PageLibrary(ctx context.Context, q library.Slice) ([]library.Entry, error) {
	if s.slices++; s.before != nil {
		s.before()
	}
	return s.LibraryStore.PageLibrary(ctx, q)
}

func (s *scans) OpenLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	s.slices++
	return s.LibraryStore.OpenLibrary(ctx, q, newest)
}

func (s *scans) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	s.batches, s.headers, s.most = s.batches+1, s.headers+len(ids), max(s.most, len(ids))
	return s.ContentStore.ReadMany(ctx, ids, members)
}

// long returns ann's library of n items, in a store that counts what is read. change sets the
// fields in which the items differ.
func long(t *testing.T, n int, change func(i int, h *library.Header)) (*domaintest.Rows, *scans) {
	t.Helper()
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	for i := range n {
		id := library.ContentID(fmt.Sprintf("c:acme:n%04d", i))
		r.Change(id, func(h *library.Header) {
			h.Position, h.Visibility = clock.Instant(10*i+10), principal.Public
			change(i, h)
		}, domaintest.ContentMember("u:acme:ann", library.Viewing))
		r.ApplyIndex(id, "u:acme:ann")
	}
	s := &scans{}
	r.Services = r.OpenProcess(s.on(r.Store.Store))
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

// TestFilter_ReadsLittleIfMuchMatches: it does not read ahead of what is found.
func TestFilter_ReadsLittleIfMuchMatches(t *testing.T) {
	r, s := long(t, 400, func(int, *library.Header) {})
	notes := &library.LibraryFilter{Kinds: []library.ContentKind{library.Note}}
	conn := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: notes, PageArgs: domaintest.First(20)})
	if len(conn.Edges) != 20 || s.headers > 50 {
		t.Errorf("%d edges by %d headers", len(conn.Edges), s.headers)
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
	if _, err := r.Listing.Library(ctx, domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink()}); !errors.Is(err,
		context.Canceled) {
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
				q := library.LibraryQuery{Filter: anyLink(), PageArgs: domaintest.First(50)}
				r.WantNames(r.Read(domaintest.Anonymous(), "u:acme:ann", q), c.want...)
			})
		}
	}
}

// TestFilter_ShowsMovedItems: what has moved on and matches is shown, as on other pages.
func TestFilter_ShowsMovedItems(t *testing.T) {
	r, _ := long(t, 5, linkAt(1, 3))
	r.Change("c:acme:n0001", moveTo(900))
	r.Change("c:acme:n0002", moveTo(800))
	r.WantNames(r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink()}), "n0003", "n0001")
	r.WantNames(r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink(), Descending: true}), "n0001", "n0003")
}

// TestFilter_RequestsEveryRepair: a scan asks for the repair of each entry that should not be
// there, whether its item matches or not.
func TestFilter_RequestsEveryRepair(t *testing.T) {
	r, _ := long(t, 10, linkAt(2))
	r.Change("c:acme:n0002", func(h *library.Header) { h.State = commit.Deleted })
	r.Change("c:acme:n0004", moveTo(900))
	r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{Filter: anyLink()})
	asked := r.Repairs.Take()
	for _, id := range []library.ContentID{"c:acme:n0002", "c:acme:n0004"} {
		if asked[id] != "u:acme:ann" {
			t.Errorf("the repair of %s was not asked for", id)
		}
	}
}
