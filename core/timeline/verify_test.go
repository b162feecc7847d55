package timeline_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/timeline"
)

// While a process removes the newest entries, gaps behind the remaining ones are verified before pages reach them.
// So they are still known when pages do.
func TestSearch_VerifiesGapsBehindManyEntries(t *testing.T) {
	r := newRemovalFixture(t, 10_000)
	r.page()
	for _, first := range []int{0, 1000, 2000} {
		r.removeAndRefresh(first, 1000)
	}
	taken := r.fixture.store.requested.Load()
	for range 20 {
		r.rt.pass(time.Second)
		r.removeAndRefresh(len(r.entries)-200, 200)
	}
	// Each second, a page is read, and a search reads up to 1,000 entries in each direction. A verification runs
	// every five seconds.
	if n := r.fixture.store.requested.Load() - taken; n > 20*6000 {
		t.Errorf("slices of %d entries were requested", n)
	}
	r.wantNoneRead()
}

// While a process removes the newest entries, gaps that no page has reached for a long time are verified, too.
func TestSearch_VerifiesStaleGaps(t *testing.T) {
	r := newRemovalFixture(t, 10_000)
	r.page()
	r.removeAndRefresh(0, 1000)
	for range 60 {
		r.rt.pass(time.Second)
		r.page()
		if n := r.rt.runHeld(); n > 0 {
			t.Fatalf("%d background tasks, although pages do not reach the gap", n)
		}
	}
	r.remove(len(r.entries)-200, 200)
	r.page()
	r.store.skipped = 0
	if n := r.rt.runHeld(); n != 2 {
		t.Fatalf("%d background tasks, want a search and a verification", n)
	}
	if r.store.skipped > 1000+600 {
		t.Errorf("%d removed entries were read, so the gap was read twice", r.store.skipped)
	}
	r.wantNoneRead()
}

// While a process removes the newest entries, the oldest gaps are verified first. If the newest entries were read
// first, the verification might be overtaken by removals, and read on to the older gaps without renewing them.
func TestSearch_VerifiesTheOldestGapsFirst(t *testing.T) {
	r := newRemovalFixture(t, 10_000)
	r.page()
	r.removeAndRefresh(0, 1000)
	r.removeAndRefresh(1000, 2000)
	r.rt.pass(8 * time.Second)
	r.remove(len(r.entries)-200, 200)
	r.page()
	if len(r.rt.held) != 2 {
		t.Fatalf("%d background tasks, want a verification and a search", len(r.rt.held))
	}
	var read []int // how many removed entries were read before each slice
	r.store.skipped = 0
	r.fixture.store.listing = func() { read = append(read, r.store.skipped) }
	r.rt.held[0]()
	if diff := cmp.Diff([]int{0, 1000, 3000, 3200}, slices.Compact(read)); diff != "" {
		t.Errorf("read before the slices (-want +got):\n%s", diff)
	}
}

// A verification ends after an error, and does not ask a failing store for the other gaps.
func TestSearch_VerifiesNoGapAfterAnError(t *testing.T) {
	r := newRemovalFixture(t, 10_000)
	r.page()
	r.removeAndRefresh(0, 1000)
	r.removeAndRefresh(1000, 2000)
	r.rt.pass(8 * time.Second)
	r.remove(len(r.entries)-200, 200)
	r.page()
	r.fixture.store.Store = failing{r.store}
	before := r.fixture.store.slices.Load()
	r.rt.held[0]() // the verification
	if n := r.fixture.store.slices.Load() - before; n != 1 {
		t.Errorf("%d slices were read from a failing store, want 1", n)
	}
}

// A verification of a far gap does not renew a newer one that it has not read.
func TestSearch_VerifiesOnlyGapsThatAreDue(t *testing.T) {
	r := newRemovalFixture(t, 10_000)
	r.page()
	r.removeAndRefresh(0, 1000)
	r.rt.pass(5 * time.Second)
	late := r.entries[2500]
	r.removeAndRefresh(2000, 1000)
	late.ID += "late"
	if err := r.open().Put(t.Context(), "f", late, 2_000_000); err != nil {
		t.Fatal(err)
	}
	r.rt.pass(2 * time.Second)
	r.remove(len(r.entries)-200, 200)
	r.page()
	r.store.skipped = 0
	if r.rt.runHeld(); r.store.skipped < 1000 {
		t.Fatalf("the far gap was not verified: %d removed entries were read", r.store.skipped)
	}
	r.rt.pass(9 * time.Second)
	r.shown = append(r.shown, late)
	p := r.read(timeline.Query{Size: 1, After: &timeline.Entry{Created: late.Created + 1}})
	if len(p.Found) != 1 || p.Found[0].Entry != late {
		t.Errorf("eleven seconds after the gap was found, the page has %+v, want %+v", p.Found, late)
	}
}
