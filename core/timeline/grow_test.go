package timeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
)

// When this process removes an entry that a search has read, the gap next to it grows up to the next remaining
// entry. The added part becomes old when the gaps that the search has found do. A gap does not grow over gaps that
// the search has skipped, or that were read later.
func TestDropRemaining(t *testing.T) {
	const (
		began = time.Minute
		found = began + gapOldAfter
		now   = clock.Instant(5_000_000)
	)
	at := func(created ...clock.Instant) (es []Entry) {
		for _, c := range created {
			es = append(es, Entry{Created: c})
		}
		return es
	}
	for _, c := range []struct {
		name          string
		all, skip     []span
		taken, remove []Entry
		want          []span
	}{
		{"a newer one", []span{{200, 300, found}}, nil, at(199, 300, 400), at(300), []span{{200, 400, found}}},
		{"an older one", []span{{200, 300, found}}, nil, at(100, 199, 300), at(199), []span{{101, 300, found}}},
		{"both", []span{{200, 300, found}}, nil, at(100, 199, 300, 400), at(300, 199), []span{{101, 400, found}}},
		{"the newest", []span{{200, 300, found}}, nil, at(199, 300), at(300), []span{{200, 1000, found}}},
		{"the oldest", []span{{200, 300, found}}, nil, at(199, 300), at(199), []span{{10, 300, found}}},
		{"the last one", []span{{200, 300, found}}, nil, at(199), at(199), []span{{10, 1000, found}}},
		{"not next to a gap", []span{{200, 300, found}}, nil, at(300, 400, 500), at(400), []span{{200, 300, found}}},
		{"behind another one, which follows", []span{{200, 300, found}}, nil, at(199, 300, 400, 500), at(400, 300), []span{{200, 500, found}}},
		{"outside", []span{{200, 300, found}}, nil, at(199, 300), at(5, 1000, 2000), []span{{200, 300, found}}},
		{"between two gaps", []span{{200, 300, found}, {301, 400, found}}, nil, at(199, 300, 400), at(300), []span{{200, 400, found}}},
		{"next to one that was old when the search began", []span{{200, 300, began}}, nil, at(199, 300, 400), at(300), []span{{200, 300, began}}},
		{"next to one that was read later", []span{{200, 300, found + mergeWithin}}, nil, at(199, 300, 400), at(300), []span{{200, 300, found + mergeWithin}, {300, 400, found}}},
		{"next to one that was skipped", []span{{200, 300, began + 1}}, []span{{from: 200, to: 300}}, at(199, 300, 400), at(300), []span{{200, 300, began + 1}, {300, 400, found}}},
		{"part of it was skipped, and is no gap now", []span{{200, 300, found}}, []span{{from: 350, to: 380}}, at(199, 300, 400), at(300), []span{{200, 350, found}, {380, 400, found}}},
		{"twice", []span{{200, 300, found}}, nil, at(199, 300, 400), at(300, 300), []span{{200, 400, found}}},
	} {
		cache := gapCache{feeds: map[Feed]*knownGaps{}}
		b := cache.begin("f", began, now)
		cache.of("f").all, b.skip = c.all, c.skip
		cache.endSearch("f", b, span{from: 10, to: 1000}, now, c.taken)
		for _, e := range c.remove {
			cache.drop("f", e)
		}
		if diff := cmp.Diff(c.want, cache.of("f").all, cmp.AllowUnexported(span{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Only entries in the span that a search has read are added to the remaining ones, each once. If there are too
// many, none remain.
func TestRemaining_Add(t *testing.T) {
	r := remaining{covered: span{from: 10, to: 20}, entries: []Entry{{Created: 15, ID: "b"}}}
	for _, e := range []Entry{{Created: 9}, {Created: 10}, {Created: 15, ID: "b"}, {Created: 15, ID: "a"}, {Created: 19}, {Created: 20}} {
		r.add(e)
	}
	want := []Entry{{Created: 10}, {Created: 15, ID: "a"}, {Created: 15, ID: "b"}, {Created: 19}}
	if diff := cmp.Diff(want, r.entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r = remaining{covered: span{to: 1_000_000}}
	for n := range clock.Instant(maxRemaining + 1) {
		if len(r.entries) != int(n) {
			t.Fatalf("%d remain after %d were added", len(r.entries), n)
		}
		r.add(Entry{Created: n})
	}
	if len(r.entries) > 0 || !r.covered.empty() {
		t.Errorf("after too many were added, %d remain, in %v; want none", len(r.entries), r.covered)
	}
}

// While a search is running, at most maxRemaining removed entries are collected.
func TestDropRemaining_CollectsDuringASearch(t *testing.T) {
	cache := gapCache{feeds: map[Feed]*knownGaps{}}
	k := cache.of("f")
	for _, want := range []int{0, maxRemaining} {
		for range maxRemaining + 1 {
			cache.drop("f", Entry{Created: 5})
		}
		if n := len(k.remaining.dropped); n != want {
			t.Errorf("a search is running: %t: %d entries, want %d", k.running.search, n, want)
		}
		k.running.search = true
	}
}

// An entry that a walk has read is excluded from the gaps, and is added to the remaining ones, unless this process
// has removed it since the walk began.
func TestCut_LeavesOutRemovedEntries(t *testing.T) {
	cache := gapCache{feeds: map[Feed]*knownGaps{}}
	before := cache.begin("f", 0, 5_000_000)
	const found = gapOldAfter
	cache.of("f").all = []span{{100, 300, found}}
	cache.endSearch("f", before, span{from: 10, to: 1000}, 5_000_000, []Entry{{Created: 99}, {Created: 300}, {Created: 400}})
	cache.drop("f", Entry{Created: 150})
	between := cache.begin("f", 0, 5_000_000)
	cache.drop("f", Entry{Created: 300})
	after := cache.begin("f", 0, 5_000_000)
	for n, step := range []struct {
		b    beginning
		at   clock.Instant
		want []span
	}{
		{before, 150, []span{{100, 400, found}}},
		{before, 300, []span{{100, 400, found}}},
		{between, 300, []span{{100, 400, found}}},
		{between, 150, []span{{151, 400, found}}},
		{after, 300, []span{{151, 300, found}}},
	} {
		cache.cut("f", step.b, Entry{Created: step.at})
		if diff := cmp.Diff(step.want, cache.of("f").all, cmp.AllowUnexported(span{})); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", n, diff)
		}
	}
	want := []Entry{{Created: 99}, {Created: 150}, {Created: 300}, {Created: 400}}
	if diff := cmp.Diff(want, cache.of("f").remaining.entries); diff != "" {
		t.Errorf("what remains (-want +got):\n%s", diff)
	}
}

// If this process has removed so many entries since a walk began that it does not remember all of them, the entries
// of the walk are ignored.
func TestCut_AfterTooManyRemovals(t *testing.T) {
	cache := gapCache{feeds: map[Feed]*knownGaps{}}
	k, b := cache.of("f"), cache.begin("f", 0, 5_000_000)
	k.all = []span{{100, 300, gapOldAfter}}
	for n := range clock.Instant(maxRecent + 1) {
		cache.drop("f", Entry{Created: 1000 + n})
		if n < maxRecent-1 {
			continue
		}
		want := []span{{100, 250, gapOldAfter}}
		if n == maxRecent {
			want = []span{{100, 300, gapOldAfter}}
		}
		k.all = []span{{100, 300, gapOldAfter}}
		if cache.cut("f", b, Entry{Created: 250}); !cmp.Equal(want, k.all, cmp.AllowUnexported(span{})) {
			t.Errorf("after %d removals: %v, want %v", n+1, k.all, want)
		}
	}
}

// No gap grows over an entry that this process has put again, even before the search: the removal may have a
// smaller timestamp than the put. A gap does grow over a new entry that was put only once, because its removal has
// a greater timestamp.
func TestDropRemaining_KeepsEntriesThatWerePutAgain(t *testing.T) {
	const now = clock.Instant(5_000_000)
	for _, again := range []bool{true, false} {
		for _, created := range []clock.Instant{300, now - clock.Instant(listedWithin.Microseconds()) - 1} {
			cache := gapCache{feeds: map[Feed]*knownGaps{}}
			cache.begin("f", 0, created)
			cache.put("f", Entry{Created: created}, again)
			b := cache.begin("f", 0, now)
			gap := span{created - 100, created, gapOldAfter}
			cache.of("f").all = []span{gap}
			cache.endSearch("f", b, span{from: created - 100, to: now}, now, []Entry{{Created: created}})
			cache.drop("f", Entry{Created: created})
			want := []span{gap}
			if !again {
				want[0].to = now - clock.Instant(listedWithin.Microseconds())
			}
			if diff := cmp.Diff(want, cache.of("f").all, cmp.AllowUnexported(span{})); diff != "" {
				t.Errorf("created at %d, put again %t (-want +got):\n%s", created, again, diff)
			}
		}
	}
}

// Both walks of a search read its median instant. An entry of that instant remains once.
func TestEndSearch_EachEntryOnce(t *testing.T) {
	cache := gapCache{feeds: map[Feed]*knownGaps{}}
	b := cache.begin("f", 0, 5_000_000)
	cache.endSearch("f", b, span{from: 10, to: 1000}, 5_000_000, []Entry{{Created: 20, ID: "b"}, {Created: 15}}, []Entry{{Created: 20, ID: "a"}, {Created: 20, ID: "b"}})
	want := []Entry{{Created: 15}, {Created: 20, ID: "a"}, {Created: 20, ID: "b"}}
	if diff := cmp.Diff(want, cache.of("f").remaining.entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The remaining entries are forgotten when the gaps of their search are old. What was removed during the next search
// is not forgotten.
func TestBeginSkipping_ForgetsRemainingEntries(t *testing.T) {
	cache := gapCache{feeds: map[Feed]*knownGaps{}}
	k, b := cache.of("f"), cache.begin("f", time.Second, 5_000_000)
	cache.endSearch("f", b, span{from: 10, to: 1000}, 5_000_000, []Entry{{Created: 20}})
	for _, step := range []struct {
		at        time.Duration
		remaining int
	}{{time.Second + gapOldAfter - 1, 1}, {time.Second + gapOldAfter, 0}} {
		if cache.beginSkipping("f", step.at, 5_000_000, true); len(k.remaining.entries) != step.remaining || k.remaining.covered.empty() != (step.remaining == 0) {
			t.Errorf("at %s: %d entries remain in %v, want %d", step.at, len(k.remaining.entries), k.remaining.covered, step.remaining)
		}
	}
	k.running.search = true
	cache.drop("f", Entry{Created: 20})
	if cache.beginSkipping("f", time.Minute, 5_000_000, true); len(k.remaining.dropped) != 1 {
		t.Errorf("%d entries were removed during the search, want 1", len(k.remaining.dropped))
	}
}
