package timeline_test

import (
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/core/timeline"
)

// wantNoneSkippedAgain reads a page twice. It fails the test if the second one skips removed entries, too.
func wantNoneSkippedAgain(t *testing.T, f *fixture, store *removedStore, q timeline.Query) {
	t.Helper()
	f.rt.hold = true // no background task runs
	f.want(q)
	if want := 4 * len(store.removed); store.skipped < want { // each is counted once for each partition of its day
		t.Fatalf("removed entries were skipped %d times, want at least %d", store.skipped, want)
	}
	store.skipped = 0
	if f.want(q); store.skipped != 0 {
		t.Errorf("%+v: the second page has skipped %d removed entries", q, store.skipped)
	}
}

// A page that has skipped the removed entries of two days finds one gap that contains all of them.
func TestRead_FindsAGapAcrossMidnight(t *testing.T) {
	const midnight, removed = today, 20_000
	f, store := newRemoved(t, midnight-removed*500, removed)
	f.put(timeline.Entry{Created: midnight + removed*500, ID: "newer"}, true)
	for n := range clock.Instant(10) {
		f.put(timeline.Entry{Created: midnight - removed*500 - 1 - n, ID: fmt.Sprint("older ", n)}, true)
	}
	wantNoneSkippedAgain(t, f, store, timeline.Query{Size: 5, After: &timeline.Entry{Created: midnight + removed*500}})
}

// If the store has skipped many removed entries, a page looks for the gap only on the days of these entries,
// even if a span on another day is longer and has no entries either.
func TestRead_LooksForAGapOnDaysWithRemovedEntries(t *testing.T) {
	const midnight, removed = today, 10_000
	newer, store := newRemoved(t, midnight-removed*1000, removed)
	for _, at := range []clock.Instant{midnight - 1, midnight, midnight + day/8, midnight + day/8 + 1} {
		newer.put(timeline.Entry{Created: at, ID: fmt.Sprint(at)}, true)
	}
	wantNoneSkippedAgain(t, newer, store, timeline.Query{Size: 3, Newer: true, After: &timeline.Entry{Created: midnight - removed*1000 - 1}})

	older, store := newRemoved(t, midnight, removed)
	for _, at := range []clock.Instant{midnight + removed*1000, midnight - 1, midnight - 2, midnight - day/2, midnight - day/2 - 1} {
		older.put(timeline.Entry{Created: at, ID: fmt.Sprint(at)}, true)
	}
	wantNoneSkippedAgain(t, older, store, timeline.Query{Size: 3, After: &timeline.Entry{Created: midnight + removed*1000}})
}
