package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/timeline"
)

// noon is the time at which these tests begin, and second is one second.
const (
	noon   = today + day/2
	second = clock.Instant(time.Second / time.Microsecond)
)

// forecastFixture is a feed that one process reads and writes, and of which it makes forecasts.
type forecastFixture struct {
	*fixture
}

func newForecast(t *testing.T) *forecastFixture {
	f := &forecastFixture{newFixture(t)}
	f.rt.hold = true
	f.feeds = timeline.New(timeline.Config{Store: f.store, Runtime: f.rt})
	f.reader = f.feeds
	return f
}

// fill puts n entries, a millisecond apart, which expire at the given times in turn.
func (f *forecastFixture) fill(n int, from clock.Instant, until ...clock.Instant) {
	for i := range n {
		f.put(timeline.Entry{Created: from + clock.Instant(i)*1000, ID: fmt.Sprint("expires ", i), Until: until[i%len(until)]}, true)
	}
}

// pass lets time pass.
func (f *forecastFixture) pass(d time.Duration) {
	f.rt.pass(d)
	now := clock.Of(f.rt.Now())
	f.shown = slices.DeleteFunc(f.shown, func(e timeline.Entry) bool { return e.Until != 0 && e.Until <= now })
}

// page compares a page with the model. It returns how many slices the page took. The tasks that it
// starts do not run before run is called.
func (f *forecastFixture) page(q timeline.Query) (slices int64) {
	f.Helper()
	f.store.slices.Store(0)
	f.want(q)
	return f.store.slices.Load()
}

// run runs the background tasks that pages have started, and returns their number and how many
// slices they took.
func (f *forecastFixture) run() (tasks int, slices int64) {
	f.store.slices.Store(0)
	held := f.rt.held
	f.rt.held = nil
	for _, task := range held {
		task()
	}
	return len(held), f.store.slices.Load()
}

// watch reads pages for some time, as readers do.
func (f *forecastFixture) watch(d time.Duration) {
	f.Helper()
	for ; d > 0; d -= time.Second {
		f.pass(time.Second)
		f.page(timeline.Query{Size: 20})
		f.run()
	}
}

// The first page after very many entries have expired together reads none of them, and the page
// just before shows them.
func TestForecast_FirstPageReadsNoneThatHaveExpired(t *testing.T) {
	f := newForecast(t)
	f.fill(50, today, 0)
	f.fill(5000, noon-3600*second, noon+30*second)
	f.fill(7, noon-2*3600*second, noon+30*second)
	usual := f.page(timeline.Query{Size: 20})
	f.run()
	f.watch(29 * time.Second)
	f.pass(time.Second - time.Microsecond)
	f.page(timeline.Query{Size: 20})
	f.pass(time.Microsecond)
	if n := f.page(timeline.Query{Size: 20}); n > usual+1 {
		t.Errorf("the first page took %d slices, and %d before", n, usual)
	}
	if n := f.page(timeline.Query{Size: 20, Newer: true}); n > usual+2 {
		t.Errorf("the oldest page took %d slices, and the newest %d", n, usual)
	}
	// The store still has the expired entries, so the gap is verified in the background.
	for at := range 20 {
		f.pass(time.Second)
		if n := f.page(timeline.Query{Size: 20}); n > usual+1 {
			t.Errorf("after %d s, a page took %d slices", at+1, n)
		}
		f.run()
	}
}

// Entries that expire one after the other, the oldest first, are skipped too.
func TestForecast_FollowsEntriesThatExpireInTurn(t *testing.T) {
	f := newForecast(t)
	f.fill(50, today, 0)
	var until []clock.Instant
	for i := range 6000 {
		until = append(until, noon+clock.Instant(i)*20_000) // two minutes
	}
	f.fill(6000, noon-3600*second, until...)
	f.watch(4 * time.Second)
	for at := 9; at < 120; at += 5 {
		f.watch(5 * time.Second)
		after := timeline.Entry{Created: noon - 3600*second, ID: "z"}
		if n := f.page(timeline.Query{Size: 1, After: &after, Newer: true}); n > 10 {
			t.Errorf("after %d s, %d slices", at, n)
		}
		f.run()
	}
}

// A span is read once, and again in the last 20 seconds before its entries expire.
func TestForecast_ReadsSpansAgainBeforeTheyBecomeGaps(t *testing.T) {
	f := newForecast(t)
	f.fill(10_000, noon-3600*second, noon+60*second)
	f.page(timeline.Query{Size: 20})
	_, all := f.run()
	for at := 5; at < 60; at += 5 {
		f.pass(5 * time.Second)
		f.page(timeline.Query{Size: 20})
		made, n := f.run()
		// The slices before and after the spans are read each time.
		if read := n > 2; made != 1 || read != (at >= 40) {
			t.Errorf("after %d s: %d forecasts, %d slices, and %d the first time", at, made, n, all)
		}
	}
}

// An entry that this process adds, or changes to expire later, is shown. It may be put at any time before its
// span becomes a gap, even while a forecast is made.
func TestForecast_ShowsWhatThisProcessPuts(t *testing.T) {
	changed := timeline.Entry{Created: noon - 3600*second + 777_000, ID: "expires 777", Until: noon + 90*second}
	added := timeline.Entry{Created: changed.Created + 1, ID: "added"}
	for _, at := range []time.Duration{1, 30, 50, 55, 59} {
		for _, e := range []timeline.Entry{changed, added} {
			for _, during := range []bool{false, true} {
				f := newForecast(t)
				f.fill(2000, noon-3600*second, noon+60*second)
				f.watch(at*time.Second - 1)
				change := func() {
					f.shown = slices.DeleteFunc(f.shown, func(s timeline.Entry) bool { return s.ID == e.ID })
					f.put(e, true)
				}
				if during {
					f.pass(5 * time.Second)
					f.page(timeline.Query{Size: 20})
					f.store.Store = &afterSlices{Store: f.store.Store, remaining: 4, then: change}
					f.run()
				} else {
					change()
				}
				f.watch(30 * time.Second)
				// The added entry is still shown a minute later. If at is 1, the span becomes a gap only in that
				// minute, and the changed entry expires.
				if e.Until == 0 || at == 1 {
					f.watch(60 * time.Second)
				}
			}
		}
	}
}

// An entry behind a gap is shown although a forecast has passed both without reading them.
func TestForecast_ShowsWhatIsBehindAGap(t *testing.T) {
	f := newForecast(t)
	f.fill(190, noon-3600*second, noon+3600*second)
	f.fill(300, noon-3500*second, noon+5*second)
	f.fill(10, noon-3400*second, noon+3600*second)
	f.fill(500, noon-600*second, noon+25*second)
	f.page(timeline.Query{Size: 20})
	f.run()
	f.pass(5 * time.Second)
	f.page(timeline.Query{Size: 20, After: &timeline.Entry{Created: noon - 3390*second}}) // finds the gap
	f.page(timeline.Query{Size: 20})
	f.run()
	f.watch(25 * time.Second)
}

// A forecast is not used if more old entries were put meanwhile than are remembered. New entries do not count.
func TestForecast_IsDroppedAfterManyPuts(t *testing.T) {
	for _, c := range []struct {
		put  clock.Instant
		used bool
	}{
		{noon - 60*second, false},
		{noon - 2*second - 1, false},
		{noon - 2*second, true},
		{noon + second, true},
	} {
		f := newForecast(t)
		f.fill(2000, noon-3600*second, noon+4*second)
		f.pass(time.Second)
		f.page(timeline.Query{Size: 20})
		f.store.Store = &afterSlices{Store: f.store.Store, remaining: 4, then: func() {
			f.put(timeline.Entry{Created: noon - 3600*second + 1, ID: "kept"}, true)
			for n := range 1024 {
				f.put(timeline.Entry{Created: c.put, ID: fmt.Sprint(n), Until: noon + 4*second}, true)
			}
		}}
		f.run()
		f.pass(3 * time.Second)
		if n := f.page(timeline.Query{Size: 20, After: &timeline.Entry{Created: noon - 60*second - 1}}); (n <= 10) != c.used { // nine slices read past those 1,024 entries, and one reads the older ones
			t.Errorf("after puts at noon %+d, a page took %d slices", c.put-noon, n)
		}
	}
}

// The boundary of a span lies between two instants, because entries of one instant may expire at
// different times.
func TestForecast_DoesNotSplitAnInstant(t *testing.T) {
	for lasts := range 8 {
		f := newForecast(t)
		for n := range 1200 {
			e := timeline.Entry{Created: noon - 3600*second + clock.Instant(n/3), ID: fmt.Sprint(n % 3), Until: noon + 4*second}
			if n/3 == 230+lasts && n%3 == 0 { // the 489th to 510th newest
				e.Until = noon + 60*second
			}
			f.put(e, true)
		}
		f.page(timeline.Query{Size: 20})
		f.run()
		f.pass(4 * time.Second)
		f.page(timeline.Query{Size: 20})
	}
}

// A new entry that another process puts within listedWithin of its creation is shown, although a forecast was
// made before.
func TestForecast_ShowsNewEntriesOfOthers(t *testing.T) {
	f := newForecast(t)
	f.fill(1000, noon-3600*second, noon+4*second)
	f.fill(1000, noon-2*second, noon+4*second)
	f.put(timeline.Entry{Created: noon - second, ID: "lasts"}, true)
	f.fill(500, noon-second/2, noon+4*second)
	f.page(timeline.Query{Size: 20})
	f.run()
	for n := range 3 {
		e := timeline.Entry{Created: noon - clock.Instant(n)*second - 100, ID: "late"}
		if err := f.open().Put(t.Context(), "f", e, 1); err != nil {
			t.Fatal(err)
		}
		f.shown = append(f.shown, e)
	}
	f.pass(4 * time.Second)
	f.page(timeline.Query{Size: 20})
}

// A forecast is not used for more than ten seconds: another process may have changed an entry since.
func TestForecast_ExpiresAfterTenSeconds(t *testing.T) {
	f := newForecast(t)
	f.fill(2000, noon-3600*second, noon+10*second)
	f.page(timeline.Query{Size: 20})
	f.run()
	e := timeline.Entry{Created: noon - 3600*second + 777_000, ID: "expires 777", Until: noon + 900*second}
	if err := f.open().Put(t.Context(), "f", e, f.mts+1); err != nil {
		t.Fatal(err)
	}
	f.shown = []timeline.Entry{e}
	f.pass(10 * time.Second)
	f.page(timeline.Query{Size: 20})
}

// An entry that another process changes to expire later is always shown if a forecast was made after the
// change. Otherwise it is hidden for at most ten seconds.
func TestForecast_HidesWhatOthersExtendOnlyForAWhile(t *testing.T) {
	for _, c := range []struct {
		before time.Duration // the entry is changed this long before the others expire
		hidden bool
	}{
		{100 * time.Second, false},
		{15 * time.Second, false},
		{6 * time.Second, false},
		{0, true},
	} {
		f := newForecast(t)
		f.fill(2000, noon-3600*second, noon+120*second)
		f.page(timeline.Query{Size: 20})
		f.run()
		for range (120*time.Second - c.before) / time.Second {
			f.watch(time.Second)
		}
		f.pass(-1)
		e := timeline.Entry{Created: noon - 3600*second + 777_000, ID: "expires 777", Until: noon + 900*second}
		if err := f.open().Put(t.Context(), "f", e, f.mts+1); err != nil {
			t.Fatal(err)
		}
		f.shown = append(f.shown, e)
		hidden := 0
		for range c.before/time.Second + 15 {
			f.pass(time.Second)
			p := f.read(timeline.Query{Size: 2000})
			if !slices.ContainsFunc(p.Found, func(found timeline.Found[string]) bool { return found.Entry.ID == e.ID }) {
				hidden++
			}
			f.run()
		}
		if hidden > 10 || (hidden > 0) != c.hidden {
			t.Errorf("extended %s before, the entry was hidden for %d s", c.before, hidden)
		}
	}
}

// TestForecast_MatchesAModel reads random feeds while time passes and this process changes the
// times at which entries expire.
func TestForecast_MatchesAModel(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 16))
		f := newForecast(t)
		until := func() clock.Instant {
			if rng.IntN(200) == 0 {
				return 0
			}
			return clock.Of(f.rt.Now()) + second*clock.Instant(1+rng.IntN(4)*rng.IntN(60))
		}
		put := func(e timeline.Entry) {
			f.shown = slices.DeleteFunc(f.shown, func(s timeline.Entry) bool { return timeline.Compare(s, e) == 0 })
			f.put(e, true)
		}
		for n := range 3000 {
			put(timeline.Entry{Created: noon - 3600*second - clock.Instant(n/3)*day/800, ID: fmt.Sprint(n % 3), Until: until()})
		}
		for range 150 {
			switch rng.IntN(4) {
			case 0:
				n := rng.IntN(3000)
				put(timeline.Entry{Created: noon - 3600*second - clock.Instant(n/3)*day/800, ID: fmt.Sprint(n % 3), Until: until()})
			case 1:
				put(timeline.Entry{Created: clock.Of(f.rt.Now()) - clock.Instant(rng.IntN(4_000_000)), ID: "new", Until: until()})
			case 2:
				f.pass(time.Duration(rng.IntN(4000)) * time.Millisecond)
			default:
				q := timeline.Query{Size: 1 + rng.IntN(40), Newer: rng.IntN(3) == 0}
				if rng.IntN(3) == 0 {
					q.After = &timeline.Entry{Created: noon - clock.Instant(rng.Int64N(int64(2*day)))}
				}
				f.page(q)
			}
			if rng.IntN(3) == 0 {
				f.run()
			}
		}
	}
}
