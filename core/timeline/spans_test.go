package timeline

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
)

// Gaps of two lists are joined where they overlap or touch. The until of a joined gap is the earlier
// one.
func TestUnion(t *testing.T) {
	a, b, c := time.Second, 2*time.Second, 3*time.Second
	for name, test := range map[string]struct{ a, b, want []span }{
		"none":        {},
		"one":         {a: []span{{1, 2, a}}, want: []span{{1, 2, a}}},
		"apart":       {[]span{{1, 2, a}, {7, 8, a}}, []span{{4, 5, b}}, []span{{1, 2, a}, {4, 5, b}, {7, 8, a}}},
		"overlapping": {[]span{{1, 5, b}}, []span{{4, 9, a}}, []span{{1, 9, a}}},
		"touching":    {[]span{{1, 4, a}}, []span{{4, 9, b}}, []span{{1, 9, a}}},
		"within":      {[]span{{1, 20, b}}, []span{{2, 5, a}, {7, 9, c}}, []span{{1, 20, a}}},
		"bridged":     {[]span{{1, 5, a}, {9, 12, c}}, []span{{4, 10, b}}, []span{{1, 12, a}}},
		"empty":       {[]span{{5, 5, a}}, []span{{1, 2, b}, {2, 2, a}}, []span{{1, 2, b}}},
		"same":        {[]span{{1, 5, a}}, []span{{1, 5, c}}, []span{{1, 5, a}}},
	} {
		for _, swapped := range []bool{false, true} {
			if swapped {
				test.a, test.b = test.b, test.a
			}
			if diff := cmp.Diff(test.want, union(test.a, test.b), cmp.AllowUnexported(span{})); diff != "" {
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
		f.reused = append(f.reused, futureGap{span{from: 10 * n, to: 10*n + 10}, 1})
	}
	f.pass(clock.Min)
	if spans := f.result(); len(spans) != maxSpans || spans[0].from != 10*(last-maxSpans+1) || spans[maxSpans-1].from != 10*last {
		t.Errorf("%d spans from %d to %d", len(spans), spans[0].from, spans[len(spans)-1].to)
	}
}

// A reused span is cut at the end of the new forecast, which is earlier than the old end if the clock
// was set back.
func TestForecast_CutsReusedSpans(t *testing.T) {
	f := &forecaster{to: 100, reused: []futureGap{{span{from: 90, to: 103}, 1}, {span{from: 105, to: 120}, 1}}}
	f.pass(clock.Min)
	want := []futureGap{{span{from: 90, to: 100}, 1}}
	if diff := cmp.Diff(want, f.result(), cmp.AllowUnexported(futureGap{}, span{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A feed remembers the widest gaps.
func TestNote_KeepsTheWidest(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	b := c.begin("f", 0, 1000)
	for n := range clock.Instant(3 * maxGaps) {
		c.note("f", span{from: 100 * n, to: 100*n + 50 - n, until: 1}, b.puts)
	}
	c.note("f", span{from: 110, to: 120, until: time.Minute}, b.puts) // divides one
	all := c.beginSkipping("f", 0, 1000, true).skip
	if len(all) != maxGaps || all[0].from != 0 || all[maxGaps-1].from > 100*maxGaps {
		t.Errorf("%d gaps: %v", len(all), all)
	}
}

// When gaps are old, one reader of the newest page and one of other pages verify all of them, and the others
// skip them. A reader of the newest page verifies a gap only if it has been old for a second. Nobody skips a
// gap that has been old for two seconds.
func TestBeginSkipping(t *testing.T) {
	type step struct {
		at     time.Duration
		newest bool
		skip   []span
	}
	first, second := span{10, 20, 10 * time.Second}, span{30, 40, 12500 * time.Millisecond}
	later, earlier := span{10, 20, 11 * time.Second}, span{30, 40, 10 * time.Second}
	for _, c := range []struct {
		name  string
		gaps  []span
		steps []step
	}{
		{"old one after the other", []span{first, second}, []step{
			{10*time.Second - 1, false, []span{first, second}},
			{11*time.Second - 1, true, []span{first, second}},
			{11*time.Second - 1, false, []span{second}},
			{11*time.Second - 1, false, []span{first, second}},
			{12*time.Second - 1, true, []span{second}},
			{12*time.Second - 1, true, []span{first, second}},
			{12 * time.Second, false, []span{second}},
			{12500 * time.Millisecond, false, nil},
			{12500 * time.Millisecond, false, []span{second}},
			{13500*time.Millisecond - 1, true, []span{second}},
			{13500 * time.Millisecond, true, nil},
			{13500 * time.Millisecond, true, []span{second}},
			{14500 * time.Millisecond, true, nil},
		}},
		{"both old", []span{later, earlier}, []step{
			{11 * time.Second, false, nil},
			{12*time.Second - 1, false, []span{later, earlier}},
			{12 * time.Second, false, []span{later}},
			{13 * time.Second, false, nil},
		}},
	} {
		cache := gapCache{feeds: map[Feed]*knownGaps{}}
		b := cache.begin("f", 0, 1000)
		for _, g := range c.gaps {
			cache.note("f", g, b.puts)
		}
		for _, s := range c.steps {
			if diff := cmp.Diff(s.skip, cache.beginSkipping("f", s.at, 1000, s.newest).skip, cmp.AllowUnexported(span{})); diff != "" {
				t.Errorf("%s: at %s, newest %t (-want +got):\n%s", c.name, s.at, s.newest, diff)
			}
		}
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

// A gap that is stale when another one is found is forgotten before gaps that are not stale. Of several, the
// narrowest is forgotten.
func TestNote_ForgetsStaleGapsFirst(t *testing.T) {
	const found, young = time.Hour, time.Hour - gapOldAfter - gapGrace + 1
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	b := c.begin("f", 0, 1000)
	for n := range clock.Instant(maxGaps) {
		g := span{n * 100, n*100 + 10 + n, young}
		if n == 3 || n == 5 {
			g.until-- // stale
		}
		c.note("f", g, b.puts)
	}
	for n, forgotten := range []clock.Instant{300, 500, 0} {
		want := slices.DeleteFunc(slices.Clone(c.of("f").all), func(g span) bool { return g.from == forgotten })
		g := span{-100 * clock.Instant(n+1), 50 - 100*clock.Instant(n+1), found}
		c.note("f", g, b.puts)
		if diff := cmp.Diff(slices.Insert(want, 0, g), c.of("f").all, cmp.AllowUnexported(span{})); diff != "" {
			t.Errorf("the gap %v (-want +got):\n%s", g, diff)
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
	c.note("f", span{10, 20, time.Minute}, b.puts)
	c.setForecast("f", []futureGap{{span{30, 40, time.Minute}, 0}}, b.puts)
	if skip := c.beginSkipping("f", 0, 1000, true).skip; skip != nil {
		t.Errorf("%v is skipped", skip)
	}
}

// A known gap is noted again if it has grown by at least a second at either end. The last three seconds before
// now do not count.
func TestGrown(t *testing.T) {
	const s = clock.Instant(time.Second / time.Microsecond)
	w := &walk{now: 100 * s, beginning: beginning{skip: []span{{from: 10 * s, to: 20 * s}, {from: 50 * s, to: 96*s + 1}}}}
	for name, c := range map[string]struct {
		found span
		want  bool
	}{
		"longer":               {span{from: 10 * s, to: 21 * s}, true},
		"hardly longer":        {span{from: 9*s + 1, to: 21*s - 1}, false},
		"begins earlier":       {span{from: 9 * s, to: 20 * s}, true},
		"beside it":            {span{from: 20 * s, to: 30 * s}, false},
		"before it":            {span{from: 1, to: 10 * s}, false},
		"until now, too early": {span{from: 60 * s, to: 100 * s}, false},
	} {
		if got := w.grown(c.found); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	w.now++
	if !w.grown(span{from: 60 * s, to: 100 * s}) {
		t.Error("until now: false")
	}
}

// The spans and gaps that a forecast does not read again are disjoint. If a gap overlaps a span, only the part of
// the gap outside the span is returned.
func TestReused_IsDisjoint(t *testing.T) {
	c := gapCache{feeds: map[Feed]*knownGaps{}}
	b := c.begin("f", 0, 1000)
	c.setForecast("f", []futureGap{{span{10, 50, time.Minute}, 500}, {span{60, 70, time.Minute}, 100}}, b.puts)
	for _, g := range []span{{5, 12, time.Minute}, {20, 30, time.Minute}, {65, 80, time.Minute}, {90, 95, dueWithin}} {
		c.note("f", g, b.puts)
	}
	want := []futureGap{{span{5, 10, time.Minute}, 0}, {span{10, 50, time.Minute}, 500}, {span{65, 80, time.Minute}, 0}}
	if diff := cmp.Diff(want, c.reused("f", 0, 200), cmp.AllowUnexported(futureGap{}, span{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Discarded entries are read again from the position of the walk, or from the start of their slice if the walk
// has not reached it. Sources without pending entries stay as they are.
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

// The slices of a day leave out a gap. There is a slice on each side of the gap, unless the gap reaches the start
// or the end of the day on that side, or that side lies before the start of the walk, in the direction of the
// walk. A gap on another day is ignored.
func TestParts(t *testing.T) {
	first, end := firstOf(2), firstOf(3)
	middle := &Entry{Created: first + 500}
	for name, c := range map[string]struct {
		skip  span
		newer bool
		from  *Entry
		want  []Slice
	}{
		"older, up to the next day": {skip: span{from: first + 100, to: end}, want: []Slice{{From: before(first + 100)}}},
		"older, up to just before the next day": {skip: span{from: first + 100, to: end - 1},
			want: []Slice{{To: before(end - 1)}, {From: before(first + 100)}}},
		"older, from midnight on": {skip: span{from: first, to: first + 100}, want: []Slice{{To: before(first + 100)}}},
		"older, another day":      {skip: span{from: end, to: end + 100}, want: []Slice{{}}},
		"older, a whole day":      {skip: span{from: first, to: end}},
		"older, passed":           {skip: span{from: first + 500, to: end}, from: middle, want: []Slice{{From: middle}}},
		"older, the walk starts at the newer end of the gap": {skip: span{from: first + 100, to: first + 500}, from: middle, want: []Slice{{From: before(first + 100)}}},
		"older, the walk starts within the gap":              {skip: span{from: first + 100, to: first + 501}, from: middle, want: []Slice{{From: before(first + 100)}}},
		"newer, from midnight on":                            {skip: span{from: first, to: first + 100}, newer: true, want: []Slice{{From: before(first + 100), Newer: true}}},
		"newer, from just after midnight": {skip: span{from: first + 1, to: first + 100}, newer: true,
			want: []Slice{{To: before(first + 1), Newer: true}, {From: before(first + 100), Newer: true}}},
		"newer, up to the next day": {skip: span{from: first + 100, to: end}, newer: true, want: []Slice{{To: before(first + 100), Newer: true}}},
		"newer, a whole day":        {skip: span{from: first, to: end}, newer: true},
		"newer, passed":             {skip: span{from: first, to: first + 500}, newer: true, from: middle, want: []Slice{{From: middle, Newer: true}}},
	} {
		w := &walk{newer: c.newer, from: c.from, beginning: beginning{skip: []span{c.skip}}}
		if diff := cmp.Diff(c.want, w.parts(2)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
