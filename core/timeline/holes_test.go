package timeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/timeline"
)

// cemetery is a store in which passing an entry that was removed takes time, as in
// Cassandra. It counts those that slices have passed.
type cemetery struct {
	timeline.Store
	removed []timeline.Entry // the oldest first
	passed  int
	always  bool // it says of each slice that it has passed many
}

func (c *cemetery) ListEntries(ctx context.Context, p timeline.Partition, s timeline.Slice) (timeline.Listed, error) {
	l, err := c.Store.ListEntries(ctx, p, s)
	// The slice was read from its one bound to its last entry, or to the other bound.
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
	passed := 0
	for _, e := range c.removed {
		if timeline.DayOf(e.Created) == p.Day && (older == nil || timeline.Compare(e, *older) > 0) && (newer == nil || timeline.Compare(e, *newer) < 0) {
			passed++
		}
	}
	c.passed += passed
	l.Removed = c.always || passed >= 1000
	return l, err
}

// buried returns a feed of one process on a store with n removed entries from an instant on,
// a millisecond apart.
func buried(t *testing.T, from clock.Instant, n int) (*fixture, *cemetery) {
	f := newFixture(t)
	grave := &cemetery{Store: f.store.Store}
	f.store.Store = grave
	for i := range n {
		grave.removed = append(grave.removed, timeline.Entry{Created: from + clock.Instant(i)*1000, ID: "x"})
	}
	f.local = timeline.New(timeline.Config{Store: f.store, Runtime: f.rt})
	return f, grave
}

// TestRead_GoesAroundWhatWasRemoved: where a page has passed many removed entries, the next
// ones do not, whatever place they begin at.
func TestRead_GoesAroundWhatWasRemoved(t *testing.T) {
	const begin, removed = today + day/4, 30_000 // until half a minute later
	f, grave := buried(t, begin, removed)
	for n := range 60 {
		f.put(timeline.Entry{Created: begin - clock.Instant(n+1)*1000, ID: fmt.Sprint("older ", n)}, true)
	}
	for n := range 3 {
		f.put(timeline.Entry{Created: begin + removed*1000 + clock.Instant(n), ID: fmt.Sprint("newer ", n)}, true)
	}
	inside := timeline.Entry{Created: begin + removed*500, ID: "x"}
	queries := []timeline.Query{
		{Size: 20}, {Size: 20, Place: &inside}, {Size: 2, Place: &inside, Newer: true}, {Size: 80, Newer: true},
		{Size: 20, Place: &timeline.Entry{Created: begin - 5000}, Newer: true}, {Size: 3, Place: &timeline.Entry{Created: begin - 30_000}},
	}
	for range 3 { // which time it was is not always found at once
		f.want(queries[0])
	}
	if grave.passed < removed {
		t.Fatalf("%d removed entries were passed: the test tries nothing", grave.passed)
	}
	for _, q := range queries {
		grave.passed = 0
		f.want(q)
		if grave.passed > removed/100 {
			t.Errorf("%+v: %d removed entries were passed", q, grave.passed)
		}
	}
	f.rt.elapsed.Add(int64(11 * time.Second))
	grave.passed = 0
	f.want(queries[0])
	if grave.passed < removed {
		t.Errorf("%d removed entries were passed after 11 s: it was not looked at again", grave.passed)
	}
}

// TestRead_AHoleGrows: what was removed in the last moments before a hole was found is passed
// once more at most, when it is old enough, though it is too little to be a hole.
func TestRead_AHoleGrows(t *testing.T) {
	const removed, lately = 30_000, 300
	now := clock.Of(newFixture(t).rt.Now())
	f, grave := buried(t, now-60_000_000, removed)
	for n := range clock.Instant(lately) {
		grave.removed = append(grave.removed, timeline.Entry{Created: now - 2_999_999 + n*9000, ID: "x"})
	}
	f.put(timeline.Entry{Created: now - 60_000_001, ID: "oldest"}, true)
	passes := func() int {
		grave.passed = 0
		f.want(timeline.Query{Size: 5})
		return grave.passed / 4 // the partitions of the day
	}
	if n := passes(); n != removed+lately {
		t.Fatalf("%d removed entries were passed: the test tries nothing", n)
	}
	passes() // which time it was is not always found at once
	if n := passes(); n != lately {
		t.Errorf("%d removed entries of the last three seconds were passed", n)
	}
	f.rt.now.Add(int64(4 * time.Second / time.Microsecond))
	f.rt.elapsed.Add(int64(4 * time.Second))
	if n := passes(); n != lately {
		t.Errorf("%d removed entries were passed: they were in a hole too early", n)
	}
	if n := passes(); n != 0 {
		t.Errorf("%d removed entries were passed though the hole has grown over them", n)
	}
	f.rt.elapsed.Add(int64(7 * time.Second))
	if n := passes(); n != removed+lately {
		t.Errorf("%d removed entries were passed: a hole that has grown is remembered for longer", n)
	}
}

// TestRead_OnlyAHoleGrows: times between entries that are newer than a hole are no holes. Each
// would cost a page a slice more in each partition.
func TestRead_OnlyAHoleGrows(t *testing.T) {
	now := clock.Of(newFixture(t).rt.Now())
	f, _ := buried(t, now-60_000_000, 30_000)
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
		slices() // which time it was is not always found at once
	}
	if n := slices(); n != 8 {
		t.Errorf("a page reads %d slices, of four partitions with a hole", n)
	}
}

// TestRead_LooksAgainOnce: when a hole has been known for long, one reader looks at it
// again, and others go by it meanwhile.
func TestRead_LooksAgainOnce(t *testing.T) {
	f, grave := buried(t, today+1000, 5000)
	f.put(timeline.Entry{Created: today, ID: "a"}, true)
	f.want(timeline.Query{Size: 1})
	f.rt.elapsed.Add(int64(10 * time.Second))
	grave.passed = 0
	f.store.Store = &interrupted{Store: grave, then: func() {
		before := grave.passed
		f.want(timeline.Query{Size: 1})
		if grave.passed != before {
			t.Errorf("a second reader has passed %d removed entries too", grave.passed-before)
		}
	}}
	f.want(timeline.Query{Size: 1})
	if grave.passed < 5000 {
		t.Errorf("%d removed entries were passed: nobody has looked", grave.passed)
	}
}

// interrupted is a store that lets something happen before the first slice is read.
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

// afterSlices is a store that lets something happen when it has listed so many slices.
type afterSlices struct {
	timeline.Store
	left int
	then func()
}

func (a *afterSlices) ListEntries(ctx context.Context, p timeline.Partition, s timeline.Slice) (timeline.Listed, error) {
	l, err := a.Store.ListEntries(ctx, p, s)
	if a.left--; a.left == 0 {
		a.then()
	}
	return l, err
}

// TestRead_MeetsWhatIsPutWhileItLooks: entries that this process lists while a reader finds
// that there is nothing are met by the next one, which knows what else is a hole, unless
// they were very many.
func TestRead_MeetsWhatIsPutWhileItLooks(t *testing.T) {
	for _, puts := range []int{1, 1024, 1025} {
		f, grave := buried(t, today+1000, 5000)
		f.feeds = f.local
		f.put(timeline.Entry{Created: today, ID: "oldest"}, true)
		f.store.Store = &afterSlices{Store: grave, left: 4, then: func() {
			for n := range puts {
				e := timeline.Entry{Created: today + clock.Instant(n), ID: fmt.Sprint(n)}
				if n == 0 {
					e.Created += day / 4
				}
				f.shown = append(f.shown, e)
				if err := f.local.Put(t.Context(), "f", e, 10); err != nil {
					t.Fatal(err)
				}
			}
		}}
		f.read(timeline.Query{Size: 1})
		grave.passed = 0
		f.want(timeline.Query{Size: 1})
		if known := grave.passed == 0; known != (puts <= 1024) {
			t.Errorf("after %d entries were put, the hole is known: %t", puts, known)
		}
	}
}

// afterDays is a store that lets something happen when it has listed the days of a feed once.
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

// TestRead_MeetsADayThatIsBegunWhileItLooks: an entry that this process lists, as the first
// of its day, while a reader has the days already, is met by the next one.
func TestRead_MeetsADayThatIsBegunWhileItLooks(t *testing.T) {
	f, grave := buried(t, today, 0)
	f.feeds = f.local
	for n := range 400 {
		f.put(timeline.Entry{Created: today + clock.Instant(n), ID: fmt.Sprint(n), Until: today + 1}, true)
	}
	f.put(timeline.Entry{Created: today - 9*day, ID: "oldest"}, true)
	late := timeline.Entry{Created: today - 3*day, ID: "late"}
	f.read(timeline.Query{Size: 0}) // the days are known,
	f.rt.now.Add(int64(day))        // and whether today has begun is looked up
	begun := false
	f.store.Store = &afterDays{Store: grave, then: func() {
		begun = true
		if err := f.local.Put(t.Context(), "f", late, 10); err != nil {
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

// TestRead_ManyHolesBecomeOne: where entries are removed all the time there is one hole,
// around which few slices are read. All of it is looked at again in time: a late entry of
// another process is not hidden for longer.
func TestRead_ManyHolesBecomeOne(t *testing.T) {
	f, grave := buried(t, today, 0)
	for n := range 40 {
		f.put(timeline.Entry{Created: today - day + clock.Instant(n), ID: fmt.Sprint(n)}, true)
	}
	f.put(timeline.Entry{Created: today, ID: "first"}, true)
	f.rt.now.Store(int64(today) + 20_000_000)
	last := today + 1000
	read := func() {
		t.Helper()
		for now := clock.Of(f.rt.Now()); last < now; last += 500 {
			grave.removed = append(grave.removed, timeline.Entry{Created: last, ID: "x"})
		}
		if _, err := timeline.Read(t.Context(), f.local, "f", timeline.Query{Size: 1}, f.judge); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		f.rt.now.Add(300_000)
		read()
	}
	f.store.slices.Store(0)
	f.want(timeline.Query{Size: 3})
	if n := f.store.slices.Load(); n > 12 {
		t.Errorf("%d slices were read, want those of two days, one of them around one hole", n)
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

// TestRead_HidesLateEntriesBriefly: an entry that another process lists late, where nothing
// was, is met after a while; one of this process and one that is new are met at once.
func TestRead_HidesLateEntriesBriefly(t *testing.T) {
	f, _ := buried(t, today+1000, 5000)
	others := f.open()
	f.feeds = f.local
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
		{"just within the time of listing", now - 3_000_000, false},
		{"late", now - 3_000_002, true},
	} {
		e := timeline.Entry{Created: late.created, ID: late.id}
		if err := others.Put(t.Context(), "f", e, 10); err != nil {
			t.Fatal(err)
		}
		f.shown = append(f.shown, e)
		p := f.read(timeline.Query{Size: 9})
		met := slices.ContainsFunc(p.Found, func(found timeline.Found[string]) bool { return found.Entry.ID == late.id })
		if met == late.hidden {
			t.Errorf("%s: met %t", late.id, met)
		}
		// Who follows the feed meets each of them.
		since, err := f.local.Since(t.Context(), "f", timeline.Entry{Created: late.created - 1}, 1)
		if err != nil || len(since) != 1 || since[0].ID != late.id {
			t.Errorf("%s: followed: %v, %v", late.id, since, err)
		}
	}
	f.rt.elapsed.Add(int64(10 * time.Second))
	f.want(timeline.Query{Size: 9})
	f.want(timeline.Query{Size: 9})
}

// TestRead_AroundHolesIsThePageOfAModel reads pages of random feeds whose store always says
// that it has passed removed entries, so that there are holes everywhere. Now and then time
// passes, and this process lists another entry.
func TestRead_AroundHolesIsThePageOfAModel(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 15))
		f, grave := buried(t, today, 0)
		grave.always = true
		f.feeds = f.local
		at := func() timeline.Entry {
			e := timeline.Entry{Created: today - clock.Instant(rng.IntN(3))*day + clock.Instant(rng.IntN(40))*60_000_000, ID: fmt.Sprint(rng.IntN(4))}
			if rng.IntN(5) == 0 {
				e.Created = clock.Of(f.rt.Now()) - clock.Instant(rng.IntN(20_000_000))
			}
			return e
		}
		for range 120 {
			switch rng.IntN(8) {
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
					place := at()
					q.Place = &place
				}
				f.want(q)
			}
		}
	}
}
