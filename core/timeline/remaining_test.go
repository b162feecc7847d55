package timeline_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/timeline"
)

// removeRestAndWantRead removes the remaining entries in another process. It fails the test unless the next page
// also reads past n entries that this process has removed since the last search that has succeeded.
func (r *removalFixture) removeRestAndWantRead(what string, n int) {
	r.Helper()
	left := len(r.entries)
	r.removeElsewhere()
	if got := r.page() - left; got != n {
		r.Errorf("%s: a page has read past %d entries that this process has removed after the search, want %d", what, got, n)
	}
}

// When this process removes entries at the end of a gap, after a search has read them, the gap grows without
// another read.
func TestDrop_GrowsAGap(t *testing.T) {
	const gap = 1500 // the search finds a gap between the entries with the indexes gap-1 and gap
	for _, c := range []struct {
		name   string
		remove func(r *removalFixture)
		read   int
	}{
		{"newer ones", func(r *removalFixture) { r.remove(gap, 200) }, 0},
		{"older ones", func(r *removalFixture) { r.remove(gap-200, 200) }, 0},
		{"those at both ends", func(r *removalFixture) { r.remove(gap-100, 200) }, 0},
		{"in any order", func(r *removalFixture) {
			for n := range 100 {
				r.remove(gap+99-2*n, 1)
				r.remove(gap-100, 1)
			}
		}, 0},
		{"one that does not remain", func(r *removalFixture) {
			e := r.entries[gap]
			r.remove(gap, 1)
			if err := r.feeds.Drop(r.Context(), "f", e, 1_000_000); err != nil {
				r.Fatal(err)
			}
		}, 0},
		{"others behind a remaining one", func(r *removalFixture) { r.remove(gap+1, 100); r.remove(gap-101, 100) }, 200},
		{"all that the search has read of newer ones, and more", func(r *removalFixture) { r.remove(gap, 1010) }, 11},
		{"all that the search has read of older ones, and more", func(r *removalFixture) { r.remove(gap-1010, 1010) }, 11},
	} {
		r := newRemovalFixture(t, 4000)
		r.page()
		r.removeAndRefresh(gap, 1000)
		c.remove(r)
		r.removeRestAndWantRead(c.name, c.read)
	}
}

// A gap also grows up to another one, so that a page needs no slices between the two.
func TestDrop_JoinsTwoGaps(t *testing.T) {
	r := newRemovalFixture(t, 4000)
	r.page()
	r.remove(1000, 300)
	r.remove(1005, 300)
	r.page()
	r.rt.runHeld()
	slices := func() int64 {
		before := r.fixture.store.slices.Load()
		r.want(timeline.Query{Size: 5, After: &timeline.Entry{Created: r.entries[1010].Created}})
		return r.fixture.store.slices.Load() - before
	}
	before := slices()
	r.remove(1000, 5)
	if n := slices(); n >= before {
		t.Errorf("a page takes %d slices, want fewer than %d as with two gaps", n, before)
	}
	r.removeRestAndWantRead("between two gaps", 0)
}

// Entries that are removed while a search reads them are also in the gap.
func TestDrop_GrowsAGapDuringASearch(t *testing.T) {
	r := newRemovalFixture(t, 4000)
	r.page()
	r.remove(1500, 1000)
	r.page()
	store := &afterSlice{Store: r.store}
	store.then = func() {
		r.remove(1500, 50)
		r.remove(1450, 50)
	}
	r.fixture.store.Store = store
	r.rt.runHeld()
	if store.then != nil {
		t.Fatal("the search has read no slice of newer entries")
	}
	r.fixture.store.Store = r.store
	r.removeRestAndWantRead("during the search", 0)
}

// afterSlice is a store that calls then after the first slice in the direction of newer entries was read. In a local
// store, a search walks to older entries first, so it has then read in both directions.
type afterSlice struct {
	timeline.Store
	then func()
}

func (a *afterSlice) ListEntries(ctx context.Context, p timeline.Partition, s timeline.Slice) (timeline.Listed, error) {
	l, err := a.Store.ListEntries(ctx, p, s)
	if then := a.then; then != nil && s.Newer {
		a.then = nil
		then()
	}
	return l, err
}

// A gap does not grow over an entry that this process has put again and then removed with a smaller timestamp. Nor
// does it grow over an entry that another process has put and a page has shown.
func TestDrop_DoesNotHideEntries(t *testing.T) {
	for _, by := range []string{"a late removal", "another entry of the same time", "another process"} {
		r := newRemovalFixture(t, 4000)
		r.page()
		r.removeAndRefresh(1500, 1000)
		at := r.entries[1510]
		entry := timeline.Entry{Created: at.Created, ID: at.ID + " late"}
		switch by {
		case "a late removal":
			entry = at
			if err := r.feeds.Put(t.Context(), "f", at, 3_000_000); err != nil {
				t.Fatal(err)
			}
			if err := r.feeds.Drop(t.Context(), "f", at, 2_000_000); err != nil {
				t.Fatal(err)
			}
			r.remove(1500, 10)
			r.remove(1501, 20)
		case "another entry of the same time":
			if err := r.feeds.Put(t.Context(), "f", entry, 3_000_000); err != nil {
				t.Fatal(err)
			}
			r.shown = append(r.shown, entry)
			r.remove(1500, 30)
			r.shown = append(r.shown, entry)
		case "another process":
			if err := r.open().Put(t.Context(), "f", entry, 3_000_000); err != nil {
				t.Fatal(err)
			}
			r.shown = append(r.shown, entry)
			r.want(timeline.Query{Size: 5, After: &r.entries[1512]})
			r.remove(1500, 30)
			r.shown = append(r.shown, entry)
		}
		p := r.read(timeline.Query{Size: 1, After: &timeline.Entry{Created: entry.Created + 1}})
		if len(p.Found) != 1 || p.Found[0].Entry != entry {
			t.Errorf("%s: the page has %+v, want %+v", by, p.Found, entry)
		}
	}
}

// A gap does not grow over an entry that this process has put again, even if that was soon after the entry was
// created, and before the search.
func TestDrop_DoesNotHideANewEntryThatWasPutAgain(t *testing.T) {
	r := newRemovalFixture(t, 4000)
	again := r.entries[2510]
	r.rt.now.Store(int64(again.Created) + 1_000_000)
	r.want(timeline.Query{Size: 1, After: &timeline.Entry{Created: again.Created + 1}})
	if err := r.feeds.Put(t.Context(), "f", again, again.Created+500_000); err != nil {
		t.Fatal(err)
	}
	r.rt.pass(time.Hour)
	r.page()
	r.removeAndRefresh(1500, 1000)
	if err := r.feeds.Drop(t.Context(), "f", again, again.Created+400_000); err != nil {
		t.Fatal(err)
	}
	r.remove(1500, 10)
	r.remove(1501, 20)
	if p := r.read(timeline.Query{Size: 1, After: &r.entries[1501]}); len(p.Found) != 1 || p.Found[0].Entry != again {
		t.Errorf("the page has %+v, want %+v", p.Found, again)
	}
}

// The part by which a gap has grown becomes old together with the gap that the search has found.
func TestDrop_GrownPartBecomesOldWithTheGap(t *testing.T) {
	r := newRemovalFixture(t, 4000)
	r.page()
	r.removeAndRefresh(1500, 1000)
	r.rt.pass(9 * time.Second)
	r.remove(1500, 100)
	query := timeline.Query{Size: 20, After: &r.entries[1510]}
	r.store.skipped = 0
	if r.want(query); r.store.skipped > 0 {
		t.Errorf("after 9 s, a page has read past %d removed entries, want 0", r.store.skipped)
	}
	r.rt.pass(time.Second)
	if r.want(query); r.store.skipped < 1100 {
		t.Errorf("after 10 s, a page has read past %d removed entries, want at least 1100", r.store.skipped)
	}
}

// A gap does not grow into the last three seconds before the search.
func TestDrop_GrowsNoGapOfNewEntries(t *testing.T) {
	r := newRemovalFixture(t, 4000)
	r.rt.now.Store(int64(r.entries[3990].Created) + 3_000_000)
	r.page()
	r.removeAndRefresh(2980, 1000)
	late := timeline.Entry{Created: r.entries[2985].Created + 5500, ID: "late"}
	r.remove(2980, 20)
	if err := r.open().Put(t.Context(), "f", late, 3_000_000); err != nil {
		t.Fatal(err)
	}
	r.shown = append(r.shown, late)
	if p := r.read(timeline.Query{Size: 1}); len(p.Found) != 1 || p.Found[0].Entry != late {
		t.Errorf("the page has %+v, want %+v", p.Found, late)
	}
}

// After a search has failed, no gap grows until another one has succeeded.
func TestDrop_GrowsNoGapAfterAnError(t *testing.T) {
	r := newRemovalFixture(t, 4000)
	r.page()
	r.removeAndRefresh(1500, 1000)
	r.remove(1600, 200)
	r.page()
	r.failTasks()
	r.remove(1500, 10)
	r.removeRestAndWantRead("after an error", 200+10)
}

// A search reads no other day if it has passed the removed entries. It remembers no gap where it has not read.
func TestSearch_StaysWithinADay(t *testing.T) {
	for _, older := range []bool{false, true} { // whether the other days are older
		r := newRemovalFixture(t, 1000)
		put := func(e timeline.Entry) {
			r.Helper()
			if err := r.feeds.Put(t.Context(), "f", e, 1); err != nil {
				t.Fatal(err)
			}
			r.shown = append(r.shown, e)
		}
		of := func(n clock.Instant) clock.Instant { // an instant of another day
			if older {
				return noon - (n+1)*day
			}
			return noon + (n+1)*day
		}
		if !older {
			r.rt.now.Store(int64(of(40)))
		}
		for n := range clock.Instant(30) {
			put(timeline.Entry{Created: of(n), ID: fmt.Sprint(n)})
		}
		// There is a gap in another day.
		for n := range clock.Instant(1500) {
			r.store.removed = append(r.store.removed, timeline.Entry{Created: of(20) + 60*second + n, ID: "x"})
		}
		r.want(timeline.Query{Size: 10, After: &timeline.Entry{Created: of(20) + 3600*second}})
		shown := slices.Clone(r.shown)
		drop := func(es []timeline.Entry) {
			r.Helper()
			for _, e := range es {
				if err := r.feeds.Drop(t.Context(), "f", e, 1_000_000); err != nil {
					t.Fatal(err)
				}
				shown = slices.DeleteFunc(shown, func(s timeline.Entry) bool { return s == e })
			}
			r.shown = shown
		}
		drop(r.entries[100:900])
		r.want(timeline.Query{Size: 1})
		before := r.fixture.store.slices.Load()
		if n := r.rt.runHeld(); n == 0 {
			t.Fatal("no search was started")
		}
		if n := r.fixture.store.slices.Load() - before; n > 12 {
			t.Errorf("older %t: a search has read %d slices, want at most twelve", older, n)
		}
		drop(r.entries[:100])
		drop(r.entries[900:])
		drop([]timeline.Entry{{Created: noon - 3600*second - 1, ID: "oldest"}})
		r.want(timeline.Query{Size: 300})
	}
}
