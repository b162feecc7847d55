package listing_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/headercache"
	"carrel/library"
	"carrel/pebblestore"
	"carrel/principal"
)

// slow is a store whose calls take a random time before and after their effect. It runs in a
// bubble of synctest, so that a seed gives the same schedule.
type slow struct {
	commit.JournalStore
	library.ContentStore
	library.LibraryStore
	mu   sync.Mutex
	rand *rand.Rand
	most time.Duration // 0: no call takes time
}

// on returns s with the changes.
func (d *slow) on(s domain.Store) domain.Store {
	d.JournalStore, d.ContentStore, d.LibraryStore, s.Journal, s.Contents, s.Libraries = s.Journal, s.Contents, s.Libraries, d, d, d
	return s
}

func (s *slow) draw(below int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rand.IntN(below)
}

// hurry lets calls take no time from now on.
func (s *slow) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = 0
}

func (s *slow) wait(ctx context.Context) {
	s.mu.Lock()
	most := int(s.most)
	s.mu.Unlock()
	if most > 0 {
		_ = sched.NewReal().After(ctx, time.Duration(s.draw(most)))
	}
}

func (s *slow) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	s.wait(ctx)
	defer s.wait(ctx)
	return s.ContentStore.ReadMany(ctx, ids, members)
}

func (s *slow) PageLibrary(ctx context.Context, q library.Slice) ([]library.Entry, error) {
	s.wait(ctx)
	defer s.wait(ctx)
	return s.LibraryStore.PageLibrary(ctx, q)
}

func (s *slow) OpenLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	s.wait(ctx)
	defer s.wait(ctx)
	return s.LibraryStore.OpenLibrary(ctx, q, newest)
}

// waitLong waits, one time in eight for long.
func (s *slow) waitLong(ctx context.Context) {
	for range 1 + s.draw(8)/7*20 {
		s.wait(ctx)
	}
}

func (s *slow) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	s.waitLong(ctx)
	defer s.wait(ctx)
	return s.ContentStore.Commit(ctx, c)
}

func (s *slow) PutInFlightList(ctx context.Context, l commit.InFlightList) error {
	s.waitLong(ctx)
	return s.JournalStore.PutInFlightList(ctx, l)
}

func (s *slow) InFlight(ctx context.Context) ([]commit.InFlightList, error) {
	defer s.wait(ctx)
	return s.JournalStore.InFlight(ctx)
}

func (s *slow) ApplyIndex(ctx context.Context, u *library.IndexUpdate) error {
	s.wait(ctx)
	defer s.wait(ctx)
	return s.ContentStore.ApplyIndex(ctx, u)
}

// changing is a library of ann's whose items are changed all the time by writers of one gateway.
type changing struct {
	t       *testing.T
	store   *slow
	runtime *sched.Real
	journal *journal.Journal
	*domain.Services
	ids     []library.ContentID
	unmoved int // how many items did not move during a walk

	mu sync.Mutex
	// changed is when the last change of an item ended, and changes how many are under way. A deferred
	// move is a change, too.
	changed map[library.ContentID]clock.Instant
	changes map[library.ContentID]int
}

func newChanging(t *testing.T, seed uint64, items, hidden int, tuning library.Tuning, c headercache.Config) *changing {
	t.Helper()
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	w := &changing{t: t, runtime: sched.NewReal(), changed: map[library.ContentID]clock.Instant{}, changes: map[library.ContentID]int{}}
	w.store = &slow{rand: rand.New(rand.NewPCG(seed, 1))}
	t.Cleanup(func() {
		w.runtime.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	through := w.store.on(store.Store)
	w.journal = journal.New(t.Context(), through.Journal, w.runtime, nil)
	w.Services = domaintest.Open(t, domain.Config{
		Store: through, Runtime: w.runtime, Journal: w.journal, Names: &domaintest.CountingNames{},
		Remote: c.Bytes > 0, HeaderCache: c, Tuning: tuning,
	})
	h := &domaintest.Fixture{T: t, Store: through, Runtime: w.runtime, Journal: w.journal, Services: w.Services}
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:ben", principal.Public)
	h.User("u:beta:zoe", principal.Public)
	for i := range items {
		visibility := principal.Public
		if i%5 == 4 {
			visibility = principal.Private
		}
		for n := range hidden {
			name := fmt.Sprintf("h%02d-%d", i, n)
			_, err := w.Library.CreateContent(t.Context(), domaintest.As("u:beta:zoe"), library.CreateContent{
				Name: &name, Kind: library.Note, Title: name, Visibility: principal.Private, Members: domaintest.MemberChanges("u:acme:ann=VIEWER"),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		w.ids = append(w.ids, h.Note(fmt.Sprintf("n%02d", i), visibility, "u:acme:ben=VIEWER"))
		_ = w.runtime.After(t.Context(), time.Microsecond)
	}
	return w
}

// write changes random items until ctx ends.
func (w *changing) write(ctx context.Context, writer int) {
	for n := 0; ctx.Err() == nil; n++ {
		id := w.ids[w.store.draw(len(w.ids))]
		title := fmt.Sprintf("n %d by %d", n, writer)
		w.note(id, 1)
		_, err := w.Library.UpdateContent(w.t.Context(), domaintest.As("u:acme:ann"),
			library.UpdateContent{ID: string(id), Title: input.Some(&title)})
		if err != nil {
			w.t.Errorf("updating: %v", err)
		}
		w.note(id, -1)
		_ = w.runtime.After(ctx, time.Duration(w.store.draw(int(2*time.Millisecond))))
	}
}

func (w *changing) note(id library.ContentID, changes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes[id] += changes
	w.changed[id] = w.Engine.Now()
}

// noting is the background work of the Services, and notes which items it moves.
type noting struct {
	domain.Background
	w *changing
}

// RunDue makes a deferred move, for the journal.
func (n noting) RunDue(ctx context.Context, e commit.Entry) (bool, error) {
	n.w.note(library.ContentID(e.Key), 1)
	defer n.w.note(library.ContentID(e.Key), -1)
	return n.Background.RunDue(ctx, e)
}

// walk reads all pages of a library, and checks that none shows an item that was shown before.
func (w *changing) walk(viewer *principal.Viewer, owner string, q library.LibraryQuery, size int) {
	w.t.Helper()
	var shown []library.ContentID
	var cursor *string
	began := w.Engine.Now()
	for pages := 0; ; pages++ {
		q.PageArgs = domaintest.FirstAfter(size, cursor)
		if q.Descending {
			q.PageArgs = domaintest.LastBefore(size, cursor)
		}
		conn, err := w.Listing.Library(w.t.Context(), &principal.Viewer{User: viewer.User, Admin: viewer.Admin}, principal.ID(owner), q)
		if err != nil {
			w.t.Fatal(err)
		}
		edges, more, next := conn.Edges, conn.PageInfo.HasNextPage, conn.PageInfo.EndCursor()
		if q.Descending {
			edges, more, next = slices.Clone(edges), conn.PageInfo.HasPreviousPage, conn.PageInfo.StartCursor()
			slices.Reverse(edges)
		}
		for _, e := range edges {
			if slices.Contains(shown, e.Node.ID) {
				w.t.Errorf("page %d shows %s again, which follows %v; the query is %+v", pages, e.Node.ID, shown, q)
			}
			shown = append(shown, e.Node.ID)
		}
		if !more {
			break
		}
		if pages > 10*len(w.ids) || next == nil {
			w.t.Fatalf("the walk does not end: %d pages", pages)
		}
		cursor = next
		// A client takes time, too.
		_ = w.runtime.After(w.t.Context(), time.Duration(w.store.draw(int(3*time.Millisecond))))
	}
	w.wantUnmoved(shown, began, viewer.Admin || string(viewer.User) == owner || q.IncludeShared)
}

// wantUnmoved checks that the walk shows all items whose last change ended before it began. all says
// whether it shows the private ones.
func (w *changing) wantUnmoved(shown []library.ContentID, began clock.Instant, all bool) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, id := range w.ids {
		if w.changes[id] == 0 && w.changed[id] < began && (all || i%5 != 4) {
			w.unmoved++
			if !slices.Contains(shown, id) {
				w.t.Errorf("the walk does not show %s, which did not move, but %v", id, shown)
			}
		}
	}
}

// TestWalk_ShowsNoItemTwice: a walk towards newer entries shows no item twice, and misses none that
// did not move, while three writers change the items all the time.
func TestWalk_ShowsNoItemTwice(t *testing.T) {
	word := "n"
	for _, c := range []struct {
		name        string
		tuning      library.Tuning
		copies      headercache.Config
		items, size int
		hidden      int // private items of another tenant for each item
		viewer      principal.ID
		query       library.LibraryQuery
	}{
		{name: "pages of three", items: 24, size: 3},
		{name: "a library of little more than a page", items: 5, size: 3},
		{name: "a filter", items: 24, size: 3, query: library.LibraryQuery{Filter: &library.LibraryFilter{Text: &word}}},
		{name: "the library of another user", items: 24, size: 3, viewer: "u:acme:ben"},
		{name: "the shared items of another user", items: 24, size: 3, viewer: "u:acme:ben", query: library.LibraryQuery{IncludeShared: true}},
		{name: "pages that the budget ends", items: 24, size: 3, viewer: "u:acme:ben", hidden: 4},
		{name: "pages from copies", items: 24, size: 3, copies: headercache.Config{Bytes: 1000 << 10, AlwaysOn: true}},
		{name: "hot items", items: 24, size: 3, tuning: library.Tuning{HotMoves: 2, HotPause: 60 * time.Millisecond}},
		{name: "hot items from copies", items: 24, size: 3, copies: headercache.Config{Bytes: 1000 << 10, AlwaysOn: true},
			tuning: library.Tuning{HotMoves: 2, HotPause: 60 * time.Millisecond}},
	} {
		if c.viewer == "" {
			c.viewer = "u:acme:ann"
		}
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(20 - 4*c.hidden) {
				synctest.Test(t, func(t *testing.T) {
					w := newChanging(t, seed, c.items, c.hidden, c.tuning, c.copies)
					w.store.most = time.Duration(1+seed%3) * time.Millisecond
					ctx, end := context.WithCancel(t.Context())
					var writers sync.WaitGroup
					for n := range 3 {
						writers.Go(func() { w.write(ctx, n) })
					}
					writers.Go(func() {
						for ctx.Err() == nil {
							if err := w.journal.DoDue(t.Context(), noting{w.Background(), w}); err != nil {
								t.Errorf("the moves that are due: %v", err)
							}
							_ = w.runtime.After(ctx, time.Millisecond)
						}
					})
					for n := range 12 {
						c.query.Descending = n%2 == 1
						w.walk(&principal.Viewer{User: c.viewer, Admin: c.hidden > 0}, "u:acme:ann", c.query, c.size)
					}
					end()
					writers.Wait()
					w.store.hurry()
					if t.Failed() {
						t.Logf("the seed is %d", seed)
					}
					if c.items > 10 && w.unmoved == 0 {
						t.Error("all items moved during each walk")
					}
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}
