package timeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
)

// A walk renews the gaps that it has read, unless they were found later, and except for the entries that
// it has taken.
func TestRenew(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	b := c.begin("f", 0, 1000)
	for _, g := range []span{{10, 19, 15 * time.Second}, {20, 29, 12 * time.Second}, {30, 39, 40 * time.Second}, {50, 55, 14 * time.Second}, {60, 65, 13 * time.Second}, {70, 75, 12 * time.Second}, {77, 84, 12 * time.Second}, {90, 95, 12 * time.Second}} {
		c.note("f", g, b.puts)
	}
	b.elapsed, b.skip = 7*time.Second, []span{{from: 49, to: 51}, {from: 64, to: 70}}
	c.renew("f", span{from: 20, to: 84}, b, []Entry{{Created: 35}}, []Entry{{Created: 27}})
	want := []span{{10, 19, 15 * time.Second}, {20, 27, 17 * time.Second}, {30, 39, 40 * time.Second}, {50, 55, 14 * time.Second}, {60, 65, 13 * time.Second}, {70, 75, 17 * time.Second}, {77, 84, 17 * time.Second}, {90, 95, 12 * time.Second}}
	if diff := cmp.Diff(want, c.beginSkipping("f", 0, 1000, true).skip, cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An entry that this process has removed since a walk has read it is not excluded from the gaps that the walk renews.
func TestRenew_LeavesOutRemovedEntries(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	b := c.begin("f", 7*time.Second, 1000)
	c.of("f").all = []span{{10, 50, 12 * time.Second}}
	c.drop("f", Entry{Created: 30})
	c.drop("f", Entry{Created: 20})
	c.renew("f", span{from: 5, to: 60}, b, []Entry{{Created: 20}, {Created: 30}}, []Entry{{Created: 40}})
	if diff := cmp.Diff([]span{{10, 40, 17 * time.Second}}, c.of("f").all, cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Of too many removals, the first ones are not known, so the entry may still be there.
	for range maxRecent - 1 {
		c.drop("f", Entry{Created: 500})
	}
	b.elapsed = 9 * time.Second
	c.renew("f", span{from: 5, to: 60}, b, []Entry{{Created: 20}, {Created: 30}})
	if diff := cmp.Diff([]span{{10, 30, 19 * time.Second}}, c.of("f").all, cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("after too many removals (-want +got):\n%s", diff)
	}
}

// The walk of a task skips a gap if neither it nor a gap that it touches becomes old in the given time.
func TestBeginTask(t *testing.T) {
	const due = 13 * time.Second // at ten seconds
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	c.of("f").all = []span{{10, 20, due}, {30, 30, time.Hour}, {40, 50, due + 1}, {60, 70, time.Hour}, {70, 80, due}, {90, 95, time.Minute}, {95, 99, time.Hour}}
	b := c.beginTask("f", 10*time.Second, 1000, 3*time.Second)
	if diff := cmp.Diff([]span{{40, 50, due + 1}, {90, 99, time.Minute}}, b.skip, cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b.elapsed != 10*time.Second || c.feeds["f"].latest != 1000 || len(c.feeds["f"].all) != 7 {
		t.Errorf("it begins at %s; the latest start is %d, the gaps %v", b.elapsed, c.feeds["f"].latest, c.feeds["f"].all)
	}
}

// At most one verification runs at a time, and one starts at most every five seconds. The same holds for
// forecasts. Neither waits for the other.
func TestStartRefresh(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	both, verify, forecast := refreshTasks{verify: true, forecast: true}, refreshTasks{verify: true}, refreshTasks{forecast: true}
	for n, step := range []struct {
		at                     time.Duration
		ended, requested, want refreshTasks
	}{
		{0, refreshTasks{}, forecast, forecast},
		{1 * time.Second, refreshTasks{}, both, verify},
		{7 * time.Second, refreshTasks{}, both, refreshTasks{}},
		{8 * time.Second, verify, both, verify},
		{13*time.Second - 1, both, verify, refreshTasks{}},
		{13*time.Second - 1, refreshTasks{}, both, forecast},
		{13 * time.Second, refreshTasks{}, both, verify},
		{18*time.Second - 2, both, both, refreshTasks{}},
		{18*time.Second - 1, refreshTasks{}, both, forecast},
		{18 * time.Second, forecast, both, verify},
	} {
		c.endRefresh(c.of("f"), step.ended)
		page := pageRead{due: step.requested.verify, reached: step.requested.verify, expiring: step.requested.forecast}
		if got, _, _ := c.startRefresh("f", step.at, page); got != step.want {
			t.Errorf("step %d: %+v, want %+v", n, got, step.want)
		}
	}
}

// A page starts a series of searches after many removals, unless one is running.
func TestStartRefresh_SearchesAfterManyRemovals(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	c.drop("f", Entry{Created: 1})
	if len(c.feeds) > 0 {
		t.Error("a feed that is not read was cached")
	}
	k := c.of("f")
	search := refreshTasks{search: true}
	for n, step := range []struct {
		drops       int
		ended, want refreshTasks
	}{
		{manyDropped - 1, refreshTasks{}, refreshTasks{}},
		{1, refreshTasks{}, search},
		{1, refreshTasks{verify: true, forecast: true}, refreshTasks{}},
		{0, search, search},
		{manyDropped - 1, search, refreshTasks{}}, // after a search
		{1, refreshTasks{}, search},
	} {
		if n == 4 {
			c.beginSearch("f")
		}
		for range step.drops {
			c.drop("f", Entry{Created: 1})
		}
		c.endRefresh(k, step.ended)
		if do, _, _ := c.startRefresh("f", 0, pageRead{}); do != step.want {
			t.Errorf("step %d: %+v, want %+v", n, do, step.want)
		}
	}
}

// A page starts a verification if it has reached a due gap, or if it has read past many removed entries. If
// searches are running or start, it does so only if a gap is due, whether or not the page has reached that gap.
func TestStartRefresh_Verifies(t *testing.T) {
	for _, c := range []struct {
		page              pageRead
		usual, withSearch bool
	}{
		{pageRead{}, false, false},
		{pageRead{due: true}, false, true},
		{pageRead{due: true, reached: true}, true, true},
		{pageRead{removed: true}, true, false},
		{pageRead{removed: true, due: true}, true, true},
	} {
		for _, withSearch := range []bool{false, true} {
			cache, want := gapCache{feeds: map[Feed]*knownGaps{}}, refreshTasks{verify: c.usual}
			cache.of("f")
			if withSearch {
				want = refreshTasks{verify: c.withSearch, search: true}
				for range manyDropped {
					cache.drop("f", Entry{Created: 1})
				}
			}
			do, searching, known := cache.startRefresh("f", 0, c.page)
			if do != want || known.running != want || searching != withSearch {
				t.Errorf("%+v: %+v starts, %+v is running, searching %t; want %+v", c.page, do, known.running, searching, want)
			}
			cache.endRefresh(known, refreshTasks{verify: true})
			if do, searching, _ = cache.startRefresh("f", time.Minute, c.page); do.verify != want.verify || searching != withSearch {
				t.Errorf("%+v: the second page starts %+v, searching %t; want %+v", c.page, do, searching, want)
			}
		}
	}
}

// The last entries are remembered, in the order in which they were added.
func TestRecent(t *testing.T) {
	var r recent
	for n := range clock.Instant(3*maxRecent + 5) {
		r.add(n)
		for _, back := range []int{0, 1, 2, maxRecent - 1, maxRecent, maxRecent + 1} {
			since := r.since(max(r.count-back, 0))
			for i, created := range since {
				if created != n+1-clock.Instant(len(since)-i) {
					t.Fatalf("after %d, the last %d are %v", r.count, back, since)
				}
			}
			if len(since) != min(back, maxRecent, r.count) {
				t.Fatalf("after %d, the last %d are %d entries", r.count, back, len(since))
			}
		}
	}
}

// A search begins at the median creation time of the entries that were removed since the previous search. If
// there are fewer than 200, none begins. A search gets the last 1,024 entries that were removed.
func TestBeginSearch(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	c.of("f")
	oldest := clock.Instant(10_000) // they are removed in the reverse order
	for n, step := range []struct {
		drops int
		want  int           // how many entries the search gets
		older clock.Instant // how many of them are older than its beginning
	}{
		{manyDropped - 1, 0, 0},
		{1, 200, 99},
		{0, 0, 0},
		{manyDropped - 1, 0, 0},
		{51, 450, 124},
		{3*maxRecent + 7, 1024, 511},
		{201, 1024, 100},
	} {
		for range step.drops {
			oldest--
			c.drop("f", Entry{Created: oldest})
		}
		area, ok := c.beginSearch("f")
		var want []clock.Instant
		for n := range clock.Instant(step.want) {
			want = append(want, oldest+n)
		}
		if diff := cmp.Diff(want, area.drops); diff != "" || ok != (step.want > 0) || ok && area.middle != oldest+step.older {
			t.Errorf("step %d: %t, it begins at %d, want %d; the entries (-want +got):\n%s", n, ok, area.middle, oldest+step.older, diff)
		}
	}
}

// A walk has read to the end of the feed, or, if it stopped before, to the last entry that it has passed.
func TestReached(t *testing.T) {
	last := &Entry{Created: 50}
	for _, c := range []struct {
		w    walk
		full bool
		want clock.Instant
	}{
		{walk{last: last, budget: 9}, true, 50},
		{walk{last: last, budget: 9}, false, clock.Min},
		{walk{last: last}, true, 50},
		{walk{last: last}, false, 51},
		{walk{budget: 9}, false, clock.Min},
		{walk{last: last, budget: 9, newer: true, now: 99}, true, 50},
		{walk{last: last, budget: 9, newer: true, now: 99}, false, 99},
		{walk{last: last, newer: true, now: 99}, false, 50},
		{walk{budget: 9, newer: true, now: 99}, false, 99},
	} {
		if got := c.w.reached(c.full); got != c.want {
			t.Errorf("%+v, full %t: %d, want %d", c.w, c.full, got, c.want)
		}
	}
}

// A search reads due gaps again. While a verification is running, it skips all known gaps.
func TestBeginSearch_LeavesGapsToAVerification(t *testing.T) {
	young, due, stale := span{10, 20, 3*time.Second + 1}, span{30, 40, 3 * time.Second}, span{50, 60, -time.Hour}
	for _, verifying := range []bool{false, true} {
		c, want := gapCache{feeds: map[Feed]*knownGaps{}}, []span{young}
		k := c.of("f")
		k.all = []span{young, due, stale}
		if k.running.verify = verifying; verifying {
			want = k.all
		}
		for range manyDropped {
			c.drop("f", Entry{Created: 5})
		}
		area, ok := c.beginSearch("f")
		if diff := cmp.Diff(want, c.beginTask("f", 0, 1000, area.within).skip, cmp.AllowUnexported(span{})); diff != "" || !ok {
			t.Errorf("verifying %t: %t, the search skips (-want +got):\n%s", verifying, ok, diff)
		}
	}
}

// The oldest gap that is due and ends after an instant is verified next.
func TestDueAfter(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	c.of("f").all = []span{{10, 20, 13 * time.Second}, {30, 40, 13*time.Second + 1}, {50, 50, 0}, {80, 85, 0}, {85, 90, 14 * time.Second}}
	for _, s := range []struct {
		end  clock.Instant
		want *Entry
	}{{clock.Min, before(20)}, {19, before(20)}, {20, before(90)}, {89, before(90)}, {90, nil}} {
		if diff := cmp.Diff(s.want, c.dueAfter("f", 10*time.Second, s.end)); diff != "" {
			t.Errorf("after %d (-want +got):\n%s", s.end, diff)
		}
	}
}

// Stale gaps that end by an instant are forgotten.
func TestForgetStale(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	const stale = 10*time.Second - gapGrace // at ten seconds
	c.of("f").all = []span{{10, 20, stale}, {30, 40, stale + 1}, {50, 60, stale}, {70, 81, stale}}
	c.forgetStale("f", 10*time.Second, 60)
	if diff := cmp.Diff([]span{{30, 40, stale + 1}, {70, 81, stale}}, c.of("f").all, cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDropsIn(t *testing.T) {
	w := &walk{drops: []clock.Instant{10, 20, 20, 30}}
	for _, c := range []struct {
		span span
		want int
	}{{span{from: 10, to: 31}, 4}, {span{from: 11, to: 30}, 2}, {span{from: 20, to: 20}, 0}, {span{from: 20, to: 21}, 2}, {span{from: 31, to: 99}, 0}} {
		if got := w.dropsIn(c.span); got != c.want {
			t.Errorf("%v: %d, want %d", c.span, got, c.want)
		}
	}
}

// A search goes on to another day unless it has passed an entry beyond all removed ones.
func TestPassedDrops(t *testing.T) {
	for _, c := range []struct {
		last         clock.Instant
		older, newer bool
	}{{9, true, false}, {10, false, false}, {20, false, false}, {21, false, true}} {
		for _, newer := range []bool{false, true} {
			w := &walk{drops: []clock.Instant{10, 15, 20}, newer: newer, last: &Entry{Created: c.last}}
			want := c.older
			if newer {
				want = c.newer
			}
			if got := w.passedDrops(); got != want {
				t.Errorf("at %d, newer %t: %t", c.last, newer, got)
			}
		}
	}
	if (&walk{last: &Entry{}}).passedDrops() || (&walk{drops: []clock.Instant{1}}).passedDrops() {
		t.Error("true without removals, or before the first entry")
	}
}
