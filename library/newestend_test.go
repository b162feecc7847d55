package library_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"carrel/backend"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// interrupted is a store whose reads of a page let something happen before them,
// once each.
type interrupted struct {
	backend.Store
	beforeItems  func()
	beforeSlice  func() // before the second slice of a page
	betweenReads func() // of an opening, between the newest position and the slice
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
	return s.Store.ReadMany(ctx, ids, members)
}

func (s *interrupted) PageLibrary(ctx context.Context, q library.Slice) ([]library.Entry, error) {
	run(&s.beforeSlice)
	return s.Store.PageLibrary(ctx, q)
}

func (s *interrupted) OpenLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	before, err := s.Store.OpenLibrary(ctx, q, newest)
	if err != nil || s.betweenReads == nil {
		return before, err
	}
	run(&s.betweenReads)
	after, err := s.Store.OpenLibrary(ctx, q, newest)
	if err == nil {
		after.Newest = before.Newest
	}
	return after, err
}

// towardsNewer reads a page towards newer entries, and returns its names from
// old to new, whether there is more, and the cursor to go on from.
func (r *room) towardsNewer(descending bool, size int, from *string) (shown []string, more bool, next *string) {
	r.t.Helper()
	q := library.LibraryQuery{Descending: descending, PageArgs: firstAfter(size, from)}
	if descending {
		q.PageArgs = lastBefore(size, from)
	}
	conn := r.read(anonymous(), "u:acme:ann", q)
	r.wantEnds(conn, from)
	cursors := map[string]bool{}
	for _, e := range conn.Edges {
		if cursors[e.Cursor()] {
			r.t.Errorf("two edges of %v have one cursor", names(conn))
		}
		cursors[e.Cursor()] = true
	}
	shown, info := names(conn), &conn.PageInfo
	if descending {
		slices.Reverse(shown)
		return shown, info.HasPreviousPage, info.StartCursor()
	}
	return shown, info.HasNextPage, info.EndCursor()
}

// move moves an item of ann's to a position, in her library too.
func (r *room) move(id library.ContentID, to clock.Instant) {
	r.change(id, moveTo(to))
	r.enforce(id, "u:acme:ann")
}

// movesDuringReading is a page of ann's library, during whose reading items move.
type movesDuringReading struct {
	name  string
	items int // in the library
	size  int // of the page
	set   func(r *room, s *interrupted)
	want  []string
	then  []string // what the last cursor leads to, once all fan-outs are over
}

func allMovesDuringReading() []movesDuringReading {
	stale := func(r *room) { // The fan-out of two moves has not reached the library.
		r.change(numberedID(1), moveTo(900))
		r.change(numberedID(3), moveTo(800))
	}
	moves := func(r *room) {
		r.move(numberedID(1), 900)
		r.move(numberedID(3), 800)
	}
	hide := func(r *room, from, to int) {
		for i := from; i <= to; i++ {
			r.change(numberedID(i), func(h *library.Header) { h.Visibility = principal.Private })
		}
	}
	return []movesDuringReading{
		{
			name: "before the items are read", items: 5, size: 10,
			set:  func(r *room, s *interrupted) { s.beforeItems = func() { moves(r) } },
			want: []string{"n00", "n02", "n04", "n03", "n01"},
			then: []string{"n03", "n01"},
		},
		{
			name: "and their fan-out is still to come", items: 5, size: 10,
			set:  func(r *room, s *interrupted) { stale(r) },
			want: []string{"n00", "n02", "n04", "n03", "n01"},
			then: []string{"n03", "n01"},
		},
		{
			name: "all of them", items: 2, size: 10,
			set: func(r *room, s *interrupted) {
				s.beforeItems = func() { r.move(numberedID(0), 900); r.move(numberedID(1), 800) }
			},
			want: []string{"n01", "n00"},
			then: []string{"n01", "n00"},
		},
		{
			name: "a page that is just full", items: 5, size: 5,
			set:  func(r *room, s *interrupted) { s.beforeItems = func() { moves(r) } },
			want: []string{"n00", "n02", "n04", "n03", "n01"},
			then: []string{"n03", "n01"},
		},
		{
			name: "between the newest position and the slice", items: 5, size: 10,
			set:  func(r *room, s *interrupted) { s.betweenReads = func() { moves(r) } },
			want: []string{"n00", "n02", "n04", "n03", "n01"},
		},
		{
			// 10 of 15 are seen, so that a page of 10 takes two slices of 15.
			name: "between two slices", items: 20, size: 12,
			set: func(r *room, s *interrupted) {
				hide(r, 4, 13)
				s.beforeSlice = func() { r.move(numberedID(1), 900); r.move(numberedID(18), 800) }
			},
			want: []string{"n00", "n02", "n03", "n14", "n15", "n16", "n17", "n19", "n18", "n01"},
		},
		{
			name: "twice, between two slices", items: 20, size: 12,
			set: func(r *room, s *interrupted) {
				hide(r, 4, 13)
				stale(r)
				s.beforeSlice = func() {
					r.enforce(numberedID(3), "u:acme:ann")
					r.change(numberedID(3), moveTo(1000))
				}
			},
			want: []string{"n00", "n02", "n14", "n15", "n16", "n17", "n18", "n19", "n01", "n03"},
			then: []string{"n01", "n03"},
		},
	}
}

// TestNewestEnd_ShowsItemsThatMoveDuringTheReading: a page that reaches the end
// of the library shows everything that was in it throughout, once. What has
// moved since is met again from its last cursor.
func TestNewestEnd_ShowsItemsThatMoveDuringTheReading(t *testing.T) {
	for _, c := range allMovesDuringReading() {
		for _, descending := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, descending %v", c.name, descending), func(t *testing.T) {
				r := newRoom(t)
				r.principals("u:acme:ann")
				r.numbered(c.items)
				store := &interrupted{Store: r.store}
				r.svc = r.service(store)
				c.set(r, store)
				shown, more, next := r.towardsNewer(descending, c.size, nil)
				r.wantSame(c.want, shown)
				if more {
					t.Error("there is more after the newest end")
				}
				for i := range c.items {
					r.enforce(numberedID(i), "u:acme:ann")
				}
				shown, more, _ = r.towardsNewer(descending, c.size, next)
				r.wantSame(c.then, shown)
				if more {
					t.Error("there is more after the newest end, read again")
				}
			})
		}
	}
}

// TestNewestEnd_EveryCursorLeadsToTheRest: also the cursor of an edge beyond the
// newest position that the page began with.
func TestNewestEnd_EveryCursorLeadsToTheRest(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann")
	r.numbered(4)
	store := &interrupted{Store: r.store}
	r.svc = r.service(store)
	store.betweenReads = func() { r.move(numberedID(0), 700); r.move(numberedID(1), 800); r.move(numberedID(2), 900) }
	conn := r.read(anonymous(), "u:acme:ann", library.LibraryQuery{PageArgs: first(10)})
	all := names(conn)
	r.wantSame([]string{"n03", "n00", "n01", "n02"}, all)
	for i, e := range conn.Edges {
		cursor := e.Cursor()
		rest, _, _ := r.towardsNewer(false, 10, &cursor)
		r.wantSame(all[i+1:], rest)
	}
}

// TestNewestEnd_FullPageLeavesMovedItemsToTheNextWalk: items that have moved and
// do not fit are met behind the last cursor.
func TestNewestEnd_FullPageLeavesMovedItemsToTheNextWalk(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann")
	r.numbered(5)
	store := &interrupted{Store: r.store}
	r.svc = r.service(store)
	// Four are read in place, and the fifth does not come.
	store.beforeItems = func() { r.move(numberedID(0), 900) }
	shown, more, next := r.towardsNewer(false, 4, nil)
	r.wantSame([]string{"n01", "n02", "n03", "n04"}, shown)
	if !more {
		t.Error("the item that has moved is not said to follow")
	}
	shown, more, _ = r.towardsNewer(false, 4, next)
	r.wantSame([]string{"n00"}, shown)
	if more {
		t.Error("there is more after the newest end")
	}
}

// TestNewestEnd_ItemsThatDoNotFitAreNotShownTwice: of items that have moved and
// do not all fit, a page shows none. The next one does, at their new entries.
func TestNewestEnd_ItemsThatDoNotFitAreNotShownTwice(t *testing.T) {
	for _, c := range []struct {
		size  int
		first []string
	}{{1, nil}, {2, []string{"n02"}}} {
		r := newRoom(t)
		r.principals("u:acme:ann")
		r.numbered(3)
		if c.size == 1 {
			r.change(numberedID(2), func(h *library.Header) { h.State = commit.Deleted })
		}
		store := &interrupted{Store: r.store}
		r.svc = r.service(store)
		store.beforeItems = func() { r.move(numberedID(0), 800); r.move(numberedID(1), 900) }
		conn := r.read(anonymous(), "u:acme:ann", library.LibraryQuery{PageArgs: first(c.size)})
		r.wantSame(c.first, names(conn))
		if !conn.PageInfo.HasNextPage || conn.PageInfo.EndCursor() == nil {
			t.Fatalf("pages of %d: %+v", c.size, conn.PageInfo)
		}
		rest, more, _ := r.towardsNewer(false, 5, conn.PageInfo.EndCursor())
		r.wantSame([]string{"n00", "n01"}, rest)
		if more {
			t.Error("there is more after the newest end")
		}
	}
}

// TestNewestEnd_WalkOfManyPagesShowsNothingTwice: the bound of a walk holds for
// its later pages, also where the first was read beyond it.
func TestNewestEnd_WalkOfManyPagesShowsNothingTwice(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann")
	r.numbered(20)
	for i := 4; i < 14; i++ {
		r.change(numberedID(i), func(h *library.Header) { h.Visibility = principal.Private })
	}
	store := &interrupted{Store: r.store}
	r.svc = r.service(store)
	// The first page needs a second slice; before it all but one of what is left
	// moves, so that the page reaches beyond the newest position it began with.
	store.beforeSlice = func() {
		for i := 14; i < 19; i++ {
			r.move(numberedID(i), clock.Instant(800+i))
		}
	}
	first, more, next := r.towardsNewer(false, 6, nil)
	r.wantSame([]string{"n00", "n01", "n02", "n03", "n19", "n14"}, first)
	if !more {
		t.Fatal("the walk ends early")
	}
	// What moves now is left out of the walk, also what it has not shown yet.
	r.move(numberedID(0), 900)
	rest, more, next := r.towardsNewer(false, 6, next)
	r.wantSame(nil, rest)
	if more || next == nil {
		t.Fatal("the walk does not end behind its bound, or strands there")
	}
	again, more, _ := r.towardsNewer(false, 6, next)
	r.wantSame([]string{"n15", "n16", "n17", "n18", "n00"}, again)
	if more {
		t.Error("there is more after the newest end")
	}
}

// TestEmptyLastPage_GoesOnWithoutABound: a walk whose last page is empty, because
// what was left has moved, is not stranded.
func TestEmptyLastPage_GoesOnWithoutABound(t *testing.T) {
	for _, descending := range []bool{false, true} {
		t.Run(fmt.Sprintf("descending %v", descending), func(t *testing.T) {
			r := newRoom(t)
			r.principals("u:acme:ann")
			r.numbered(3)
			_, more, next := r.towardsNewer(descending, 2, nil)
			if !more {
				t.Fatal("the walk ends early")
			}
			r.move(numberedID(2), 500)
			shown, more, next := r.towardsNewer(descending, 2, next)
			r.wantSame(nil, shown)
			if more {
				t.Error("beyond the bound there is more")
			}
			shown, _, next = r.towardsNewer(descending, 2, next)
			r.wantSame([]string{"n02"}, shown)
			for range 2 {
				shown, _, next = r.towardsNewer(descending, 2, next)
				r.wantSame(nil, shown)
			}
			r.item("c:acme:late", 600, principal.Public, has("u:acme:ann", library.Viewing))
			shown, _, _ = r.towardsNewer(descending, 2, next)
			r.wantSame([]string{"late"}, shown)
		})
	}
}

// TestNewestEnd_WritersHideNothing: while writers move items as fast as they can,
// a page of the whole library shows every one of them, each once.
func TestNewestEnd_WritersHideNothing(t *testing.T) {
	h := newHouse(t, nil)
	h.user("u:acme:ann", principal.Public)
	const items, writers, updates = 20, 5, 60
	ids := make([]library.ContentID, items)
	for i := range ids {
		ids[i] = h.note(fmt.Sprintf("n%02d", i), principal.Public)
	}
	h.quiet()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range updates {
				title := fmt.Sprintf("%d by %d", n, w)
				_, err := h.svc.UpdateContent(t.Context(), as("u:acme:ann"), library.UpdateContent{
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
		conn, err := h.svc.Library(t.Context(), as("u:acme:ann"), "u:acme:ann", q)
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
