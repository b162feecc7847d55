package timeline_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/timeline"
)

// removalFixture is a feed whose entries one process reads and removes.
type removalFixture struct {
	*fixture
	store   *removedStore
	entries []timeline.Entry // what is left, the oldest first
}

// newRemovalFixture returns a feed of n entries, a millisecond apart, and an older one.
func newRemovalFixture(t *testing.T, n int) *removalFixture {
	f, store := newRemoved(t, 0, 0)
	f.rt.hold = true
	f.feeds = f.reader
	f.put(timeline.Entry{Created: noon - 3600*second - 1, ID: "oldest"}, true)
	for i := range clock.Instant(n) {
		f.put(timeline.Entry{Created: noon - 3600*second + i*1000, ID: fmt.Sprint(i)}, true)
	}
	return &removalFixture{f, store, f.shown[1:]}
}

// remove removes n of the remaining entries, from index first on, the oldest first.
func (r *removalFixture) remove(first, n int) {
	r.Helper()
	r.removeBy(r.feeds, first, n)
}

// removeElsewhere removes the remaining entries like remove, but in another process.
func (r *removalFixture) removeElsewhere() {
	r.Helper()
	r.removeBy(r.open(), 0, len(r.entries))
}

func (r *removalFixture) removeBy(process *timeline.Timelines, first, n int) {
	r.Helper()
	for _, e := range r.entries[first : first+n] {
		if err := process.Drop(r.Context(), "f", e, 1_000_000); err != nil {
			r.Fatal(err)
		}
		r.store.removed = append(r.store.removed, e)
	}
	r.entries = append(append([]timeline.Entry(nil), r.entries[:first]...), r.entries[first+n:]...)
	r.shown = append(r.shown[:1:1], r.entries...)
}

// removeAndRefresh removes entries as remove does, reads a page, and runs the background tasks that it has started.
func (r *removalFixture) removeAndRefresh(first, n int) {
	r.Helper()
	r.remove(first, n)
	r.page()
	r.rt.runHeld()
}

// wantNoneRead removes the remaining entries in another process. It fails the test if the next page also reads past
// others.
func (r *removalFixture) wantNoneRead() {
	r.Helper()
	r.removeRestAndWantRead("after the last task", 0)
}

// failTasks runs the background tasks while the store fails.
func (r *removalFixture) failTasks() {
	r.Helper()
	r.fixture.store.Store = failing{r.store}
	r.rt.runHeld()
	r.fixture.store.Store = r.store
}

// scatter removes n entries, every other one, after the first ten.
func (r *removalFixture) scatter(n int) {
	r.Helper()
	for i := range n {
		r.remove(10+i, 1)
	}
}

// page reads the newest entries. It returns how many removed entries it has read past.
func (r *removalFixture) page() int {
	r.Helper()
	r.store.skipped = 0
	r.want(timeline.Query{Size: 20})
	return r.store.skipped
}

// After this process has removed many entries, a background task finds the gap behind the newest page, however
// many entries are newer than the gap. When these are removed later, the first page does not read past the gap.
func TestSearch_FindsAGapBehindTheNewestPage(t *testing.T) {
	for _, c := range []struct {
		name string
		drop func(r *removalFixture)
		// outside is how many of the entries that are removed before the search are outside the gap; -1 if
		// there is no gap.
		outside int
	}{
		{"too few", func(r *removalFixture) { r.remove(0, 199) }, -1},
		{"the oldest", func(r *removalFixture) { r.remove(0, 200) }, 0},
		{"the newer ones first", func(r *removalFixture) {
			for n := range 200 {
				r.remove(199-n, 1)
			}
		}, 0},
		{"very many", func(r *removalFixture) { r.remove(0, 3000) }, 0},
		{"others among the newest", func(r *removalFixture) {
			r.remove(0, 700)
			r.remove(len(r.entries)-300, 300)
		}, 300},
		{"one other, older", func(r *removalFixture) {
			r.remove(0, 1)
			r.remove(500, 700)
		}, 1},
		{"with remaining entries between them", func(r *removalFixture) {
			for n := range 100 {
				r.remove(n, 7)
			}
		}, -1},
		{"behind 100 older entries", func(r *removalFixture) { r.remove(100, 700) }, 0},
		{"many in one place", func(r *removalFixture) { r.remove(0, 100); r.scatter(100) }, 100},
		{"too few in one place", func(r *removalFixture) { r.remove(0, 99); r.scatter(101) }, -1},
	} {
		r := newRemovalFixture(t, 4000)
		r.page()
		c.drop(r)
		removed := len(r.store.removed)
		if n := r.page(); n > 300 {
			t.Errorf("%s: the page before has read past %d removed entries", c.name, n)
		}
		r.rt.runHeld()
		later := len(r.entries)
		r.removeElsewhere()
		want := later + c.outside
		if c.outside < 0 {
			want = later + removed
		}
		if n := r.page(); n != want {
			t.Errorf("%s: the first page has read past %d removed entries, of which %d were removed after the search; want %d", c.name, n, later, want)
		}
	}
}

// While a process removes all entries, from either end, pages read past at most the entries removed in the last
// second, because searches find the rest. Background tasks read past each removed entry about once every seven
// seconds.
func TestSearch_FollowsAGapThatGrows(t *testing.T) {
	for _, c := range []struct {
		name  string
		first func(r *removalFixture) int
	}{
		{"the oldest first", func(*removalFixture) int { return 0 }},
		{"the newest first", func(r *removalFixture) int { return len(r.entries) - 500 }},
	} {
		r := newRemovalFixture(t, 12_000)
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
		// That is three reads of each of the 12,000 entries.
		if inBackground > 36_000 {
			t.Errorf("%s: background tasks have read past %d removed entries", c.name, inBackground)
		}
	}
}

// A search notes no gap where few entries were removed. Each would cost a page further slices.
func TestSearch_NotesNoSpanWithFewRemovals(t *testing.T) {
	r := newRemovalFixture(t, 4000)
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

// Searches follow each other without a page while this process removes many entries, but not forever.
func TestSearch_IsRepeatedWithoutAPage(t *testing.T) {
	r := newRemovalFixture(t, 4000)
	r.page()
	r.remove(0, 200)
	r.page()
	var pauses []time.Duration
	removed := 200
	r.rt.pausing = func(d time.Duration) {
		if pauses = append(pauses, d); len(pauses) == 1 {
			return
		}
		r.rt.pass(d)
		n := 200
		if len(pauses) == 4 {
			n = 100 // too few; they are found by the search after the next pause
		}
		r.remove(0, n)
		removed += n
	}
	r.rt.runHeld()
	want := []time.Duration{10 * time.Millisecond}
	for range 7 {
		want = append(want, 250*time.Millisecond)
	}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	r.rt.pausing = nil
	r.wantNoneRead()
}

// After a search has failed, the next one also counts the earlier removals when it decides whether a span is a
// gap.
func TestSearch_CountsRemovalsAfterAnError(t *testing.T) {
	r := newRemovalFixture(t, 4000)
	r.page()
	r.remove(0, 200)
	r.page()
	r.failTasks()
	r.removeAndRefresh(0, 200)
	r.wantNoneRead()
}

// A search that fails renews no gap.
func TestSearch_RenewsNothingAfterAnError(t *testing.T) {
	r := newRemovalFixture(t, 4000)
	r.page()
	r.removeAndRefresh(2000, 600)
	r.rt.pass(4 * time.Second)
	for n := range clock.Instant(1000) { // they start a verification now, so that none starts in the next five seconds
		r.store.removed = append(r.store.removed, timeline.Entry{Created: noon - 1000*second + n, ID: "y"})
	}
	r.page()
	if n := r.rt.runHeld(); n != 1 {
		t.Fatalf("%d background tasks, want a verification", n)
	}
	r.rt.pass(4 * time.Second)
	r.remove(1900, 200)
	r.page()
	r.fixture.store.Store = newerFails{r.store}
	if n := r.rt.runHeld(); n != 1 {
		t.Fatalf("%d background tasks, want a search", n)
	}
	r.fixture.store.Store = r.store
	r.rt.pass(4 * time.Second)
	r.store.skipped = 0
	r.want(timeline.Query{Size: 1, After: &r.entries[2200]})
	r.want(timeline.Query{Size: 300, After: &r.entries[2200]})
	if r.store.skipped < 600 {
		t.Errorf("%d removed entries were read: the gap was renewed", r.store.skipped)
	}
}

// newerFails is a store that cannot list slices in the direction of newer entries.
type newerFails struct{ timeline.Store }

func (f newerFails) ListEntries(ctx context.Context, p timeline.Partition, s timeline.Slice) (timeline.Listed, error) {
	if s.Newer {
		return failing{}.ListEntries(ctx, p, s)
	}
	return f.Store.ListEntries(ctx, p, s)
}

// A series of searches ends after eight seconds, however slow the store is.
func TestSearch_EndsInTime(t *testing.T) {
	r := newRemovalFixture(t, 4000)
	r.page()
	r.remove(0, 200)
	r.page()
	pauses := 0
	r.rt.pausing = func(time.Duration) {
		pauses++
		r.rt.pass(2 * time.Second)
		r.remove(0, 200)
	}
	r.rt.runHeld()
	if pauses != 5 {
		t.Errorf("%d pauses of two seconds each, want one before the first search, and one after each of four searches", pauses)
	}
}

// A search finds a gap behind up to 999 remaining entries. It does not stop at them, because they may be about
// to be removed.
func TestSearch_PassesRemainingEntries(t *testing.T) {
	for _, newer := range []bool{true, false} {
		for _, remaining := range []int{999, 1000} {
			r := newRemovalFixture(t, 4000)
			r.page()
			// The median of the removed entries, where the search begins, is the scattered one that is nearest
			// to the gap.
			const gap, scattered = 150, 151
			for n := range scattered {
				r.remove(2000+n, 1) // every other entry
			}
			if newer {
				r.remove(2000+scattered+remaining-1, gap)
			} else {
				r.remove(2000-remaining-gap, gap)
			}
			removed := len(r.store.removed)
			r.page()
			r.rt.runHeld()
			left := len(r.entries)
			r.removeElsewhere()
			if n, found := r.page(), remaining < 1000; n == left+scattered != found || n == left+removed == found {
				t.Errorf("newer %t: behind %d remaining entries: a page has read past %d removed entries, of which %d were removed after the search", newer, remaining, n, left)
			}
		}
	}
}

// A search renews a gap that is due, although nothing was removed in it since it was found.
func TestSearch_RenewsAGap(t *testing.T) {
	r := newRemovalFixture(t, 4000)
	r.page()
	r.removeAndRefresh(0, 600)
	r.rt.pass(8 * time.Second)
	r.remove(5, 600) // five remaining entries separate them from the gap
	r.page()
	r.rt.runHeld()
	r.rt.pass(8 * time.Second) // sixteen seconds after the first search
	r.wantNoneRead()
}
