package timeline_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/timeline"
)

// When a gap has become old, one reader of a page other than the newest verifies it, while other readers
// still skip it. This also holds while a background task runs, because the task might not reach the gap.
func TestRead_OneReaderVerifiesAnOldGap(t *testing.T) {
	for _, q := range []timeline.Query{{Size: 1, Newer: true}, {Size: 1, After: &timeline.Entry{Created: today + 3600*second}}} {
		f, store := newRemoved(t, today+1000, 5000)
		f.rt.hold = true
		f.put(timeline.Entry{Created: today, ID: "a"}, true)
		f.want(timeline.Query{Size: 1})
		f.rt.runHeld()
		f.rt.pass(9 * time.Second)
		f.want(timeline.Query{Size: 1})
		if n := len(f.rt.held); n != 1 {
			t.Fatalf("%d background tasks, want 1", n)
		}
		f.rt.pass(time.Second)
		store.skipped = 0
		f.store.Store = &interrupted{Store: store, then: func() {
			before := store.skipped
			f.want(q)
			if store.skipped != before {
				t.Errorf("%+v: a second reader has read past %d removed entries, too", q, store.skipped-before)
			}
		}}
		f.want(q)
		if store.skipped < 5000 {
			t.Errorf("%+v: only %d removed entries were read: nobody has verified the gap", q, store.skipped)
		}
	}
}

// While the newest page is read again and again, one background task at a time verifies the gap, and no
// reader does.
func TestRead_VerifiesAGapInTheBackground(t *testing.T) {
	f, store := newRemoved(t, noon-3600*second, 5000)
	f.rt.hold = true
	f.put(timeline.Entry{Created: today, ID: "a"}, true)
	f.want(timeline.Query{Size: 1})
	f.rt.runHeld()
	at := 0
	for _, step := range []struct{ at, verified int }{{6, 0}, {7, 1}, {13, 0}, {14, 1}, {20, 0}, {23, 1}, {29, 0}, {32, 1}} {
		f.rt.pass(time.Duration(step.at-at) * time.Second)
		at = step.at
		store.skipped = 0
		f.want(timeline.Query{Size: 1})
		f.want(timeline.Query{Size: 1})
		f.want(timeline.Query{Size: 1, Newer: true})
		if store.skipped != 0 {
			t.Errorf("after %d s a reader has skipped %d removed entries", at, store.skipped)
		}
		if n := f.rt.runHeld(); n != step.verified || (store.skipped > 0) != (step.verified > 0) {
			t.Errorf("after %d s: verified %d times, want %d; %d removed entries were read", at, n, step.verified, store.skipped)
		}
	}
}

// failing is a store whose ListEntries always fails.
type failing struct{ timeline.Store }

func (failing) ListEntries(context.Context, timeline.Partition, timeline.Slice) (timeline.Listed, error) {
	return timeline.Listed{}, &fault.Error{Code: fault.Unavailable, Msg: "the store is down"}
}

// Readers of the newest page leave a gap that has become old to a background task. If the task fails, one of
// them verifies the gap eleven seconds after it was last read, and the others still skip it.
func TestRead_NewestPageLeavesAnOldGapToABackgroundTask(t *testing.T) {
	f, store := newRemoved(t, noon-3600*second, 5000)
	f.rt.hold = true
	f.put(timeline.Entry{Created: today, ID: "a"}, true)
	f.want(timeline.Query{Size: 1})
	f.rt.runHeld()
	store.skipped = 0
	tasks := 0
	for _, pass := range []time.Duration{10 * time.Second, time.Second - 1} {
		f.rt.pass(pass)
		f.want(timeline.Query{Size: 1})
		f.store.Store = failing{store}
		tasks += f.rt.runHeld()
		f.store.Store = store
	}
	if store.skipped > 0 || tasks != 1 {
		t.Errorf("readers have read past %d removed entries and started %d tasks, want 0 and 1", store.skipped, tasks)
	}
	f.rt.pass(1)
	f.store.Store = &interrupted{Store: store, then: func() {
		if f.want(timeline.Query{Size: 1}); store.skipped > 0 {
			t.Errorf("a second reader has read past %d removed entries, too", store.skipped)
		}
	}}
	if f.want(timeline.Query{Size: 1}); store.skipped < 5000 {
		t.Errorf("only %d removed entries were read: nobody has verified the gap", store.skipped)
	}
}

// A gap of a feed in which nothing is left is verified too.
func TestRead_VerifiesAGapInAnEmptyFeed(t *testing.T) {
	f, store := newRemoved(t, noon-3600*second, 5000)
	f.rt.hold = true
	if _, err := f.store.RecordBucket(t.Context(), "f", timeline.Bucket{Day: timeline.DayOf(noon), Shards: 1}); err != nil {
		t.Fatal(err)
	}
	f.want(timeline.Query{Size: 1})
	f.rt.runHeld()
	f.rt.pass(7 * time.Second)
	store.skipped = 0
	if f.want(timeline.Query{Size: 1}); store.skipped > 0 || len(f.rt.held) != 1 {
		t.Errorf("%d removed entries were skipped, %d tasks", store.skipped, len(f.rt.held))
	}
}

// A gap behind entries that a page has read, but not shown, is verified in the background. Otherwise it would
// be forgotten, and each page would read past it.
func TestRead_VerifiesAGapJustBehindTheNewestPage(t *testing.T) {
	for _, c := range []struct {
		live, size int
		verified   bool
	}{{8, 5, true}, {12, 5, true}, {200, 5, false}} {
		f, store := newRemoved(t, noon-3600*second, 5000)
		f.rt.hold = true
		f.put(timeline.Entry{Created: today, ID: "oldest"}, true)
		for n := range c.live {
			f.put(timeline.Entry{Created: noon - 60*second + clock.Instant(n), ID: fmt.Sprint(n)}, true)
		}
		f.want(timeline.Query{Size: 250})
		f.rt.runHeld()
		f.rt.pass(7 * time.Second)
		store.skipped = 0
		f.want(timeline.Query{Size: c.size})
		if n := f.rt.runHeld(); (n == 1) != c.verified || (store.skipped > 0) != c.verified {
			t.Errorf("%d entries before the gap: %d tasks, which have read %d removed entries", c.live, n, store.skipped)
		}
		f.rt.pass(5 * time.Second)
		store.skipped = 0
		if f.want(timeline.Query{Size: c.size}); c.verified && store.skipped > 0 {
			t.Errorf("%d entries before the gap: a page has read past %d removed entries", c.live, store.skipped)
		}
	}
}

// If a page has read more than cursor.MaxPageSize entries before a gap, the verification reads up to twice as
// many as the page, so that it also reaches the gap.
func TestRead_VerifiesAGapBehindALargePage(t *testing.T) {
	for _, c := range []struct{ live, size int }{{130, 90}, {123, 60}} {
		f, store := newRemoved(t, noon-3600*second, 5000)
		f.reader = f.open() // pages of a remote store read more entries
		f.put(timeline.Entry{Created: today, ID: "oldest"}, true)
		for n := range c.live {
			f.put(timeline.Entry{Created: noon - 60*second + clock.Instant(n), ID: fmt.Sprint(n * n)}, true) // unevenly spread over the partitions
		}
		q := timeline.Query{Size: c.size}
		f.want(q)
		for range 2 {
			f.rt.pass(7 * time.Second)
			store.skipped = 0
			f.want(q)
		}
		if store.skipped == 0 {
			t.Errorf("%+v: the background task has read no removed entries: the test checks nothing", c)
		}
		f.rt.pass(6 * time.Second)
		store.skipped = 0
		if f.want(q); store.skipped > 0 {
			t.Errorf("%+v: a page has read %d removed entries", c, store.skipped)
		}
	}
}

// A page that has read past many removed entries starts a verification, which finds the gap even if it is
// behind entries that the page has read, but not shown.
func TestRead_FindsAGapJustBehindTheNewestPage(t *testing.T) {
	f, store := newRemoved(t, noon-3600*second, 5000)
	f.rt.hold = true
	f.put(timeline.Entry{Created: today, ID: "oldest"}, true)
	for n := range clock.Instant(8) {
		f.put(timeline.Entry{Created: noon - 60*second + n, ID: fmt.Sprint(n)}, true)
	}
	if f.want(timeline.Query{Size: 1}); store.skipped < 5000 {
		t.Fatalf("the page has read past %d removed entries: too few for this test", store.skipped)
	}
	f.rt.runHeld()
	store.skipped = 0
	if f.want(timeline.Query{Size: 1}); store.skipped > 0 {
		t.Errorf("the next page has read past %d removed entries", store.skipped)
	}
}

// A gap that the newest page does not reach is not verified in the background.
func TestRead_DoesNotVerifyAFarGap(t *testing.T) {
	for _, c := range []struct{ oldest, removed clock.Instant }{{today, noon - 3600*second}, {noon - 2*day - 1, noon - 2*day}} {
		f, _ := newRemoved(t, c.removed, 5000)
		f.rt.hold = true
		for n := range clock.Instant(150) {
			f.put(timeline.Entry{Created: noon - 60*second - n, ID: fmt.Sprint(n)}, true)
		}
		f.put(timeline.Entry{Created: c.oldest, ID: "a"}, true)
		f.want(timeline.Query{Size: 1, After: &timeline.Entry{Created: noon - 600*second}})
		verified := 0
		for range 12 {
			f.rt.pass(time.Second)
			f.want(timeline.Query{Size: 1})
			verified += f.rt.runHeld()
		}
		if verified != 0 {
			t.Errorf("a gap at %s was verified %d times", c.removed, verified)
		}
	}
}

// While entries are removed all the time, the gap is verified in the background every seven
// seconds, although it grows.
func TestRead_VerifiesAGrowingGapInTime(t *testing.T) {
	f, store := newRemoved(t, noon-600*second, 600_000/50)
	f.rt.hold = true
	f.put(timeline.Entry{Created: today - 9*day, ID: "a"}, true)
	f.put(timeline.Entry{Created: noon - 700*second, ID: "b"}, true)
	f.put(timeline.Entry{Created: noon - 700*second, ID: "c"}, true)
	f.want(timeline.Query{Size: 1})
	verified := 0
	for range 70 {
		f.rt.pass(time.Second)
		for n := range clock.Instant(20) {
			store.removed = append(store.removed, timeline.Entry{Created: clock.Of(f.rt.Now()) - n*50_000 - 1, ID: "x"})
		}
		store.skipped = 0
		f.want(timeline.Query{Size: 1})
		if store.skipped/4 > 20*4 {
			t.Errorf("a page has skipped %d removed entries", store.skipped/4)
		}
		verified += f.rt.runHeld()
	}
	if verified < 8 || verified > 11 {
		t.Errorf("verified %d times in 70 s", verified)
	}
}

// A gap is kept for ten seconds from the start of the read that has found it, because that read may take a long
// time.
func TestRead_CountsTheAgeOfAGapFromTheStartOfTheRead(t *testing.T) {
	f, store := newRemoved(t, noon-3600*second, 5000)
	f.rt.hold = true
	f.put(timeline.Entry{Created: today, ID: "a"}, true)
	f.store.Store = &afterSlices{Store: store, remaining: 1, then: func() { f.rt.pass(4 * time.Second) }}
	f.want(timeline.Query{Size: 1})
	fromOldest := timeline.Query{Size: 1, Newer: true} // the newest page would leave the gap to a background task
	for _, at := range []struct {
		pass    time.Duration
		skipped bool
	}{{6*time.Second - 1, false}, {1, true}} {
		f.rt.pass(at.pass)
		store.skipped = 0
		if f.want(fromOldest); store.skipped > 0 != at.skipped {
			t.Errorf("%s later, %d removed entries were skipped", at.pass, store.skipped)
		}
	}
}

// A background task pauses before it reads, so that it does not take the core of the page that has
// started it.
func TestRefresh_PausesBeforeItReads(t *testing.T) {
	f := newForecast(t)
	f.fill(2000, noon-3600*second, noon+8*second)
	f.page(timeline.Query{Size: 20})
	f.run()
	f.pass(8 * time.Second)
	f.page(timeline.Query{Size: 20}) // skips a gap that was forecast
	pauses := 0
	f.rt.pausing = func(d time.Duration) {
		pauses++
		if n := f.store.slices.Load(); d != 10*time.Millisecond || pauses == 1 && n > 0 {
			t.Errorf("a pause of %s after %d slices", d, n)
		}
	}
	if tasks, n := f.run(); tasks == 0 || pauses != tasks || n == 0 {
		t.Errorf("%d tasks, %d pauses, %d slices", tasks, pauses, n)
	}
}

// A verification does not renew a gap that it has not reached.
func TestRefresh_RenewsOnlyWhatItHasRead(t *testing.T) {
	f, store := newRemoved(t, noon-3600*second, 5000)
	f.rt.hold = true
	f.feeds = f.reader
	for n := range clock.Instant(5000) {
		store.removed = append(store.removed, timeline.Entry{Created: noon - 600*second + n*1000, ID: "x"})
	}
	f.put(timeline.Entry{Created: noon - 3601*second, ID: "oldest"}, true)
	for n := range 150 {
		f.put(timeline.Entry{Created: noon - 1000*second + clock.Instant(n), ID: fmt.Sprint(n)}, true)
	}
	f.put(timeline.Entry{Created: noon - 60*second, ID: "newest"}, true)
	far := timeline.Query{Size: 1, After: &timeline.Entry{Created: noon - 1000*second}}
	for range 3 { // a walk may note another span first; see endEmpty
		f.want(timeline.Query{Size: 1})
		f.want(far)
	}
	f.rt.runHeld()
	f.rt.pass(8 * time.Second)
	f.want(timeline.Query{Size: 1})
	if n := f.rt.runHeld(); n != 1 {
		t.Fatalf("%d verifications, want 1", n)
	}
	for _, c := range []struct {
		pass    time.Duration
		query   timeline.Query
		renewed bool
	}{{2 * time.Second, far, false}, {2 * time.Second, timeline.Query{Size: 1}, true}} {
		f.rt.pass(c.pass)
		store.skipped = 0
		if f.want(c.query); store.skipped == 0 != c.renewed {
			t.Errorf("want the gap renewed: %t; %d removed entries were skipped", c.renewed, store.skipped)
		}
	}
}

// A verification also renews gaps that are not due yet, but would be old before the next one ends.
func TestRefresh_RenewsAGapThatIsDueSoon(t *testing.T) {
	f, store := newRemoved(t, noon-3600*second, 5000)
	f.rt.hold = true
	f.put(timeline.Entry{Created: today, ID: "oldest"}, true)
	f.put(timeline.Entry{Created: noon - 1000*second, ID: "between"}, true)
	f.put(timeline.Entry{Created: noon - 60*second, ID: "newest"}, true)
	page := func(after time.Duration) int {
		f.rt.pass(after)
		store.skipped = 0
		f.want(timeline.Query{Size: 5})
		return store.skipped
	}
	page(0)
	f.rt.runHeld()
	for n := range clock.Instant(5000) {
		store.removed = append(store.removed, timeline.Entry{Created: noon - 600*second + n*1000, ID: "x"})
	}
	page(500 * time.Millisecond)
	page(6500 * time.Millisecond)
	store.skipped = 0
	if f.rt.runHeld(); store.skipped/4 != 10_000 { // the day has four partitions
		t.Errorf("a verification has read past %d removed entries, want all", store.skipped/4)
	}
	for _, after := range []time.Duration{4600 * time.Millisecond, time.Second} {
		if n := page(after); n != 0 {
			t.Errorf("a page has read past %d removed entries", n)
		}
	}
}

// A verification skips a gap that was found a short time ago.
func TestRefresh_SkipsAYoungGap(t *testing.T) {
	f, store := newRemoved(t, noon-3600*second, 5000)
	f.rt.hold = true
	f.put(timeline.Entry{Created: today, ID: "oldest"}, true)
	f.put(timeline.Entry{Created: noon - 60*second, ID: "newest"}, true)
	f.want(timeline.Query{Size: 5})
	store.skipped = 0
	if n := f.rt.runHeld(); n != 1 || store.skipped > 0 {
		t.Errorf("%d tasks have read past %d removed entries, want one and none", n, store.skipped)
	}
}

// A verification cuts an entry out of a gap that a slower page has noted after the verification has read the
// entry. Otherwise it would renew the gap, and so hide the entry for longer.
func TestRefresh_CutsEntriesOutOfGapsNotedMeanwhile(t *testing.T) {
	f, store := newRemoved(t, noon-3600*second, 5000)
	f.rt.hold = true
	for n := range clock.Instant(200) { // 100 of them today
		f.put(timeline.Entry{Created: noon - 60*second - n*second - n/100*day, ID: fmt.Sprint(n)}, true)
	}
	f.put(timeline.Entry{Created: today, ID: "before the gap"}, true)
	f.want(timeline.Query{Size: 150})
	f.rt.runHeld()
	f.rt.pass(7 * time.Second)
	f.want(timeline.Query{Size: 150}) // reaches the gap, which is due

	// Others have removed entries that were newer. A page reads past them.
	for n := range clock.Instant(5000) {
		store.removed = append(store.removed, timeline.Entry{Created: noon - 59*second + 10_000*n, ID: "y"})
	}
	read, resume, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	f.store.Store = &afterSlices{Store: store, remaining: 4, then: func() { close(read); <-resume }}
	go func() {
		_, err := timeline.Read(t.Context(), f.reader, "f", timeline.Query{Size: 20}, f.resolve)
		ended <- err
	}()
	<-read
	f.rt.pass(2 * time.Second)
	late := timeline.Entry{Created: noon - 30*second, ID: "late"}
	if err := f.open().Put(t.Context(), "f", late, 1000); err != nil {
		t.Fatal(err)
	}
	f.shown = append(f.shown, late)
	// The verification takes 101 entries, which are all of today but one, before it reads the day before.
	f.store.Store = &beforeDay{Store: store, day: timeline.DayOf(noon - day), then: func() {
		close(resume)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		resume = nil
	}}
	if f.rt.runHeld(); resume != nil {
		t.Fatal("the verification did not read the day before")
	}
	f.want(timeline.Query{Size: 20})
}

// beforeDay is a store that calls a function before the first slice of a day is read.
type beforeDay struct {
	timeline.Store
	day  timeline.Day
	then func()
}

func (b *beforeDay) ListEntries(ctx context.Context, p timeline.Partition, s timeline.Slice) (timeline.Listed, error) {
	if then := b.then; then != nil && p.Day == b.day {
		b.then = nil
		then()
	}
	return b.Store.ListEntries(ctx, p, s)
}

// A gap that nobody verifies is not used for more than twelve seconds, even while others read the
// feed.
func TestRead_DropsAGapThatNobodyVerifies(t *testing.T) {
	f, _ := newRemoved(t, noon-3600*second, 5000)
	f.rt.hold = true
	f.put(timeline.Entry{Created: today, ID: "a"}, true)
	f.want(timeline.Query{Size: 1})
	late := timeline.Entry{Created: noon - 3600*second + 1, ID: "late"}
	if err := f.open().Put(t.Context(), "f", late, 10); err != nil {
		t.Fatal(err)
	}
	elsewhere := timeline.Query{Size: 1, After: &timeline.Entry{Created: today + 1}}
	for _, d := range []time.Duration{10_100 * time.Millisecond, 1800 * time.Millisecond, 250 * time.Millisecond} {
		f.rt.pass(d)
		f.read(elsewhere)
	}
	f.shown = append(f.shown, late)
	f.want(timeline.Query{Size: 1})
}
