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
	"testing/synctest"
	"time"

	"carrel/core/clock"
	"carrel/core/feed"
	"carrel/core/sched"
)

// headSize is the number of entries of a head, and maxPuts that of those that may be added to it.
const headSize, maxPuts = 256, 256

// ids returns the ids on a page.
func ids(p *feed.Page[string]) []string {
	var all []string
	for _, found := range p.Found {
		all = append(all, found.Entry.ID)
	}
	return all
}

// TestRead_NewestPagesReadTheHeadOnce: newest pages of any size read the feed only once a second, but check the rows
// of their entries each time.
func TestRead_NewestPagesReadTheHeadOnce(t *testing.T) {
	for _, remote := range []bool{false, true} {
		f := newFixture(t)
		for n := range 2 * headSize {
			f.put(feed.Entry{Created: today + clock.Instant(n), ID: fmt.Sprint(n)}, n%3 > 0)
		}
		f.reader = feed.New(feed.Config{Store: f.store, Runtime: f.rt, Remote: remote})
		for range 3 {
			f.store.slices.Store(0)
			f.want(feed.Query{Size: 20})
			for range 3 {
				f.rt.pass(time.Second/3 - 1)
				f.shown = f.shown[:len(f.shown)-1] // only the row tells
				f.want(feed.Query{Size: 1})
				f.want(feed.Query{Size: 100})
			}
			if n := f.store.slices.Load(); n != 4 {
				t.Errorf("remote %t: %d slices within a second, want 4", remote, n)
			}
			f.rt.pass(time.Second)
		}
	}
}

// TestRead_ShowsOwnEntriesAtOnce: an entry is on the next page of the process that has put it, wherever it is.
func TestRead_ShowsOwnEntriesAtOnce(t *testing.T) {
	for _, existing := range []int{0, 50, headSize, 3 * headSize} {
		f := newFixture(t)
		for n := range existing {
			f.put(feed.Entry{Created: today + clock.Instant(2*n), ID: fmt.Sprint(n)}, n%50 == 0)
		}
		f.reader = f.feeds
		for _, at := range []int{2*existing + 1, 2*existing - 3, existing, 1, -int(2 * day)} {
			f.want(feed.Query{Size: 100})
			f.put(feed.Entry{Created: today + clock.Instant(at), ID: fmt.Sprint("new ", f.mts)}, true)
			f.want(feed.Query{Size: 100})
		}
		for n := range maxPuts + 10 {
			f.put(feed.Entry{Created: today + clock.Instant(7*n), ID: fmt.Sprint("one of many ", n)}, true)
			if n%20 == 0 || n >= maxPuts-2 {
				f.want(feed.Query{Size: 100})
			}
		}
	}
}

// TestRead_ShowsAnEntryThatIsPutAgain: if this process puts an entry again with another expiry, the next page shows it
// once, until it expires according to its row. It does so for the last entry of the head, too.
func TestRead_ShowsAnEntryThatIsPutAgain(t *testing.T) {
	for _, newer := range []int{1, headSize - 1} {
		f := newFixture(t)
		f.reader = f.feeds
		now := clock.Of(f.rt.Now())
		e := feed.Entry{Created: today, ID: "x", Until: now + 5}
		f.put(feed.Entry{Created: today - 1, ID: "older"}, true)
		for n := range newer {
			f.put(feed.Entry{Created: today + 1 + clock.Instant(n), ID: fmt.Sprint(n)}, true)
		}
		for _, until := range []clock.Instant{now + 5, now + 20, now + 10} { // the last put arrives late
			e.Until = until
			f.put(e, true)
			f.read(feed.Query{Size: 9})
		}
		f.rt.pass(15 * time.Microsecond)
		if got := ids(f.read(feed.Query{Size: 2 * headSize})); !slices.Equal(got[newer-1:], []string{"0", "x", "older"}) {
			t.Errorf("after %d newer entries the page has %v", newer, got[newer-1:])
		}
	}
}

// TestRead_ShowsEntriesPutDuringARead: an entry that this process puts while the head is being read is on the pages that
// begin after it, also on one that waits for that read.
func TestRead_ShowsEntriesPutDuringARead(t *testing.T) {
	for _, many := range []int{1, maxPuts + 1, maxPuts + 5} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			f.put(feed.Entry{Created: today, ID: "first"}, true)
			f.reader = feed.New(feed.Config{Store: f.store, Runtime: f.rt})
			f.feeds = f.reader
			pages := make([]*feed.Page[string], 3)
			var waiting sync.WaitGroup
			f.store.listed = func() error {
				if f.store.slices.Load() < 4 {
					return nil // until the last partition was read
				}
				f.store.listed = nil
				for n := range many {
					f.put(feed.Entry{Created: today + 1 + clock.Instant(n), ID: fmt.Sprint(n)}, true)
				}
				f.rt.pass(1)
				for i := range pages {
					waiting.Go(func() { pages[i] = f.read(feed.Query{Size: 1}) })
				}
				synctest.Wait()
				return nil
			}
			f.read(feed.Query{Size: 1})
			waiting.Wait()
			for _, p := range append(pages, f.read(feed.Query{Size: 1})) {
				if got := ids(p); !slices.Equal(got, []string{fmt.Sprint(many - 1)}) {
					t.Errorf("after %d puts the page has %v", many, got)
				}
			}
		})
	}
}

// TestRead_OneReaderReadsTheHead: pages that begin together read the feed once. If that takes longer than a head is
// kept, those that began too late for it share one more read.
func TestRead_OneReaderReadsTheHead(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		reads int64
	}{{time.Second / 2, 1}, {2 * time.Second, 2}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			f.put(feed.Entry{Created: today, ID: "x"}, true)
			f.reader = feed.New(feed.Config{Store: f.store, Runtime: f.rt})
			var waiting sync.WaitGroup
			f.store.listed = func() error {
				f.store.listed = nil
				for range 3 {
					for range 20 {
						waiting.Go(func() { f.read(feed.Query{Size: 1}) })
					}
					synctest.Wait()
					f.rt.pass(c.takes / 2)
				}
				return nil
			}
			f.read(feed.Query{Size: 1})
			waiting.Wait()
			if n := f.store.slices.Load(); n != 4*c.reads {
				t.Errorf("%d slices, want those of %d reads", n, c.reads)
			}
		})
	}
}

// TestRead_CountsTheAgeOfAHeadFromTheStartOfItsRead: an entry that another process puts during a long read of the head is
// on the page in time.
func TestRead_CountsTheAgeOfAHeadFromTheStartOfItsRead(t *testing.T) {
	f := newFixture(t)
	f.put(feed.Entry{Created: today, ID: "first"}, true)
	f.store.listed = func() error {
		if f.store.slices.Load() < 4 {
			return nil // until the last partition was read
		}
		f.store.listed = nil
		f.put(feed.Entry{Created: today + 1, ID: "of another process"}, true)
		f.rt.pass(900 * time.Millisecond)
		return nil
	}
	f.reader = feed.New(feed.Config{Store: f.store, Runtime: f.rt})
	f.read(feed.Query{Size: 5})
	f.rt.pass(feed.ShownWithin - 900*time.Millisecond)
	f.want(feed.Query{Size: 5})
}

// TestRead_AfterAFailedRead: a page whose read of the head fails returns the error. The next one reads the head again,
// and misses nothing.
func TestRead_AfterAFailedRead(t *testing.T) {
	f := newFixture(t)
	f.put(feed.Entry{Created: today, ID: "x"}, true)
	f.reader = f.feeds
	failure := errors.New("no answer")
	for range 2 {
		f.want(feed.Query{Size: 5})
		f.rt.pass(time.Second)
		f.store.listed = func() error { return failure }
		if _, err := feed.Read(t.Context(), f.reader, "f", feed.Query{Size: 5}, f.resolve); !errors.Is(err, failure) {
			t.Errorf("the page fails with %v", err)
		}
		f.store.listed = func() error { panic("a bug") }
		func() {
			defer func() { _ = recover() }()
			_, _ = feed.Read(t.Context(), feed.New(feed.Config{Store: f.store, Runtime: f.rt}), "f", feed.Query{Size: 5}, f.resolve)
		}()
		f.store.listed = nil
		f.put(feed.Entry{Created: today - 1, ID: fmt.Sprint(f.mts)}, true)
		f.want(feed.Query{Size: 5})
	}
}

// TestRead_ReadsExpiredEntriesOnce: after very many entries have expired at once, one page reads past them, and those
// after it do not, also if the head was read just before.
func TestRead_ReadsExpiredEntriesOnce(t *testing.T) {
	f := newFixture(t)
	end := clock.Of(f.rt.Now()) + 10
	for n := range 5000 {
		e := feed.Entry{Created: today + clock.Instant(n), ID: fmt.Sprint(n)}
		if n >= 100 {
			e.Until = end
		}
		f.put(e, true)
	}
	f.reader = f.open()
	f.want(feed.Query{Size: 20})
	f.rt.pass(10 * time.Microsecond)
	f.shown = f.shown[:100]
	for i := range 3 {
		f.store.slices.Store(0)
		f.checked = 0
		f.want(feed.Query{Size: 20})
		if n := f.store.slices.Load(); (n > 0) != (i == 0) || f.checked != 21 {
			t.Errorf("page %d reads %d slices, and checks %d entries", i, n, f.checked)
		}
	}
}

// TestRead_GoesOnBehindTheHead: a page goes on behind the head if too few of its entries are shown.
func TestRead_GoesOnBehindTheHead(t *testing.T) {
	f := newFixture(t)
	for n := range 5 * headSize {
		f.put(feed.Entry{Created: today - clock.Instant(n/headSize)*day + clock.Instant(n%headSize), ID: fmt.Sprint(n)}, n%headSize%60 == 0)
	}
	f.reader = f.feeds
	for _, size := range []int{1, 3, 4, 5, 6, 20, 100} {
		f.want(feed.Query{Size: size})
	}
}

// TestRead_ShowsAnEntryOfTheInstantOfRemovedOnes: entries that were created in the same microsecond are removed one by
// one, and put again. A page shows the others.
func TestRead_ShowsAnEntryOfTheInstantOfRemovedOnes(t *testing.T) {
	f := newFixture(t)
	f.reader = f.open()
	at := func(n int) feed.Entry { return feed.Entry{Created: today, ID: fmt.Sprint(n)} }
	for n := range 40 {
		f.put(at(n), true)
	}
	for n := range 40 {
		f.mts++
		if err := f.feeds.Drop(t.Context(), "f", at(n), f.mts); err != nil {
			t.Fatal(err)
		}
		f.shown = slices.DeleteFunc(f.shown, func(e feed.Entry) bool { return e.ID == at(n).ID })
		f.rt.pass(time.Second)
		f.want(feed.Query{Size: 100})
		f.want(feed.Query{Size: 100, After: &feed.Entry{Created: today + 1}})
		if n%2 == 0 {
			f.put(at(n), true)
			f.rt.pass(time.Second)
			f.want(feed.Query{Size: 100})
		}
	}
}

// TestRead_ManyFeeds: a process reads more feeds than it keeps heads of.
func TestRead_ManyFeeds(t *testing.T) {
	f := newFixture(t)
	for round := range 2 {
		for n := range 250 {
			list := feed.Feed(fmt.Sprint("feed ", n))
			for i := range 2 {
				e := feed.Entry{Created: today + clock.Instant(2*round+i), ID: fmt.Sprintf("%d of %s", 2*round+i, list)}
				if err := f.feeds.Put(t.Context(), list, e, 1); err != nil {
					t.Fatal(err)
				}
				f.shown = []feed.Entry{e}
				p, err := feed.Read(t.Context(), f.feeds, list, feed.Query{Size: 5}, f.resolve)
				if err != nil || !slices.Equal(ids(p), []string{e.ID}) {
					t.Fatalf("%s shows %v, %v", list, ids(p), err)
				}
			}
		}
	}
}

// TestRead_HeadsMatchAModel changes random feeds in two processes while time passes. The newest page of each shows what
// it has put itself, and what the other one had put 1.5 seconds before, and nothing that its row does not show.
func TestRead_HeadsMatchAModel(t *testing.T) {
	for seed := range uint64(100) {
		f, random := newFixture(t), rand.New(rand.NewPCG(seed, 2))
		processes := []*feed.Timelines{f.open(), f.open()}
		type put struct {
			feed.Entry
			by int
			at time.Duration
		}
		var puts []put
		rows := map[string]clock.Instant{} // when the rows that are shown expire; 0 if never
		resolve := func(_ context.Context, es []feed.Entry) ([]*string, error) {
			items := make([]*string, len(es))
			for i, e := range es {
				if until, ok := rows[e.ID]; ok && (until == 0 || until > clock.Of(f.rt.Now())) {
					items[i] = &es[i].ID
				}
			}
			return items, nil
		}
		for mts := range clock.Instant(400) {
			by := random.IntN(2)
			switch random.IntN(5) {
			case 0, 1:
				e := feed.Entry{Created: today - day*clock.Instant(random.IntN(3)) + clock.Instant(random.IntN(40))}
				e.ID = fmt.Sprint(e.Created, " ", random.IntN(2))
				if random.IntN(3) == 0 {
					e.Until = clock.Of(f.rt.Now()) + clock.Instant(random.IntN(3_000_000))
				}
				if err := processes[by].Put(t.Context(), "f", e, mts); err != nil {
					t.Fatal(err)
				}
				rows[e.ID] = e.Until
				puts = append(slices.DeleteFunc(puts, func(p put) bool { return p.ID == e.ID }), put{e, by, f.rt.Elapsed()})
			case 2:
				if len(puts) > 0 {
					e := puts[random.IntN(len(puts))]
					delete(rows, e.ID)
					if err := processes[by].Drop(t.Context(), "f", e.Entry, mts); err != nil {
						t.Fatal(err)
					}
				}
			case 3:
				f.rt.pass(time.Duration(random.IntN(700)) * time.Millisecond)
			case 4:
				p, err := feed.Read(t.Context(), processes[by], "f", feed.Query{Size: 1000}, resolve)
				if err != nil {
					t.Fatal(err)
				}
				got := ids(p)
				for _, e := range puts {
					until, shown := rows[e.ID]
					shown = shown && (until == 0 || until > clock.Of(f.rt.Now()))
					must := shown && (e.by == by || f.rt.Elapsed()-e.at >= feed.ShownWithin)
					if has := slices.Contains(got, e.ID); has && !shown || must && !has {
						t.Fatalf("seed %d: the page of %d has %v: %+v is there: %t, is shown: %t", seed, by, got, e, has, shown)
					}
				}
				descends := func(a, b feed.Found[string]) int { return feed.Compare(b.Entry, a.Entry) }
				if !slices.IsSortedFunc(p.Found, descends) || len(slices.Compact(got)) != len(p.Found) {
					t.Fatalf("seed %d: the page is %v", seed, ids(p))
				}
			}
		}
	}
}

// expiredStore is a store with one day, of which very many entries have expired, and one has not.
type expiredStore struct {
	feed.Store
	entries, alive int
	read           atomic.Int64
}

func (s *expiredStore) ListBuckets(context.Context, feed.Feed) ([]feed.Bucket, error) {
	return []feed.Bucket{{Day: 20_000, Shards: 1}}, nil
}

func (s *expiredStore) ListEntries(_ context.Context, _ feed.Partition, slice feed.Slice) (es []feed.Entry, err error) {
	n, step := 0, 1 // entry n is the n-th from the oldest
	if !slice.Newer {
		n, step = s.entries-1, -1
	}
	if slice.From != nil {
		if n = int(slice.From.Created-today) + step; slice.Newer && slice.From.ID == "" {
			n -= step
		}
	}
	for ; n >= 0 && n < s.entries && len(es) < slice.Limit; n += step {
		e := feed.Entry{Created: today + clock.Instant(n), ID: "x"}
		if n != s.alive {
			e.Until = 1
		}
		es = append(es, e)
	}
	s.read.Add(int64(len(es)))
	return es, nil
}

// TestRead_EndsAfterTooManyExpiredEntries: a page that passes too many expired entries is cut short, and a client
// continues where it ended. Since passes all of them.
func TestRead_EndsAfterTooManyExpiredEntries(t *testing.T) {
	store := &expiredStore{entries: 900_000}
	rt := sched.NewReal()
	defer rt.Close()
	feeds := feed.New(feed.Config{Store: store, Runtime: rt})
	q := feed.Query{Size: 5}
	pages := 0
	for ; pages < 10; pages++ {
		store.read.Store(0)
		p, err := feed.Read(t.Context(), feeds, "f", q, func(_ context.Context, es []feed.Entry) ([]*string, error) {
			return make([]*string, len(es)), nil
		})
		if err != nil || len(p.Found) > 0 {
			t.Fatal(p, err)
		}
		if n := store.read.Load(); n > 410_000 {
			t.Errorf("page %d has read %d entries", pages, n)
		}
		if !p.HasOlder {
			break
		}
		q.After = p.Oldest
	}
	if pages != 4 && pages != 3 {
		t.Errorf("%d pages", pages)
	}
	store.alive = store.entries - 1
	es, err := feeds.Since(t.Context(), "f", feed.Entry{Created: today - 1}, 5)
	if err != nil || len(es) != 1 {
		t.Errorf("since the beginning: %v, %v", es, err)
	}
}
