package feed_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/feed"
	"carrel/core/sched"
	"carrel/test/simulator"
)

// day is the length of a day in microseconds.
const day = clock.Instant(24 * time.Hour / time.Microsecond)

// today is the beginning of the day of these tests.
const today = 20_000 * day

// manualClock is the real runtime with clocks that the test sets.
type manualClock struct {
	*sched.Real
	now, elapsed atomic.Int64
}

// pass advances both clocks.
func (c *manualClock) pass(d time.Duration) {
	c.now.Add(d.Microseconds())
	c.elapsed.Add(int64(d))
}

func (c *manualClock) Now() time.Time { return clock.Instant(c.now.Load()).Time() }

func (c *manualClock) Elapsed() time.Duration { return time.Duration(c.elapsed.Load()) }

// countingStore is a store that counts its calls.
type countingStore struct {
	feed.Store
	slices, lists, recorded atomic.Int64
	// listed and daysListed, if set, are called when a slice, or the days, were listed.
	listed     func() error
	daysListed func()
}

func (c *countingStore) ListEntries(ctx context.Context, p feed.Partition, s feed.Slice) ([]feed.Entry, error) {
	c.slices.Add(1)
	es, err := c.Store.ListEntries(ctx, p, s)
	if c.listed != nil {
		err = errors.Join(err, c.listed())
	}
	return es, err
}

func (c *countingStore) ListBuckets(ctx context.Context, feed feed.Feed) ([]feed.Bucket, error) {
	c.lists.Add(1)
	days, err := c.Store.ListBuckets(ctx, feed)
	if c.daysListed != nil {
		c.daysListed()
	}
	return days, err
}

func (c *countingStore) RecordBucket(ctx context.Context, feed feed.Feed, b feed.Bucket) (feed.Bucket, error) {
	c.recorded.Add(1)
	return c.Store.RecordBucket(ctx, feed, b)
}

// fixture is a feed with a plain model of it.
type fixture struct {
	*testing.T
	rt    *manualClock
	store *countingStore
	feeds *feed.Timelines
	// reader, if set, reads all pages; otherwise each is read by a process of its own.
	reader *feed.Timelines
	// shown are the entries that pages must show, and hidden are the others that have not expired.
	shown, hidden []feed.Entry
	mu            sync.Mutex // protects checked, because both sides of a page are read concurrently
	checked       int
	mts           clock.Instant // of the last put
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, rt: &manualClock{Real: sched.NewReal()},
		store: &countingStore{Store: simulator.NewClient(simulator.NewStore(nil), nil).Feeds}}
	t.Cleanup(f.rt.Close)
	f.rt.now.Store(int64(today + day/2))
	f.feeds = f.open()
	return f
}

// open returns the feeds of a new process.
func (f *fixture) open() *feed.Timelines {
	return feed.New(feed.Config{Store: f.store, Runtime: f.rt, Remote: true})
}

func (f *fixture) put(e feed.Entry, shown bool) {
	f.Helper()
	f.mts++
	if err := f.feeds.Put(f.Context(), "f", e, f.mts); err != nil {
		f.Fatal(err)
	}
	switch {
	case e.Until != 0 && e.Until <= clock.Of(f.rt.Now()):
	case shown:
		f.shown = append(f.shown, e)
	default:
		f.hidden = append(f.hidden, e)
	}
}

// resolve returns the items to show. It is a feed.LoadVisible.
func (f *fixture) resolve(_ context.Context, es []feed.Entry) ([]*string, error) {
	f.mu.Lock()
	f.checked += len(es)
	f.mu.Unlock()
	items := make([]*string, len(es))
	for i, e := range es {
		if slices.ContainsFunc(f.shown, func(s feed.Entry) bool { return feed.Compare(s, e) == 0 }) {
			items[i] = &es[i].ID
		}
	}
	return items, nil
}

func (f *fixture) read(q feed.Query) *feed.Page[string] {
	f.Helper()
	reader := f.reader
	if reader == nil {
		reader = feed.New(feed.Config{Store: f.store, Runtime: f.rt})
	}
	p, err := feed.Read(f.Context(), reader, "f", q, f.resolve)
	if err != nil {
		f.Fatal(err)
	}
	return p
}

// want compares a page with that of the model.
func (f *fixture) want(q feed.Query) *feed.Page[string] {
	f.Helper()
	var on []feed.Entry
	other := false
	for _, e := range f.shown {
		switch {
		case q.After == nil || q.Newer == (feed.Compare(e, *q.After) > 0) && feed.Compare(e, *q.After) != 0:
			on = append(on, e)
		default:
			other = true
		}
	}
	slices.SortFunc(on, feed.Compare)
	if !q.Newer {
		slices.Reverse(on)
	}
	more := len(on) > q.Size
	on = on[:min(len(on), q.Size)]
	if q.Newer {
		slices.Reverse(on)
	}
	p := f.read(q)
	var got []feed.Entry
	for _, found := range p.Found {
		got = append(got, found.Entry)
		if *found.Item != found.Entry.ID {
			f.Errorf("%v shows %s", found.Entry, *found.Item)
		}
	}
	if diff := cmp.Diff(append([]feed.Entry(nil), on...), got); diff != "" {
		f.Fatalf("the page %+v (-want +got):\n%s", q, diff)
	}
	older, newer := more, other
	if q.Newer {
		older, newer = other, more
	}
	if p.HasOlder != older || p.HasNewer != newer {
		f.Fatalf("the page %+v: has older %t, newer %t; want %t, %t", q, p.HasOlder, p.HasNewer, older, newer)
	}
	switch {
	case len(got) > 0 && (feed.Compare(*p.Newest, got[0]) != 0 || feed.Compare(*p.Oldest, got[len(got)-1]) != 0):
		f.Errorf("the page %+v is from %v to %v", q, p.Newest, p.Oldest)
	case len(got) == 0 && (p.Newest != q.After || p.Oldest != q.After):
		f.Errorf("the empty page %+v is from %v to %v", q, p.Newest, p.Oldest)
	}
	return p
}

// TestRead_MatchesAModel reads pages of random feeds, in both directions from every kind of
// position.
func TestRead_MatchesAModel(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f, random := newFixture(t), rand.New(rand.NewPCG(seed, 1))
			days := clock.Instant(1 + random.IntN(40))
			var positions []feed.Entry
			for n := range random.IntN(200) {
				e := feed.Entry{Created: today - day*clock.Instant(random.Int64N(int64(days))) + clock.Instant(random.IntN(5)), ID: fmt.Sprint(n)}
				if random.IntN(8) == 0 {
					e.Until = today + day/2 + clock.Instant(random.IntN(2))
				}
				f.put(e, random.IntN(4) != 0)
				positions = append(positions, e)
			}
			positions = append(positions, feed.Entry{Created: today - 1}, feed.Entry{Created: today + 3, ID: "50"}, feed.Entry{Created: today + day})
			for _, size := range []int{0, 1, 2, 7, 20, 100} {
				for _, newer := range []bool{false, true} {
					f.want(feed.Query{Size: size, Newer: newer})
					for range 5 {
						position := positions[random.IntN(len(positions))]
						f.want(feed.Query{Size: size, Newer: newer, After: &feed.Entry{Created: position.Created, ID: position.ID}})
					}
				}
			}
		})
	}
}

// TestRead_WalksShowEachEntryOnce walks from both ends.
func TestRead_WalksShowEachEntryOnce(t *testing.T) {
	f := newFixture(t)
	for n := range 150 {
		f.put(feed.Entry{Created: today - day*clock.Instant(n/40), ID: fmt.Sprint(n)}, n%3 != 0)
	}
	for _, newer := range []bool{false, true} {
		met := map[string]int{}
		q := feed.Query{Size: 7, Newer: newer}
		for pages := 0; ; pages++ {
			p := f.want(q)
			for _, found := range p.Found {
				met[found.Entry.ID]++
			}
			if q.After = p.Oldest; newer {
				q.After = p.Newest
			}
			if newer && !p.HasNewer || !newer && !p.HasOlder || pages > 100 {
				break
			}
		}
		if len(met) != len(f.shown) {
			t.Errorf("newer %t: %d of %d were shown", newer, len(met), len(f.shown))
		}
		for id, n := range met {
			if n != 1 {
				t.Errorf("newer %t: %s was shown %d times", newer, id, n)
			}
		}
	}
}

// A page that is cut short returns where to continue.
func TestRead_ManyHiddenEntriesCutThePageShort(t *testing.T) {
	f := newFixture(t)
	f.put(feed.Entry{Created: today, ID: "oldest"}, true)
	for n := range feed.MaxScanned + 50 {
		f.put(feed.Entry{Created: today + 1 + clock.Instant(n), ID: fmt.Sprint("hidden ", n)}, false)
	}
	p := f.read(feed.Query{Size: 5})
	if len(p.Found) != 0 || !p.HasOlder || p.HasNewer || p.Oldest == nil {
		t.Fatalf("the first page: %+v", p)
	}
	if f.checked < feed.MaxScanned || f.checked > feed.MaxScanned+8 {
		t.Errorf("%d were checked", f.checked)
	}
	p = f.read(feed.Query{Size: 5, After: p.Oldest})
	if len(p.Found) != 1 || p.HasOlder || *p.Found[0].Item != "oldest" {
		t.Errorf("the second page: %+v", p)
	}
}

// The row of an entry is read only until the entry expires.
func TestRead_DoesNotReadRowsOfExpiredEntries(t *testing.T) {
	f := newFixture(t)
	now := clock.Of(f.rt.Now())
	f.put(feed.Entry{Created: today, ID: "a", Until: now + 1}, true)
	f.put(feed.Entry{Created: today, ID: "b", Until: now}, true)
	f.put(feed.Entry{Created: today, ID: "c", Until: now - 1}, true)
	f.want(feed.Query{Size: 5})
	if f.checked != 1 {
		t.Errorf("%d entries were checked, want 1", f.checked)
	}
}

// A page of a feed with many entries a day reads each partition once, and checks its entries
// once.
func TestRead_TakesOneRoundTrip(t *testing.T) {
	f := newFixture(t)
	for n := range 400 {
		f.put(feed.Entry{Created: today + clock.Instant(n), ID: fmt.Sprint(n)}, true)
	}
	f.read(feed.Query{Size: 20})
	f.store.slices.Store(0)
	f.checked = 0
	f.want(feed.Query{Size: 20})
	if n := f.store.slices.Load(); n != 4 || f.checked != 21 {
		t.Errorf("%d slices, %d checked; want 4, 21", n, f.checked)
	}
}

// TestRead_FindsDaysOfOtherProcesses: the first entry of a day that another process has put, today or long ago, is
// on the newest page after 1.5 seconds, and the days are listed no more often than every half second.
func TestRead_FindsDaysOfOtherProcesses(t *testing.T) {
	f := newFixture(t)
	f.reader = f.open()
	f.put(feed.Entry{Created: today - 2*day, ID: "before"}, true)
	f.want(feed.Query{Size: 10})
	for _, at := range []clock.Instant{today - day, today, today - 9*day, today + day} {
		if _, err := f.reader.Since(t.Context(), "f", feed.Entry{Created: today}, 1); err != nil {
			t.Fatal(err)
		}
		f.rt.pass(500*time.Millisecond - 1)
		lists := f.store.lists.Load()
		f.read(feed.Query{Size: 10, After: &feed.Entry{Created: today - 2*day}})
		if n := f.store.lists.Load() - lists; n != 0 {
			t.Errorf("the days are listed %d times within half a second", n)
		}
		f.put(feed.Entry{Created: at, ID: "late"}, true)
		f.read(feed.Query{Size: 10})
		f.rt.pass(1500 * time.Millisecond)
		f.want(feed.Query{Size: 10})
	}
}

// TestRead_ShowsADayBegunWhileTheDaysAreListed: a page shows the first entry of a day that this process has put while
// it was listing the days.
func TestRead_ShowsADayBegunWhileTheDaysAreListed(t *testing.T) {
	for _, remote := range []bool{false, true} {
		f := newFixture(t)
		f.put(feed.Entry{Created: today - day, ID: "yesterday"}, true)
		f.feeds = feed.New(feed.Config{Store: f.store, Runtime: f.rt, Remote: remote})
		f.reader = f.feeds
		f.store.daysListed = func() {
			f.store.daysListed = nil
			f.put(feed.Entry{Created: today, ID: "today"}, true)
		}
		f.read(feed.Query{Size: 5})
		f.want(feed.Query{Size: 5})
		f.want(feed.Query{Size: 5, Newer: true})
	}
}

// A local store has no other writers, so its days are not listed again to find today's.
func TestRead_ListsTheDaysOfALocalStoreOnce(t *testing.T) {
	f := newFixture(t)
	f.reader = feed.New(feed.Config{Store: f.store, Runtime: f.rt})
	f.feeds = f.reader
	f.put(feed.Entry{Created: today - 3*day, ID: "old"}, true)
	f.want(feed.Query{Size: 10})
	lists := f.store.lists.Load()
	f.want(feed.Query{Size: 10})
	if n := f.store.lists.Load() - lists; n != 0 {
		t.Errorf("a page lists the days %d times", n)
	}
	f.put(feed.Entry{Created: today, ID: "new"}, true)
	if p := f.want(feed.Query{Size: 10}); len(p.Found) != 2 {
		t.Errorf("%d entries, want that of today too", len(p.Found))
	}
}

// A Put that arrives after a Drop with a greater timestamp adds nothing, even if the Drop was the first write
// on its day.
func TestPut_LosesToALaterDropOnANewDay(t *testing.T) {
	f := newFixture(t)
	e := feed.Entry{Created: today, ID: "x"}
	if err := f.feeds.Drop(t.Context(), "f", e, 10); err != nil {
		t.Fatal(err)
	}
	if err := f.feeds.Put(t.Context(), "f", e, 9); err != nil {
		t.Fatal(err)
	}
	if _, found, err := f.feeds.Find(t.Context(), "f", e); err != nil || found {
		t.Errorf("found: %t, %v", found, err)
	}
}

func TestFind_ReturnsNoOtherEntryOfTheInstant(t *testing.T) {
	f := newFixture(t)
	f.feeds = feed.New(feed.Config{Store: f.store, Runtime: f.rt}) // a day has one partition
	f.put(feed.Entry{Created: today, ID: "a"}, true)
	for id, want := range map[string]bool{"a": true, "b": false} {
		if e, found, err := f.feeds.Find(t.Context(), "f", feed.Entry{Created: today, ID: id}); err != nil || found != want {
			t.Errorf("of %s it finds %v, %t, %v", id, e, found, err)
		}
	}
}

// Days begin at midnight in UTC, before 1970 too.
func TestDayOf_BeginsAtMidnightUTC(t *testing.T) {
	for at, want := range map[clock.Instant]feed.Day{0: 0, day - 1: 0, day: 1, -1: -1, -day: -1, -day - 1: -2, today: 20_000} {
		if got := feed.DayOf(at); got != want {
			t.Errorf("the day of %s is %d, want %d", at, got, want)
		}
	}
}
