package listing_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// interrupted is a store that runs functions of a test before reads of a page, once each.
type interrupted struct {
	library.ContentStore
	library.LibraryStore
	beforeItems  func()
	beforeSlice  func() // before the second slice of a page
	betweenReads func() // of an opening, between the newest position and the slice
}

// on returns s with the changes.
func (i *interrupted) on(s domain.Store) domain.Store {
	i.ContentStore, i.LibraryStore, s.Contents, s.Libraries = s.Contents, s.Libraries, i, i
	return s
}

func run(f *func()) {
	if *f != nil {
		g := *f
		*f = nil
		g()
	}
}

func (s *interrupted) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	run(&s.beforeItems)
	return s.ContentStore.ReadMany(ctx, ids, members)
}

func (s *interrupted) PageLibrary(ctx context.Context, q library.Slice) ([]library.Entry, error) {
	run(&s.beforeSlice)
	return s.LibraryStore.PageLibrary(ctx, q)
}

func (s *interrupted) OpenLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	before, err := s.LibraryStore.OpenLibrary(ctx, q, newest)
	if err != nil || s.betweenReads == nil {
		return before, err
	}
	run(&s.betweenReads)
	after, err := s.LibraryStore.OpenLibrary(ctx, q, newest)
	if err == nil {
		after.Newest = before.Newest
	}
	return after, err
}

// readTowardsNewer reads a page towards newer entries, and returns its names from
// old to new, whether there is more, and the cursor to continue from.
func readTowardsNewer(r *domaintest.Rows, descending bool, size int, from *string) (shown []string, more bool, next *string) {
	r.T.Helper()
	q := library.LibraryQuery{Descending: descending, PageArgs: domaintest.FirstAfter(size, from)}
	if descending {
		q.PageArgs = domaintest.LastBefore(size, from)
	}
	conn := r.Read(domaintest.Anonymous(), "u:acme:ann", q)
	wantEnds(r, conn, from)
	cursors := map[string]bool{}
	for _, e := range conn.Edges {
		if cursors[e.Cursor()] {
			r.T.Errorf("two edges of %v have one cursor", domaintest.NamesOf(conn))
		}
		cursors[e.Cursor()] = true
	}
	shown, info := domaintest.NamesOf(conn), &conn.PageInfo
	if descending {
		slices.Reverse(shown)
		return shown, info.HasPreviousPage, info.StartCursor()
	}
	return shown, info.HasNextPage, info.EndCursor()
}

// moveItem moves an item of ann's to a position, in her library too.
func moveItem(r *domaintest.Rows, id library.ContentID, to clock.Instant) {
	r.Change(id, moveTo(to))
	r.ApplyIndex(id, "u:acme:ann")
}

// movesDuringReading is a page of ann's library, during whose reading items move.
type movesDuringReading struct {
	name  string
	items int // in the library
	size  int // of the page
	set   func(r *domaintest.Rows, s *interrupted)
	want  []string
	then  []string // what follows the last cursor, once all fan-outs are done
}

func allMovesDuringReading() []movesDuringReading {
	stale := func(r *domaintest.Rows) { // The fan-out of two moves has not reached the library.
		r.Change(numberedID(1), moveTo(900))
		r.Change(numberedID(3), moveTo(800))
	}
	moves := func(r *domaintest.Rows) {
		moveItem(r, numberedID(1), 900)
		moveItem(r, numberedID(3), 800)
	}
	hide := func(r *domaintest.Rows, from, to int) {
		for i := from; i <= to; i++ {
			r.Change(numberedID(i), func(h *library.Header) { h.Visibility = principal.Private })
		}
	}
	return []movesDuringReading{
		{
			name: "before the items are read", items: 5, size: 10,
			set:  func(r *domaintest.Rows, s *interrupted) { s.beforeItems = func() { moves(r) } },
			want: []string{"n00", "n02", "n04", "n03", "n01"},
			then: []string{"n03", "n01"},
		},
		{
			name: "before the page, with the fan-out still to come", items: 5, size: 10,
			set:  func(r *domaintest.Rows, s *interrupted) { stale(r) },
			want: []string{"n00", "n02", "n04", "n03", "n01"},
			then: []string{"n03", "n01"},
		},
		{
			name: "all items, before they are read", items: 2, size: 10,
			set: func(r *domaintest.Rows, s *interrupted) {
				s.beforeItems = func() { moveItem(r, numberedID(0), 900); moveItem(r, numberedID(1), 800) }
			},
			want: []string{"n01", "n00"},
			then: []string{"n01", "n00"},
		},
		{
			name: "a page that is just full", items: 5, size: 5,
			set:  func(r *domaintest.Rows, s *interrupted) { s.beforeItems = func() { moves(r) } },
			want: []string{"n00", "n02", "n04", "n03", "n01"},
			then: []string{"n03", "n01"},
		},
		{
			name: "between the newest position and the slice", items: 5, size: 10,
			set:  func(r *domaintest.Rows, s *interrupted) { s.betweenReads = func() { moves(r) } },
			want: []string{"n00", "n02", "n04", "n03", "n01"},
		},
		{
			// 10 of 15 are seen, so that a page of 10 takes two slices of 15.
			name: "between two slices", items: 20, size: 12,
			set: func(r *domaintest.Rows, s *interrupted) {
				hide(r, 4, 13)
				s.beforeSlice = func() { moveItem(r, numberedID(1), 900); moveItem(r, numberedID(18), 800) }
			},
			want: []string{"n00", "n02", "n03", "n14", "n15", "n16", "n17", "n19", "n18", "n01"},
		},
		{
			name: "twice, between two slices", items: 20, size: 12,
			set: func(r *domaintest.Rows, s *interrupted) {
				hide(r, 4, 13)
				stale(r)
				s.beforeSlice = func() {
					r.ApplyIndex(numberedID(3), "u:acme:ann")
					r.Change(numberedID(3), moveTo(1000))
				}
			},
			want: []string{"n00", "n02", "n14", "n15", "n16", "n17", "n18", "n19", "n01", "n03"},
			then: []string{"n01", "n03"},
		},
	}
}

// TestNewestEnd_ShowsItemsThatMoveDuringTheReading: a page that reaches the end of the library
// shows everything that was in it throughout, once. What has moved since follows its last
// cursor.
func TestNewestEnd_ShowsItemsThatMoveDuringTheReading(t *testing.T) {
	for _, c := range allMovesDuringReading() {
		for _, descending := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, descending %v", c.name, descending), func(t *testing.T) {
				r := domaintest.NewRows(t)
				r.Principals("u:acme:ann")
				addNumbered(r, c.items)
				store := &interrupted{}
				r.Services = r.OpenProcess(store.on(r.Store.Store))
				c.set(r, store)
				shown, more, next := readTowardsNewer(r, descending, c.size, nil)
				wantSame(r, c.want, shown)
				if more {
					t.Error("there is more after the newest end")
				}
				for i := range c.items {
					r.ApplyIndex(numberedID(i), "u:acme:ann")
				}
				shown, more, _ = readTowardsNewer(r, descending, c.size, next)
				wantSame(r, c.then, shown)
				if more {
					t.Error("there is more after the newest end, read again")
				}
			})
		}
	}
}

// TestNewestEnd_EveryCursorLeadsToTheRest: this includes the cursor of an edge beyond the newest
// position that the bucket had when the page was opened.
func TestNewestEnd_EveryCursorLeadsToTheRest(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	addNumbered(r, 4)
	store := &interrupted{}
	r.Services = r.OpenProcess(store.on(r.Store.Store))
	store.betweenReads = func() {
		moveItem(r, numberedID(0), 700)
		moveItem(r, numberedID(1), 800)
		moveItem(r, numberedID(2), 900)
	}
	conn := r.Read(domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{PageArgs: domaintest.First(10)})
	all := domaintest.NamesOf(conn)
	wantSame(r, []string{"n03", "n00", "n01", "n02"}, all)
	for i, e := range conn.Edges {
		cursor := e.Cursor()
		rest, _, _ := readTowardsNewer(r, false, 10, &cursor)
		wantSame(r, all[i+1:], rest)
	}
}

// TestNewestEnd_FullPageLeavesMovedItemsToTheNextWalk: items that have moved and do not fit
// follow the last cursor.
func TestNewestEnd_FullPageLeavesMovedItemsToTheNextWalk(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	addNumbered(r, 5)
	store := &interrupted{}
	r.Services = r.OpenProcess(store.on(r.Store.Store))
	// Four are read in place, and the fifth does not come.
	store.beforeItems = func() { moveItem(r, numberedID(0), 900) }
	shown, more, next := readTowardsNewer(r, false, 4, nil)
	wantSame(r, []string{"n01", "n02", "n03", "n04"}, shown)
	if !more {
		t.Error("the item that has moved is not said to follow")
	}
	shown, more, _ = readTowardsNewer(r, false, 4, next)
	wantSame(r, []string{"n00"}, shown)
	if more {
		t.Error("there is more after the newest end")
	}
}

// TestNewestEnd_ItemsThatDoNotFitAreNotShownTwice: if items have moved and do not all fit into a
// page that begins a walk, it is read again, and shows them at their new entries. If their entries
// are not written yet, the page shows none of them, and they follow the end of the walk.
func TestNewestEnd_ItemsThatDoNotFitAreNotShownTwice(t *testing.T) {
	for _, c := range []struct {
		size                int
		written             bool
		first, second, then []string
	}{
		{size: 1, written: true, first: []string{"n02"}, second: []string{"n00", "n01"}},
		{size: 2, written: true, first: []string{"n02", "n00"}, second: []string{"n01"}},
		{size: 1, first: []string{"n02"}, then: []string{"n00", "n01"}},
		{size: 2, first: []string{"n02"}, then: []string{"n00", "n01"}},
	} {
		r := domaintest.NewRows(t)
		r.Principals("u:acme:ann")
		addNumbered(r, 3)
		store := &interrupted{}
		r.Services = r.OpenProcess(store.on(r.Store.Store))
		store.beforeItems = func() {
			r.Change(numberedID(0), moveTo(800))
			r.Change(numberedID(1), moveTo(900))
			if c.written {
				r.ApplyIndex(numberedID(0), "u:acme:ann")
				r.ApplyIndex(numberedID(1), "u:acme:ann")
			}
		}
		shown, more, next := readTowardsNewer(r, false, c.size, nil)
		wantSame(r, c.first, shown)
		if !more || next == nil {
			t.Fatalf("pages of %d: more %v, cursor %v", c.size, more, next)
		}
		shown, more, next = readTowardsNewer(r, false, 5, next)
		wantSame(r, c.second, shown)
		if more || next == nil {
			t.Errorf("the second page of the walk does not end it: more %v, cursor %v", more, next)
		}
		r.ApplyIndex(numberedID(0), "u:acme:ann")
		r.ApplyIndex(numberedID(1), "u:acme:ann")
		shown, _, _ = readTowardsNewer(r, false, 5, next)
		wantSame(r, c.then, shown)
	}
}

// TestNewestEnd_WalkOfManyPagesShowsNothingTwice: the bound of a walk applies to its later
// pages, even if the first was read beyond it.
func TestNewestEnd_WalkOfManyPagesShowsNothingTwice(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	addNumbered(r, 20)
	for i := 4; i < 14; i++ {
		r.Change(numberedID(i), func(h *library.Header) { h.Visibility = principal.Private })
	}
	store := &interrupted{}
	r.Services = r.OpenProcess(store.on(r.Store.Store))
	// The first page needs a second slice. Before it all but one of the remaining items move, so
	// that the page reaches beyond the newest position of its start.
	store.beforeSlice = func() {
		for i := 14; i < 19; i++ {
			moveItem(r, numberedID(i), clock.Instant(800+i))
		}
	}
	first, more, next := readTowardsNewer(r, false, 6, nil)
	wantSame(r, []string{"n00", "n01", "n02", "n03", "n19", "n14"}, first)
	if !more {
		t.Fatal("the walk ends early")
	}
	// Items that move now are omitted from the walk, even if it has not shown them yet.
	moveItem(r, numberedID(0), 900)
	rest, more, next := readTowardsNewer(r, false, 6, next)
	wantSame(r, nil, rest)
	if more || next == nil {
		t.Fatal("the walk does not end at its bound, or its last page has no cursor")
	}
	again, more, _ := readTowardsNewer(r, false, 6, next)
	wantSame(r, []string{"n15", "n16", "n17", "n18", "n00"}, again)
	if more {
		t.Error("there is more after the newest end")
	}
}

// TestEmptyLastPage_ContinuesWithoutABound: a walk continues after an empty last page, whose items
// have all moved.
func TestEmptyLastPage_ContinuesWithoutABound(t *testing.T) {
	for _, descending := range []bool{false, true} {
		t.Run(fmt.Sprintf("descending %v", descending), func(t *testing.T) {
			r := domaintest.NewRows(t)
			r.Principals("u:acme:ann")
			addNumbered(r, 3)
			_, more, next := readTowardsNewer(r, descending, 2, nil)
			if !more {
				t.Fatal("the walk ends early")
			}
			moveItem(r, numberedID(2), 500)
			shown, more, next := readTowardsNewer(r, descending, 2, next)
			wantSame(r, nil, shown)
			if more {
				t.Error("beyond the bound there is more")
			}
			shown, _, next = readTowardsNewer(r, descending, 2, next)
			wantSame(r, []string{"n02"}, shown)
			for range 2 {
				shown, _, next = readTowardsNewer(r, descending, 2, next)
				wantSame(r, nil, shown)
			}
			r.Item("c:acme:late", 600, principal.Public, domaintest.ContentMember("u:acme:ann", library.Viewing))
			shown, _, _ = readTowardsNewer(r, descending, 2, next)
			wantSame(r, []string{"late"}, shown)
		})
	}
}

// TestNewestEnd_LaterPagesShowNoMovedItems: only the page that begins a walk shows items that have
// moved. The walk has shown n00 before the former entry that its second page finds.
func TestNewestEnd_LaterPagesShowNoMovedItems(t *testing.T) {
	for _, descending := range []bool{false, true} {
		r := domaintest.NewRows(t)
		r.Principals("u:acme:ann")
		addNumbered(r, 4)
		shown, _, next := readTowardsNewer(r, descending, 2, nil)
		wantSame(r, []string{"n00", "n01"}, shown)
		moveItem(r, numberedID(0), 35) // by a gateway whose clock is behind
		r.Change(numberedID(0), moveTo(900))
		shown, more, _ := readTowardsNewer(r, descending, 5, next)
		wantSame(r, []string{"n02", "n03"}, shown)
		if more {
			t.Error("there is more after the bound")
		}
	}
}

// TestNewestEnd_WritersHideNothing: while writers move items as fast as they can,
// a page of the whole library shows every one of them, each once.
func TestNewestEnd_WritersHideNothing(t *testing.T) {
	h := domaintest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	const items, writers, updates = 20, 5, 60
	ids := make([]library.ContentID, items)
	for i := range ids {
		ids[i] = h.Note(fmt.Sprintf("n%02d", i), principal.Public)
	}
	h.Quiet()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range updates {
				title := fmt.Sprintf("%d by %d", n, w)
				_, err := h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"), library.UpdateContent{
					ID: string(ids[(n*writers+w)%items]), Title: input.Some(&title),
				})
				if err != nil {
					t.Errorf("updating: %v", err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for ended, descending := false, false; !ended; descending = !descending {
		select {
		case <-done:
			ended = true
		default:
		}
		n := 100
		q := library.LibraryQuery{Descending: descending, PageArgs: cursor.PageArgs{First: &n}}
		if descending {
			q.PageArgs = cursor.PageArgs{Last: &n}
		}
		conn, err := h.Listing.Library(t.Context(), domaintest.As("u:acme:ann"), "u:acme:ann", q)
		if err != nil {
			t.Fatal(err)
		}
		shown := map[library.ContentID]bool{}
		for _, e := range conn.Edges {
			shown[e.Node.ID] = true
		}
		if len(shown) != items || len(conn.Edges) != items {
			<-done
			t.Fatalf("%d edges show %d of %d items", len(conn.Edges), len(shown), items)
		}
	}
}
