package timeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/timeline"
)

// removedStore is a store that skips removed entries and reports that it has skipped many, as the
// store on Cassandra does. It counts them.
type removedStore struct {
	timeline.Store
	removed []timeline.Entry // the oldest first
	mu      sync.Mutex       // protects skipped during reads
	skipped int
	always  bool // every slice reports that it has skipped many
}

func (c *removedStore) ListEntries(ctx context.Context, p timeline.Partition, s timeline.Slice) (timeline.Listed, error) {
	l, err := c.Store.ListEntries(ctx, p, s)
	// The slice was read from its first bound to its last entry, or to the other bound.
	older, newer := s.To, s.From
	if n := len(l.Entries); n == s.Limit {
		older = &l.Entries[n-1]
	}
	if s.Newer {
		older, newer = s.From, s.To
		if n := len(l.Entries); n == s.Limit {
			newer = &l.Entries[n-1]
		}
	}
	skipped := 0
	for _, e := range c.removed {
		if timeline.DayOf(e.Created) == p.Day && (older == nil || timeline.Compare(e, *older) > 0) && (newer == nil || timeline.Compare(e, *newer) < 0) {
			skipped++
		}
	}
	c.mu.Lock()
	c.skipped += skipped
	c.mu.Unlock()
	l.Removed = c.always || skipped >= 1000
	return l, err
}

// newRemoved returns a feed that one process reads and another one writes, on a store with n removed
// entries, which begin at an instant and are a millisecond apart.
func newRemoved(t *testing.T, from clock.Instant, n int) (*fixture, *removedStore) {
	f := newFixture(t)
	store := &removedStore{Store: f.store.Store}
	f.store.Store = store
	for i := range n {
		store.removed = append(store.removed, timeline.Entry{Created: from + clock.Instant(i)*1000, ID: "x"})
	}
	f.reader = timeline.New(timeline.Config{Store: f.store, Runtime: f.rt})
	return f, store
}

// After a page has skipped many removed entries, the next pages do not read them again,
// whatever position they begin at.
func TestRead_ReadsRemovedEntriesOnce(t *testing.T) {
	const begin, removed = today + day/4, 30_000 // they span half a minute
	f, store := newRemoved(t, begin, removed)
	for n := range 60 {
		f.put(timeline.Entry{Created: begin - clock.Instant(n+1)*1000, ID: fmt.Sprint("older ", n)}, true)
	}
	for n := range 3 {
		f.put(timeline.Entry{Created: begin + removed*1000 + clock.Instant(n), ID: fmt.Sprint("newer ", n)}, true)
	}
	inside := timeline.Entry{Created: begin + removed*500, ID: "x"}
	queries := []timeline.Query{
		{Size: 20}, {Size: 20, After: &inside}, {Size: 2, After: &inside, Newer: true}, {Size: 80, Newer: true},
		{Size: 20, After: &timeline.Entry{Created: begin - 5000}, Newer: true}, {Size: 3, After: &timeline.Entry{Created: begin - 30_000}},
	}
	for range 3 { // a walk may note another span first; see endEmpty
		f.want(queries[0])
	}
	if store.skipped < removed {
		t.Fatalf("%d removed entries were skipped: too few for this test", store.skipped)
	}
	for _, q := range queries {
		store.skipped = 0
		f.want(q)
		if store.skipped > removed/100 {
			t.Errorf("%+v: %d removed entries were skipped", q, store.skipped)
		}
	}
	f.rt.elapsed.Add(int64(11 * time.Second))
	store.skipped = 0
	f.want(queries[0])
	if store.skipped < removed {
		t.Errorf("%d removed entries were skipped after 11 s: the gap was not verified again", store.skipped)
	}
}

// A gap grows to include removed entries once three seconds have passed since their creation.
func TestRead_ExtendsAGap(t *testing.T) {
	const removed, lately = 30_000, 300
	now := clock.Of(newFixture(t).rt.Now())
	f, store := newRemoved(t, now-60_000_000, removed)
	f.rt.hold = true // no background task runs
	for n := range clock.Instant(lately) {
		store.removed = append(store.removed, timeline.Entry{Created: now - 2_999_999 + n*9000, ID: "x"})
	}
	f.put(timeline.Entry{Created: now - 60_000_001, ID: "oldest"}, true)
	passes := func() int {
		store.skipped = 0
		f.want(timeline.Query{Size: 5})
		return store.skipped / 4 // the partitions of the day
	}
	if n := passes(); n != removed+lately {
		t.Fatalf("%d removed entries were skipped: too few for this test", n)
	}
	passes() // a walk may note another span first; see endEmpty
	if n := passes(); n != lately {
		t.Errorf("%d removed entries of the last three seconds were skipped", n)
	}
	f.rt.now.Add(int64(4 * time.Second / time.Microsecond))
	f.rt.elapsed.Add(int64(4 * time.Second))
	if n := passes(); n != lately {
		t.Errorf("%d removed entries were skipped: they were in a gap too early", n)
	}
	if n := passes(); n != 0 {
		t.Errorf("%d removed entries were skipped although the gap includes them", n)
	}
	f.rt.elapsed.Add(int64(7 * time.Second))
	if n := passes(); n != removed {
		t.Errorf("%d removed entries were skipped: a gap that was extended is remembered for too long", n)
	}
}

// The spans between entries that are newer than a gap are not gaps. Each would cost a page
// another slice of each partition.
func TestRead_SpansBetweenNewerEntriesAreNoGaps(t *testing.T) {
	now := clock.Of(newFixture(t).rt.Now())
	f, _ := newRemoved(t, now-60_000_000, 30_000)
	f.put(timeline.Entry{Created: now - 60_000_001, ID: "oldest"}, true)
	for n := range clock.Instant(6) {
		f.put(timeline.Entry{Created: now - 29_000_000 + n*4_000_000, ID: fmt.Sprint("newer ", n)}, true)
	}
	slices := func() int64 {
		f.store.slices.Store(0)
		f.want(timeline.Query{Size: 20})
		return f.store.slices.Load()
	}
	for range 4 {
		slices() // a walk may note another span first; see endEmpty
	}
	if n := slices(); n != 8 {
		t.Errorf("a page reads %d slices, want 8: two of each of the four partitions", n)
	}
}

// An entry that this process puts during a read, after its clock was set back, is shown.
func TestRead_ShowsAnEntryPutAfterTheClockWasSetBack(t *testing.T) {
	f, store := newRemoved(t, noon-3600*second, 5000)
	f.rt.hold = true
	f.put(timeline.Entry{Created: today, ID: "a"}, true)
	f.feeds = f.reader
	f.store.Store = &afterSlices{Store: store, remaining: 4, then: func() {
		f.rt.now.Add(int64(-10 * second))
		f.want(timeline.Query{Size: 1, After: &timeline.Entry{Created: today + 1}})
		f.put(timeline.Entry{Created: clock.Of(f.rt.Now()), ID: "new"}, true)
	}}
	f.read(timeline.Query{Size: 1})
	f.rt.now.Add(int64(10 * second))
	f.want(timeline.Query{Size: 1})
}

// interrupted is a store that calls a function before the first slice is read.
type interrupted struct {
	timeline.Store
	then func()
}

func (i *interrupted) ListEntries(ctx context.Context, p timeline.Partition, s timeline.Slice) (timeline.Listed, error) {
	if then := i.then; then != nil {
		i.then = nil
		then()
	}
	return i.Store.ListEntries(ctx, p, s)
}

// afterSlices is a store that calls a function after a number of slices.
type afterSlices struct {
	timeline.Store
	remaining int
	then      func()
}

func (a *afterSlices) ListEntries(ctx context.Context, p timeline.Partition, s timeline.Slice) (timeline.Listed, error) {
	l, err := a.Store.ListEntries(ctx, p, s)
	if a.remaining--; a.remaining == 0 {
		a.then()
	}
	return l, err
}

// Entries that this process puts while a reader finds a gap are shown to the next reader. The
// rest of the gap is remembered, unless very many entries were put.
func TestRead_ShowsEntriesPutDuringARead(t *testing.T) {
	for _, puts := range []int{1, 1024, 1025} {
		f, store := newRemoved(t, today+1000, 5000)
		f.put(timeline.Entry{Created: today, ID: "oldest"}, true) // in a day with four partitions
		f.feeds = f.reader
		f.store.Store = &afterSlices{Store: store, remaining: 4, then: func() {
			for n := range puts {
				e := timeline.Entry{Created: today + clock.Instant(n), ID: fmt.Sprint(n)}
				if n == 0 {
					e.Created += day / 4
				}
				f.shown = append(f.shown, e)
				if err := f.reader.Put(t.Context(), "f", e, 10); err != nil {
					t.Fatal(err)
				}
			}
		}}
		f.read(timeline.Query{Size: 1})
		store.skipped = 0
		f.want(timeline.Query{Size: 1})
		if known := store.skipped == 0; known != (puts <= 1024) {
			t.Errorf("after %d entries were put, the gap is known: %t", puts, known)
		}
	}
}

// afterDays is a store that calls a function after it has listed the days of a feed once.
type afterDays struct {
	timeline.Store
	then func()
}

func (a *afterDays) ListBuckets(ctx context.Context, feed timeline.Feed, before timeline.Day, limit int) ([]timeline.Bucket, error) {
	days, err := a.Store.ListBuckets(ctx, feed, before, limit)
	if then := a.then; then != nil {
		a.then = nil
		then()
	}
	return days, err
}

// An entry that this process puts as the first of its day, after a reader has listed the days,
// is shown to the next reader.
func TestRead_ShowsADayBegunDuringARead(t *testing.T) {
	f, store := newRemoved(t, today, 0)
	f.reader = f.open()
	f.feeds = f.reader
	for n := range 400 {
		f.put(timeline.Entry{Created: today + clock.Instant(n), ID: fmt.Sprint(n), Until: today + 1}, true)
	}
	f.put(timeline.Entry{Created: today - 9*day, ID: "oldest"}, true)
	late := timeline.Entry{Created: today - 3*day, ID: "late"}
	f.read(timeline.Query{Size: 0}) // caches the days
	f.rt.now.Add(int64(day))        // so the next read looks up whether today has entries
	begun := false
	f.store.Store = &afterDays{Store: store, then: func() {
		begun = true
		if err := f.reader.Put(t.Context(), "f", late, 10); err != nil {
			t.Fatal(err)
		}
	}}
	f.read(timeline.Query{Size: 1})
	if !begun {
		t.Fatal("no day was begun meanwhile")
	}
	f.shown = append(f.shown, late)
	f.want(timeline.Query{Size: 5})
}

// If this process begins a day while a reader lists the days, the next reader sees that day, even if the
// process has used so many other feeds meanwhile that it has evicted this one from its cache.
func TestRead_ShowsADayBegunWhileTheDaysAreListed(t *testing.T) {
	for _, others := range []int{0, 1000} {
		f := newFixture(t)
		f.feeds = timeline.New(timeline.Config{Store: f.store, Runtime: f.rt})
		f.reader = f.feeds
		f.store.Store = &afterDays{Store: f.store.Store, then: func() {
			f.put(timeline.Entry{Created: today - 3*day, ID: "late"}, true)
			for n := range others {
				if err := f.feeds.Put(t.Context(), timeline.Feed(fmt.Sprint("other ", n)), timeline.Entry{Created: today}, 1); err != nil {
					t.Fatal(err)
				}
			}
		}}
		f.read(timeline.Query{Size: 5})
		f.want(timeline.Query{Size: 5})
	}
}

// If entries are removed all the time there is one gap, around which few slices are read. The
// whole gap is verified in time, so a late entry of another process is hidden for at most twelve
// seconds.
func TestRead_MergesManyGaps(t *testing.T) {
	f, store := newRemoved(t, today, 0)
	for n := range 40 {
		f.put(timeline.Entry{Created: today - day + clock.Instant(n), ID: fmt.Sprint(n)}, true)
	}
	f.put(timeline.Entry{Created: today, ID: "first"}, true)
	f.rt.now.Store(int64(today) + 20_000_000)
	last := today + 1000
	read := func() {
		t.Helper()
		for now := clock.Of(f.rt.Now()); last < now; last += 500 {
			store.removed = append(store.removed, timeline.Entry{Created: last, ID: "x"})
		}
		if _, err := timeline.Read(t.Context(), f.reader, "f", timeline.Query{Size: 1}, f.resolve); err != nil {
			t.Fatal(err)
		}
		f.rt.Close() // waits for what runs in the background
	}
	for range 20 {
		f.rt.now.Add(300_000)
		read()
	}
	f.store.slices.Store(0)
	f.want(timeline.Query{Size: 3})
	if n := f.store.slices.Load(); n > 12 {
		t.Errorf("%d slices were read, want at most 12: those of two days, one of which has one gap", n)
	}
	late := timeline.Entry{Created: today + 1001, ID: "late"}
	if err := f.open().Put(t.Context(), "f", late, 10); err != nil {
		t.Fatal(err)
	}
	for range 12 {
		f.rt.now.Add(1_000_000)
		f.rt.elapsed.Add(int64(time.Second))
		read()
	}
	f.shown = append(f.shown, late)
	f.want(timeline.Query{Size: 3})
}

// A late entry of another process in a gap is shown after a while; an entry of this process
// and a new entry are shown at once.
func TestRead_HidesLateEntriesOnlyForAWhile(t *testing.T) {
	f, _ := newRemoved(t, today+1000, 5000)
	others := f.open()
	f.feeds = f.reader
	f.put(timeline.Entry{Created: today, ID: "oldest"}, true)
	f.want(timeline.Query{Size: 9})
	f.put(timeline.Entry{Created: today + 2_000_500, ID: "ours"}, true)
	f.want(timeline.Query{Size: 9})

	now := clock.Of(f.rt.Now())
	for _, late := range []struct {
		id      string
		created clock.Instant
		hidden  bool
	}{
		{"new", now - 1, false},
		{"just within listedWithin", now - 3_000_000, false},
		{"late", now - 3_000_002, true},
	} {
		e := timeline.Entry{Created: late.created, ID: late.id}
		if err := others.Put(t.Context(), "f", e, 10); err != nil {
			t.Fatal(err)
		}
		f.shown = append(f.shown, e)
		p := f.read(timeline.Query{Size: 9})
		shown := slices.ContainsFunc(p.Found, func(found timeline.Found[string]) bool { return found.Entry.ID == late.id })
		if shown == late.hidden {
			t.Errorf("%s: shown %t", late.id, shown)
		}
		// A follower of the feed sees each of them.
		since, err := f.reader.Since(t.Context(), "f", timeline.Entry{Created: late.created - 1}, 1)
		if err != nil || len(since) != 1 || since[0].ID != late.id {
			t.Errorf("%s: Since returned %v, %v", late.id, since, err)
		}
	}
	// Nobody has read this one with Since, which would cut it out of the gap. So it stays hidden until a
	// reader verifies the gap.
	e := timeline.Entry{Created: now - 3_000_003, ID: "later still"}
	if err := others.Put(t.Context(), "f", e, 10); err != nil {
		t.Fatal(err)
	}
	p := f.read(timeline.Query{Size: 9})
	if slices.ContainsFunc(p.Found, func(found timeline.Found[string]) bool { return found.Entry.ID == e.ID }) {
		t.Errorf("%s is shown: the test checks nothing", e.ID)
	}
	f.shown = append(f.shown, e)
	f.rt.elapsed.Add(int64(11 * time.Second))
	f.want(timeline.Query{Size: 9})
}

// TestRead_AroundGapsMatchesAModel reads pages of random feeds whose store always reports
// that it has skipped removed entries, so that there are gaps everywhere. Now and then time
// passes, and this process puts another entry, or removes so many that it searches for a gap.
func TestRead_AroundGapsMatchesAModel(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 15))
		f, store := newRemoved(t, today, 0)
		store.always = true
		f.feeds = f.reader
		at := func() timeline.Entry {
			e := timeline.Entry{Created: today - clock.Instant(rng.IntN(3))*day + clock.Instant(rng.IntN(40))*60_000_000, ID: fmt.Sprint(rng.IntN(4))}
			if rng.IntN(5) == 0 {
				e.Created = clock.Of(f.rt.Now()) - clock.Instant(rng.IntN(20_000_000))
			}
			return e
		}
		for range 120 {
			switch rng.IntN(9) {
			case 8:
				around := at()
				for n := range clock.Instant(200) {
					if err := f.feeds.Drop(t.Context(), "f", timeline.Entry{Created: around.Created - 100 + n, ID: "removed"}, 1); err != nil {
						t.Fatal(err)
					}
				}
			case 0, 1:
				e := at()
				if !slices.ContainsFunc(append(slices.Clone(f.shown), f.hidden...), func(o timeline.Entry) bool { return timeline.Compare(o, e) == 0 }) {
					f.put(e, rng.IntN(4) > 0)
				}
			case 2:
				f.rt.elapsed.Add(int64(time.Duration(rng.IntN(8)) * time.Second))
				f.rt.now.Add(int64(rng.IntN(8_000_000)))
			default:
				q := timeline.Query{Size: rng.IntN(12), Newer: rng.IntN(2) == 0}
				if rng.IntN(3) > 0 {
					position := at()
					q.After = &position
				}
				f.want(q)
			}
		}
	}
}
