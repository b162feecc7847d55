package timeline_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/timeline"
)

// newTwoGaps returns a feed with two gaps that searches have just found, of the 1,000 oldest entries and of 2,000
// others. Both are behind many entries.
func newTwoGaps(t *testing.T) *removalFixture {
	r := newRemovalFixture(t, 10_000)
	r.page()
	r.removeAndRefresh(0, 1000)
	r.removeAndRefresh(1000, 2000)
	return r
}

// removeNewest removes the newest 200 entries after some time, reads a page, and checks that the page has started a
// verification and a search, in this order.
func (r *removalFixture) removeNewest(after time.Duration) {
	r.Helper()
	r.rt.pass(after)
	r.remove(len(r.entries)-200, 200)
	r.page()
	if len(r.rt.held) != 2 {
		r.Fatalf("%d background tasks, want a verification and a search", len(r.rt.held))
	}
	r.store.skipped = 0
}

// While a process removes the newest entries, gaps behind the remaining ones are verified before pages reach them.
// So the pages that reach them skip them.
func TestVerify_GapsBehindManyEntries(t *testing.T) {
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
		t.Errorf("slices of %d entries were requested, want at most 120000", n)
	}
	r.wantNoneRead()
}

// While a process removes the newest entries, gaps that no page has reached for a long time are verified, too.
func TestVerify_StaleGaps(t *testing.T) {
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
	r.removeNewest(0)
	r.rt.runHeld()
	if r.store.skipped > 1000+600 {
		t.Errorf("%d removed entries were read, want at most 1600: the gap was read twice", r.store.skipped)
	}
	r.wantNoneRead()
}

// While a process removes the newest entries, the oldest gaps are verified first. If the newest entries were read
// first, the verification might be overtaken by removals, and read on to the older gaps without renewing them.
func TestVerify_TheOldestGapsFirst(t *testing.T) {
	r := newTwoGaps(t)
	r.removeNewest(8 * time.Second)
	var read []int // how many removed entries were read before each slice
	r.fixture.store.listing = func() { read = append(read, r.store.skipped) }
	r.rt.held[0]()
	if diff := cmp.Diff([]int{0, 1000, 3000, 3200}, slices.Compact(read)); diff != "" {
		t.Errorf("read before the slices (-want +got):\n%s", diff)
	}
}

// A verification ends after an error, and does not ask a failing store for the other gaps.
func TestVerify_NoGapAfterAnError(t *testing.T) {
	r := newTwoGaps(t)
	r.removeNewest(8 * time.Second)
	r.fixture.store.Store = failing{r.store}
	before := r.fixture.store.slices.Load()
	r.rt.held[0]() // the verification
	if n := r.fixture.store.slices.Load() - before; n != 1 {
		t.Errorf("%d slices were read from a failing store, want 1", n)
	}
}

// A verification of a gap behind many entries does not renew a newer one that it has not read.
func TestVerify_OnlyGapsThatAreDue(t *testing.T) {
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
	r.removeNewest(2 * time.Second)
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

// A page that reaches a stale gap starts a verification, although it does not skip the gap.
func TestVerify_StaleGapThatAPageReaches(t *testing.T) {
	r := newRemovalFixture(t, 4000)
	r.page()
	r.removeAndRefresh(len(r.entries)-560, 500)
	r.rt.pass(13 * time.Second)
	r.page()
	if n := r.rt.runHeld(); n > 0 {
		t.Fatalf("%d background tasks, although the page has not reached the gap", n)
	}
	r.remove(len(r.entries)-50, 50)
	r.page()
	if n := r.rt.runHeld(); n != 1 {
		t.Errorf("%d background tasks, want a verification", n)
	}
	if n := r.page(); n > 50 {
		t.Errorf("a page has read past %d removed entries, want at most the 50 that were not in the gap", n)
	}
}

// A stale gap that cannot be read does not keep all verifications from newer gaps, because it is forgotten.
func TestVerify_ForgetsAStaleGapThatCannotBeRead(t *testing.T) {
	r := newTwoGaps(t)
	r.fixture.store.Store = failsAt{r.store, r.entries[0].Created}
	for _, step := range []struct {
		after    time.Duration
		verified bool
	}{{8 * time.Second, false}, {5 * time.Second, false}, {5 * time.Second, true}} {
		r.removeNewest(step.after)
		r.rt.runHeld()
		if verified := r.store.skipped >= 2000; verified != step.verified {
			t.Errorf("%s after the last verification: the newer gap was verified: %t", step.after, verified)
		}
	}
}

// A stale gap is not forgotten if it could not be read after an older one.
func TestVerify_KeepsAStaleGapAfterAnother(t *testing.T) {
	r := newTwoGaps(t)
	verify := func(after time.Duration) {
		r.removeNewest(after)
		r.rt.runHeld()
	}
	r.fixture.store.Store = failsAt{r.store, r.entries[1000].Created}
	if verify(13 * time.Second); r.store.skipped < 1000 || r.store.skipped >= 2000 {
		t.Fatalf("the first verification has read %d removed entries, want the 1000 in the older gap", r.store.skipped)
	}
	r.fixture.store.Store = r.store
	if verify(5 * time.Second); r.store.skipped < 2000 {
		t.Errorf("the second verification has read %d removed entries, and not the 2000 in the newer gap", r.store.skipped)
	}
}

// failsAt is a store that fails to list a slice that begins at an instant and goes to older entries.
type failsAt struct {
	timeline.Store
	at clock.Instant
}

func (f failsAt) ListEntries(ctx context.Context, p timeline.Partition, s timeline.Slice) (timeline.Listed, error) {
	if s.From != nil && !s.Newer && s.From.Created == f.at {
		return failing{}.ListEntries(ctx, p, s)
	}
	return f.Store.ListEntries(ctx, p, s)
}

// The verification of a gap goes on to older entries, but does not read older gaps that are not due.
func TestVerify_SkipsOlderGapsThatAreNotDue(t *testing.T) {
	r := newRemovalFixture(t, 10_000)
	r.page()
	r.removeAndRefresh(2000, 1000)
	r.rt.pass(4 * time.Second)
	r.removeAndRefresh(1490, 500) // ten remaining entries separate the two gaps
	r.removeNewest(4 * time.Second)
	read := -1 // before the newest entries
	r.fixture.store.Store = beforeNewest{r.store, func() {
		if read < 0 {
			read = r.store.skipped
		}
	}}
	if r.rt.held[0](); read != 1000 {
		t.Errorf("the verification has read %d removed entries, want the 1000 in the newer gap", read)
	}
}

// beforeNewest is a store that calls before whenever the newest entries of a partition are to be listed.
type beforeNewest struct {
	timeline.Store
	before func()
}

func (b beforeNewest) ListEntries(ctx context.Context, p timeline.Partition, s timeline.Slice) (timeline.Listed, error) {
	if s.From == nil && !s.Newer {
		b.before()
	}
	return b.Store.ListEntries(ctx, p, s)
}
