package timeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
)

// Gaps of two lists are joined where they overlap or touch. The until of a joined gap is the earlier
// one.
func TestUnion(t *testing.T) {
	a, b, c := time.Second, 2*time.Second, 3*time.Second
	for name, test := range map[string]struct{ a, b, want []gap }{
		"none":        {},
		"one":         {a: []gap{{1, 2, a}}, want: []gap{{1, 2, a}}},
		"apart":       {[]gap{{1, 2, a}, {7, 8, a}}, []gap{{4, 5, b}}, []gap{{1, 2, a}, {4, 5, b}, {7, 8, a}}},
		"overlapping": {[]gap{{1, 5, b}}, []gap{{4, 9, a}}, []gap{{1, 9, a}}},
		"touching":    {[]gap{{1, 4, a}}, []gap{{4, 9, b}}, []gap{{1, 9, a}}},
		"within":      {[]gap{{1, 20, b}}, []gap{{2, 5, a}, {7, 9, c}}, []gap{{1, 20, a}}},
		"bridged":     {[]gap{{1, 5, a}, {9, 12, c}}, []gap{{4, 10, b}}, []gap{{1, 12, a}}},
		"empty":       {[]gap{{5, 5, a}}, []gap{{1, 2, b}, {2, 2, a}}, []gap{{1, 2, b}}},
		"same":        {[]gap{{1, 5, a}}, []gap{{1, 5, c}}, []gap{{1, 5, a}}},
	} {
		for _, swapped := range []bool{false, true} {
			if swapped {
				test.a, test.b = test.b, test.a
			}
			if diff := cmp.Diff(test.want, union(test.a, test.b), cmp.AllowUnexported(gap{})); diff != "" {
				t.Errorf("%s, swapped %t (-want +got):\n%s", name, swapped, diff)
			}
		}
	}
}

// A forecast keeps its newest maxSpans spans.
func TestForecast_KeepsTheNewestSpans(t *testing.T) {
	const first, last = 1, maxSpans + 50
	f := &forecaster{to: 10 * (last + 1)}
	for n := clock.Instant(first); n <= last; n++ {
		f.reused = append(f.reused, span{gap{from: 10 * n, to: 10*n + 10}, 1})
	}
	f.pass(clock.Min)
	if spans := f.result(); len(spans) != maxSpans || spans[0].from != 10*(last-maxSpans+1) || spans[maxSpans-1].from != 10*last {
		t.Errorf("%d spans from %d to %d", len(spans), spans[0].from, spans[len(spans)-1].to)
	}
}

// A reused span is cut at the end of the new forecast, which is earlier than the old end if the clock
// was set back.
func TestForecast_CutsReusedSpans(t *testing.T) {
	f := &forecaster{to: 100, reused: []span{{gap{from: 90, to: 103}, 1}, {gap{from: 105, to: 120}, 1}}}
	f.pass(clock.Min)
	want := []span{{gap{from: 90, to: 100}, 1}}
	if diff := cmp.Diff(want, f.result(), cmp.AllowUnexported(gap{}, span{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A feed remembers the widest gaps.
func TestNote_KeepsTheWidest(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	b := c.begin("f", 0, 1000)
	for n := range clock.Instant(3 * maxGaps) {
		c.note("f", gap{from: 100 * n, to: 100*n + 50 - n, until: 1}, b.puts)
	}
	c.note("f", gap{from: 110, to: 120, until: time.Minute}, b.puts) // divides one
	all := c.beginSkipping("f", 0, 1000, true).skip
	if len(all) != maxGaps || all[0].from != 0 || all[maxGaps-1].from > 100*maxGaps {
		t.Errorf("%d gaps: %v", len(all), all)
	}
}

// A walk renews the gaps that it has read, unless they were found later, and except for the entries that
// it has taken.
func TestRenew(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	b := c.begin("f", 0, 1000)
	for _, g := range []gap{{10, 19, 15 * time.Second}, {20, 29, 12 * time.Second}, {30, 39, 40 * time.Second}, {50, 55, 14 * time.Second}, {60, 65, 13 * time.Second}, {70, 75, 12 * time.Second}, {77, 84, 12 * time.Second}, {90, 95, 12 * time.Second}} {
		c.note("f", g, b.puts)
	}
	b.elapsed, b.skip = 7*time.Second, []gap{{from: 49, to: 51}, {from: 64, to: 70}}
	c.renew("f", gap{from: 20, to: 84}, b, []Entry{{Created: 1}}, []Entry{{Created: 27}})
	want := []gap{{10, 19, 15 * time.Second}, {20, 27, 17 * time.Second}, {30, 39, 40 * time.Second}, {50, 55, 14 * time.Second}, {60, 65, 13 * time.Second}, {70, 75, 17 * time.Second}, {77, 84, 17 * time.Second}, {90, 95, 12 * time.Second}}
	if diff := cmp.Diff(want, c.beginSkipping("f", 0, 1000, true).skip, cmp.AllowUnexported(gap{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// When gaps are old, one reader of the newest page and one of other pages verify all of them, and the others
// skip them. A reader of the newest page verifies a gap only if it has been old for a second. Nobody skips a
// gap that has been old for two seconds.
func TestBeginSkipping(t *testing.T) {
	type step struct {
		at     time.Duration
		newest bool
		skip   []gap
	}
	first, second := gap{10, 20, 10 * time.Second}, gap{30, 40, 12500 * time.Millisecond}
	later, earlier := gap{10, 20, 11 * time.Second}, gap{30, 40, 10 * time.Second}
	for _, c := range []struct {
		name  string
		gaps  []gap
		steps []step
	}{
		{"old one after the other", []gap{first, second}, []step{
			{10*time.Second - 1, false, []gap{first, second}},
			{11*time.Second - 1, true, []gap{first, second}},
			{11*time.Second - 1, false, []gap{second}},
			{11*time.Second - 1, false, []gap{first, second}},
			{12*time.Second - 1, true, []gap{second}},
			{12*time.Second - 1, true, []gap{first, second}},
			{12 * time.Second, false, []gap{second}},
			{12500 * time.Millisecond, false, nil},
			{12500 * time.Millisecond, false, []gap{second}},
			{13500*time.Millisecond - 1, true, []gap{second}},
			{13500 * time.Millisecond, true, nil},
			{13500 * time.Millisecond, true, []gap{second}},
			{14500 * time.Millisecond, true, nil},
		}},
		{"both old", []gap{later, earlier}, []step{
			{11 * time.Second, false, nil},
			{12*time.Second - 1, false, []gap{later, earlier}},
			{12 * time.Second, false, []gap{later}},
			{13 * time.Second, false, nil},
		}},
	} {
		cache := gapCache{feeds: map[Feed]*knownGaps{}}
		b := cache.begin("f", 0, 1000)
		for _, g := range c.gaps {
			cache.note("f", g, b.puts)
		}
		for _, s := range c.steps {
			if diff := cmp.Diff(s.skip, cache.beginSkipping("f", s.at, 1000, s.newest).skip, cmp.AllowUnexported(gap{})); diff != "" {
				t.Errorf("%s: at %s, newest %t (-want +got):\n%s", c.name, s.at, s.newest, diff)
			}
		}
	}
}

// The walk of a task skips a gap if neither it nor a gap that it touches becomes old in the given time.
func TestBeginTask(t *testing.T) {
	const due = 13 * time.Second // at ten seconds
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	c.of("f").all = []gap{{10, 20, due}, {30, 30, time.Hour}, {40, 50, due + 1}, {60, 70, time.Hour}, {70, 80, due}, {90, 95, time.Minute}, {95, 99, time.Hour}}
	b := c.beginTask("f", 10*time.Second, 1000, 3*time.Second)
	if diff := cmp.Diff([]gap{{40, 50, due + 1}, {90, 99, time.Minute}}, b.skip, cmp.AllowUnexported(gap{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b.elapsed != 10*time.Second || c.feeds["f"].latest != 1000 || len(c.feeds["f"].all) != 7 {
		t.Errorf("it begins at %s; the latest start is %d, the gaps %v", b.elapsed, c.feeds["f"].latest, c.feeds["f"].all)
	}
}

// A walk is at a gap if it has read a partition up to the first gap behind what it has taken.
func TestPending(t *testing.T) {
	passed, first, second := &Entry{Created: 150}, &Entry{Created: 50}, &Entry{Created: 20}
	slice := func(to *Entry, ended bool, pending ...Entry) *source {
		return &source{slice: Slice{To: to}, ended: ended, pending: pending}
	}
	for _, c := range []struct {
		name  string
		last  *Entry
		open  []*source
		want  int
		atGap bool
	}{
		{"no gap", &Entry{Created: 100}, []*source{slice(nil, true, Entry{}), slice(nil, false, Entry{}, Entry{})}, 3, false},
		{"a gap that was passed", &Entry{Created: 100}, []*source{slice(passed, true), slice(nil, true, Entry{})}, 1, false},
		{"in one partition", &Entry{Created: 100}, []*source{slice(passed, false), slice(first, false, Entry{}), slice(first, true)}, 1, true},
		{"at the second gap only", &Entry{Created: 100}, []*source{slice(first, false, Entry{}), slice(second, true)}, 1, false},
		{"nothing taken yet", nil, []*source{slice(passed, true)}, 0, true},
	} {
		w := &walk{last: c.last, open: c.open}
		if n, atGap := w.pending(); n != c.want || atGap != c.atGap {
			t.Errorf("%s: %d, at a gap %t", c.name, n, atGap)
		}
	}
}

// At most one verification runs at a time, and one starts at most every five seconds. The same holds for
// forecasts. Neither waits for the other.
func TestStartRefresh(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	both, verify, forecast := refreshTasks{verify: true, forecast: true}, refreshTasks{verify: true}, refreshTasks{forecast: true}
	for n, step := range []struct {
		at                  time.Duration
		ended, wanted, want refreshTasks
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
		page := pageRead{due: step.wanted.verify, reached: step.wanted.verify, expiring: step.wanted.forecast}
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

// A page starts a verification if it has reached a gap that is due or has read past many removed entries. While
// searches are running or start, it does so if any gap is due.
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
			do, searching, in := cache.startRefresh("f", 0, c.page)
			if do != want || in.running != want || searching != withSearch {
				t.Errorf("%+v: %+v starts, %+v is running, searching %t; want %+v", c.page, do, in.running, searching, want)
			}
			cache.endRefresh(in, refreshTasks{verify: true})
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

// A search begins at the median of the entries that were removed since the one before it, unless they are few.
// It gets the last 1024 entries that were removed.
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

// A search reads due gaps again. While a verification is running, it reads only forgotten ones.
func TestBeginSearch_LeavesGapsToAVerification(t *testing.T) {
	young, due, forgotten := gap{10, 20, 3*time.Second + 1}, gap{30, 40, 3 * time.Second}, gap{70, 80, -2 * time.Second}
	old := gap{50, 60, -2*time.Second + 1}
	for _, verifying := range []bool{false, true} {
		c, want := gapCache{feeds: map[Feed]*knownGaps{}}, []gap{young}
		k := c.of("f")
		k.all = []gap{young, due, old, forgotten}
		if k.running.verify = verifying; verifying {
			want = []gap{young, due, old}
		}
		for range manyDropped {
			c.drop("f", Entry{Created: 5})
		}
		area, ok := c.beginSearch("f")
		if diff := cmp.Diff(want, c.beginTask("f", 0, 1000, area.within).skip, cmp.AllowUnexported(gap{})); diff != "" || !ok {
			t.Errorf("verifying %t: %t, the search skips (-want +got):\n%s", verifying, ok, diff)
		}
	}
}

// The newest gap that is due and ends by an instant is verified next.
func TestDueBefore(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	c.of("f").all = []gap{{10, 20, 13 * time.Second}, {30, 40, 5 * time.Second}, {50, 60, 13*time.Second + 1}, {70, 70, 0}, {80, 90, 0}}
	for _, s := range []struct {
		end  clock.Instant
		want *Entry
	}{{clock.Min, nil}, {19, nil}, {20, before(20)}, {39, before(20)}, {40, before(40)}, {89, before(40)}, {90, before(90)}} {
		if diff := cmp.Diff(s.want, c.dueBefore("f", 10*time.Second, s.end)); diff != "" {
			t.Errorf("by %d (-want +got):\n%s", s.end, diff)
		}
	}
}

func TestDropsIn(t *testing.T) {
	w := &walk{drops: []clock.Instant{10, 20, 20, 30}}
	for _, c := range []struct {
		span gap
		want int
	}{{gap{from: 10, to: 31}, 4}, {gap{from: 11, to: 30}, 2}, {gap{from: 20, to: 20}, 0}, {gap{from: 20, to: 21}, 2}, {gap{from: 31, to: 99}, 0}} {
		if got := w.dropsIn(c.span); got != c.want {
			t.Errorf("%v: %d, want %d", c.span, got, c.want)
		}
	}
}

// At most maxFeeds feeds are remembered. A feed for which a task runs is not forgotten.
func TestEvict(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	_, _, busy := c.startRefresh("busy", 0, pageRead{reached: true})
	for n := range 2 * maxFeeds {
		c.begin(Feed(rune(n+1)), 0, 0)
	}
	if len(c.feeds) != maxFeeds || c.feeds["busy"] != busy {
		t.Errorf("%d feeds; the busy one is there: %t", len(c.feeds), c.feeds["busy"] == busy)
	}
}

// A walk that began before its feed was forgotten notes nothing: the puts since then are unknown.
func TestNote_IgnoresAWalkOfAForgottenFeed(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	b := c.begin("f", 0, 1000)
	delete(c.feeds, "f")
	c.note("f", gap{10, 20, time.Minute}, b.puts)
	c.setForecast("f", []span{{gap{30, 40, time.Minute}, 0}}, b.puts)
	if skip := c.beginSkipping("f", 0, 1000, true).skip; skip != nil {
		t.Errorf("%v is skipped", skip)
	}
}

// A known gap is noted again when it has become longer by a second at either end, up to three seconds
// before now.
func TestGrown(t *testing.T) {
	const s = clock.Instant(time.Second / time.Microsecond)
	w := &walk{now: 100 * s, beginning: beginning{skip: []gap{{from: 10 * s, to: 20 * s}, {from: 50 * s, to: 96*s + 1}}}}
	for name, c := range map[string]struct {
		found gap
		want  bool
	}{
		"longer":               {gap{from: 10 * s, to: 21 * s}, true},
		"hardly longer":        {gap{from: 9*s + 1, to: 21*s - 1}, false},
		"begins earlier":       {gap{from: 9 * s, to: 20 * s}, true},
		"beside it":            {gap{from: 20 * s, to: 30 * s}, false},
		"before it":            {gap{from: 1, to: 10 * s}, false},
		"until now, too early": {gap{from: 60 * s, to: 100 * s}, false},
	} {
		if got := w.grown(c.found); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	w.now++
	if !w.grown(gap{from: 60 * s, to: 100 * s}) {
		t.Error("until now: false")
	}
}

// What a forecast does not read again is disjoint, although a gap may overlap a span or lie within one:
// of such a gap it has only the part outside the span.
func TestReused_IsDisjoint(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	b := c.begin("f", 0, 1000)
	c.setForecast("f", []span{{gap{10, 50, time.Minute}, 500}, {gap{60, 70, time.Minute}, 100}}, b.puts)
	for _, g := range []gap{{5, 12, time.Minute}, {20, 30, time.Minute}, {65, 80, time.Minute}, {90, 95, dueWithin}} {
		c.note("f", g, b.puts)
	}
	want := []span{{gap{5, 10, time.Minute}, 0}, {gap{10, 50, time.Minute}, 500}, {gap{65, 80, time.Minute}, 0}}
	if diff := cmp.Diff(want, c.reused("f", 0, 200), cmp.AllowUnexported(gap{}, span{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is read again begins at the position of the walk, or at the start of a slice that the walk has not
// reached. Sources without pending entries stay as they are.
func TestDiscard(t *testing.T) {
	last, before, after := &Entry{Created: 50}, &Entry{Created: 80}, &Entry{Created: 30}
	for name, c := range map[string]struct{ first, want *Entry }{"of a day": {nil, last}, "reached": {before, last}, "not reached": {after, after}} {
		read := &source{shards: 1, first: c.first, pending: []Entry{{Created: 20}}, ended: true, slice: Slice{From: &Entry{Created: 10}, Limit: 1000}}
		dry := &source{shards: 1, first: c.first, ended: true, slice: Slice{Limit: 1000}}
		w := &walk{t: &Timelines{}, last: last, open: []*source{read, dry}}
		w.discard(20)
		if read.slice.From != c.want || read.pending != nil || read.ended || read.slice.Limit != 23 {
			t.Errorf("%s: %+v", name, read)
		}
		if dry.slice.From != nil || !dry.ended || dry.slice.Limit != 1000 {
			t.Errorf("%s: without pending entries: %+v", name, dry)
		}
	}
}
