package timeline_test

import (
	"fmt"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/timeline"
)

// removing is a feed whose entries one process reads and removes.
type removing struct {
	*fixture
	store   *removedStore
	entries []timeline.Entry // what is left, the oldest first
}

// newRemoving returns a feed of n entries, a millisecond apart, and an older one.
func newRemoving(t *testing.T, n int) *removing {
	f, store := newRemoved(t, 0, 0)
	f.rt.hold = true
	f.feeds = f.reader
	f.put(timeline.Entry{Created: noon - 3600*second - 1, ID: "oldest"}, true)
	for i := range clock.Instant(n) {
		f.put(timeline.Entry{Created: noon - 3600*second + i*1000, ID: fmt.Sprint(i)}, true)
	}
	return &removing{f, store, f.shown[1:]}
}

// remove removes some of the entries that are left, from the given index on, in their order.
func (r *removing) remove(first, n int) {
	r.Helper()
	for _, e := range r.entries[first : first+n] {
		if err := r.feeds.Drop(r.Context(), "f", e, 1_000_000); err != nil {
			r.Fatal(err)
		}
		r.store.removed = append(r.store.removed, e)
	}
	r.entries = append(append([]timeline.Entry(nil), r.entries[:first]...), r.entries[first+n:]...)
	r.shown = append(r.shown[:1:1], r.entries...)
}

// page reads the newest entries. It returns how many removed entries it has read past.
func (r *removing) page() int {
	r.Helper()
	r.store.skipped = 0
	r.want(timeline.Query{Size: 20})
	return r.store.skipped
}

// After this process has removed many entries, a background task finds the gap behind the newest page, however
// many entries are before it. So the first page after these were removed, too, does not read past it.
func TestSearch_FindsAGapBehindTheNewestPage(t *testing.T) {
	for _, c := range []struct {
		name  string
		drop  func(r *removing)
		found bool
	}{
		{"too few", func(r *removing) { r.remove(0, 199) }, false},
		{"the oldest", func(r *removing) { r.remove(0, 200) }, true},
		{"very many", func(r *removing) { r.remove(0, 3000) }, true},
		{"others at the head", func(r *removing) {
			r.remove(0, 700)
			r.remove(len(r.entries)-300, 300)
		}, true},
		{"others at the end", func(r *removing) {
			r.remove(0, 1)
			r.remove(500, 700)
		}, true},
		{"others while some are left", func(r *removing) {
			for n := range 100 {
				r.remove(n, 7)
			}
		}, false},
		{"all but the first 100", func(r *removing) { r.remove(100, 700) }, true},
	} {
		r := newRemoving(t, 4000)
		r.page()
		c.drop(r)
		removed := len(r.store.removed)
		if n := r.page(); n > 300 {
			t.Errorf("%s: the page before has read past %d removed entries", c.name, n)
		}
		r.rt.runHeld()
		later := len(r.entries)
		r.remove(0, later)
		n := r.page()
		if found := n < later+removed; found != c.found {
			t.Errorf("%s: found %t, want %t: the first page has read past %d removed entries, of which %d were removed after the search",
				c.name, found, c.found, n, later)
		}
	}
}

// While a process removes all entries, from either end, pages read past those of the last second only: a
// search finds the others. Searches read past a removed entry again every seven seconds.
func TestSearch_FollowsAGapThatGrows(t *testing.T) {
	for _, c := range []struct {
		name  string
		first func(r *removing) int
	}{
		{"the oldest first", func(*removing) int { return 0 }},
		{"the newest first", func(r *removing) int { return len(r.entries) - 500 }},
	} {
		r := newRemoving(t, 12_000)
		r.page()
		most, inBackground := 0, 0
		for len(r.entries) > 0 {
			r.rt.pass(time.Second)
			r.remove(c.first(r), 500)
			most = max(most, r.page())
			r.store.skipped = 0
			r.rt.runHeld()
			inBackground += r.store.skipped
		}
		if most > 500 {
			t.Errorf("%s: a page has read past %d removed entries", c.name, most)
		}
		// That is three times as many as there are.
		if inBackground > 36_000 {
			t.Errorf("%s: background tasks have read past %d removed entries", c.name, inBackground)
		}
	}
}

// A search notes no gap where few entries were removed. Each would cost a page further slices.
func TestSearch_NotesNoSpanWithFewRemovals(t *testing.T) {
	r := newRemoving(t, 4000)
	slices := func() int64 {
		before := r.fixture.store.slices.Load()
		r.want(timeline.Query{Size: 4, After: &timeline.Entry{Created: noon - 3600*second + 2_000_000}})
		return r.fixture.store.slices.Load() - before
	}
	r.page()
	for at := 3990; at > 0; at -= 10 { // one in ten
		r.remove(at, 1)
	}
	want := slices()
	r.page()
	if n := r.rt.runHeld(); n != 1 {
		t.Fatalf("%d background tasks, want a search", n)
	}
	if n := slices(); n != want {
		t.Errorf("a page takes %d slices, want %d as before", n, want)
	}
}
