package timeline_test

import (
	"context"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/timeline"
)

// Gaps of a forecast that the newest page does not reach are not verified.
func TestForecast_FarGapsAreNotVerified(t *testing.T) {
	f := newForecast(t)
	f.fill(1000, noon-3600*second, noon+10*second)
	f.fill(150, noon-600*second, noon+3600*second)
	f.page(timeline.Query{Size: 20})
	f.run()
	for range 3 {
		f.pass(5 * time.Second)
		f.page(timeline.Query{Size: 20})
		if n, _ := f.run(); n != 1 {
			t.Errorf("%d tasks, want one forecast", n)
		}
	}
}

// Even the largest page skips expired entries behind entries that do not expire.
func TestForecast_ReachesAsFarAsTheLargestPage(t *testing.T) {
	f := newForecast(t)
	f.fill(200, today, 0)
	f.fill(5000, noon-3600*second, noon+10*second)
	f.fill(40, noon-600*second, 0)
	largest := timeline.Query{Size: cursor.MaxPageSize}
	usual := f.page(largest)
	f.run()
	f.pass(9 * time.Second)
	f.page(largest)
	f.run()
	f.pass(time.Second)
	if n := f.page(largest); n > usual+2 {
		t.Errorf("the first page took %d slices, and %d before", n, usual)
	}
}

// A page opens only a few slices around many gaps.
func TestForecast_ManyGapsCostAFewSlices(t *testing.T) {
	f := newForecast(t)
	for n := range clock.Instant(30) {
		f.put(timeline.Entry{Created: noon - (100*n+60)*second, ID: "lasts"}, true)
		for i := range clock.Instant(300) {
			f.put(timeline.Entry{Created: noon - (100*n+70)*second - i, ID: "x", Until: noon + 9*second}, true)
		}
	}
	f.page(timeline.Query{Size: 1})
	f.page(timeline.Query{Size: 100})
	f.run()
	f.pass(9 * time.Second)
	if n := f.page(timeline.Query{Size: 1}); n > 10 {
		t.Errorf("a page of one entry took %d slices", n)
	}
	if n, _ := f.run(); n != 1 {
		t.Errorf("%d tasks, want one that verifies the newest gap", n)
	}
	f.page(timeline.Query{Size: 25})
}

// While a forecast is made, no other one begins.
func TestForecast_OneAtATime(t *testing.T) {
	f := newForecast(t)
	f.fill(500, noon-3600*second, noon+60*second)
	f.page(timeline.Query{Size: 20})
	f.pass(6 * time.Second)
	f.page(timeline.Query{Size: 20})
	if n, _ := f.run(); n != 1 {
		t.Errorf("%d forecasts", n)
	}
}

// Pages other than the newest start no forecast.
func TestForecast_IsStartedByTheNewestPage(t *testing.T) {
	f := newForecast(t)
	f.fill(100, noon-3600*second, noon+3600*second)
	f.page(timeline.Query{Size: 20, Newer: true})
	f.page(timeline.Query{Size: 20, After: &timeline.Entry{Created: noon}})
	if n, _ := f.run(); n != 0 {
		t.Errorf("%d forecasts", n)
	}
}

// Forecasts are made every five seconds, and only if most of the newest entries expire.
func TestForecast_IsMadeOnlyWhenItHelps(t *testing.T) {
	for _, c := range []struct {
		expired, expiring, lasting, pages, want int
	}{
		{0, 0, 100, 3, 0},
		{0, 10, 10, 3, 0},
		{0, 11, 9, 3, 1},
		{0, 100, 0, 3, 1},
		{0, 100, 0, 11, 3},
		{19, 0, 20, 3, 0},
		{21, 0, 20, 3, 1},
	} {
		f := newForecast(t)
		f.fill(c.lasting, noon-7200*second, 0)
		f.fill(c.expired, noon-3600*second, noon-second)
		f.fill(c.expiring, noon-3600*second, noon+3600*second)
		made := 0
		for i := range c.pages {
			if i > 0 {
				f.pass(time.Second)
			}
			f.page(timeline.Query{Size: 19}) // and one more, to know whether more follow
			n, _ := f.run()
			made += n
		}
		if made != c.want {
			t.Errorf("%+v: %d forecasts", c, made)
		}
	}
}

// endless is a store of a feed with very many entries on one day that all expire at one time.
type endless struct {
	timeline.Store
	until clock.Instant
	read  int
}

func (s *endless) ListEntries(_ context.Context, _ timeline.Partition, slice timeline.Slice) (timeline.Listed, error) {
	at := noon - 60*second
	if slice.From != nil {
		at = slice.From.Created - 1
	}
	var l timeline.Listed
	for len(l.Entries) < slice.Limit && (slice.To == nil || at >= slice.To.Created) {
		l.Entries = append(l.Entries, timeline.Entry{Created: at, ID: "x", Until: s.until})
		at--
	}
	s.read += len(l.Entries)
	return l, nil
}

// Each forecast reads a limited number of entries. Spans whose entries expire in more than 20 seconds
// are read only once, up to maxSpans.
func TestForecast_ReadsALimitedNumberOfEntries(t *testing.T) {
	for _, c := range []struct {
		until    clock.Instant
		min, max int // of five forecasts
	}{
		{noon + 10*second, 1_000_000, 1_025_000}, // read each time
		{noon + 3600*second, 400_000, 620_000},   // read once, up to maxSpans
	} {
		f := newForecast(t)
		f.put(timeline.Entry{Created: noon - 60*second, ID: "x"}, true)
		s := &endless{Store: f.store.Store, until: c.until}
		f.store.Store = s
		read := 0
		for range 5 {
			f.read(timeline.Query{Size: 20})
			s.read = 0
			n, _ := f.run()
			if n != 1 || s.read > 205_000 {
				t.Errorf("%d forecasts have read %d entries", n, s.read)
			}
			read += s.read
			f.rt.elapsed.Add(int64(5 * time.Second))
		}
		if read < c.min || read > c.max {
			t.Errorf("the forecasts have read %d entries, want %d to %d", read, c.min, c.max)
		}
	}
}

// A forecast that stops within an instant does not cover that instant.
func TestForecast_CoversNothingUnread(t *testing.T) {
	f := newForecast(t)
	f.put(timeline.Entry{Created: noon - 60*second, ID: "x"}, true)
	f.store.Store = &pairs{Store: f.store.Store, lasting: 200_000}
	f.read(timeline.Query{Size: 20})
	f.run()
	f.rt.pass(9 * time.Second)
	f.checked = 0
	if f.read(timeline.Query{Size: 1}); f.checked != 1 {
		t.Errorf("%d entries were checked, want the one that lasts", f.checked)
	}
}

// After a page that has read as many expired entries as it may, the next page goes on behind them.
func TestRead_GoesOnBehindTheExpiredEntriesOfTheLastPage(t *testing.T) {
	f := newForecast(t)
	f.put(timeline.Entry{Created: noon - 60*second, ID: "x"}, true)
	f.store.Store = &pairs{Store: f.store.Store, lasting: 600_000}
	f.rt.pass(9 * time.Second)
	for _, want := range []int{0, 1} {
		f.checked = 0
		if f.read(timeline.Query{Size: 1}); f.checked != want {
			t.Errorf("%d entries were checked, want %d", f.checked, want)
		}
	}
	// The first page has found one gap, and the second page two: before and behind the entry that
	// lasts. The verification in the background reaches only the first gap.
	f.rt.pass(7 * time.Second)
	f.read(timeline.Query{Size: 1})
	f.run()
	f.rt.pass(4*time.Second - 1) // a read of the newest page verifies a gap after eleven seconds
	for _, again := range []bool{false, true} {
		f.store.slices.Store(0)
		f.read(timeline.Query{Size: 1})
		if n := f.store.slices.Load(); n > 20 != again {
			t.Errorf("%d slices, want the gaps of the second page to be read: %t", n, again)
		}
		f.rt.pass(1)
	}
}

// pairs is a store of a feed with very many entries, two at each instant. Only one of all entries never
// expires: the one at index lasting, from the newest.
type pairs struct {
	timeline.Store
	lasting int
}

func (s *pairs) ListEntries(_ context.Context, _ timeline.Partition, slice timeline.Slice) (timeline.Listed, error) {
	const newest = noon - 60*second
	n := 0
	if from := slice.From; from != nil {
		if n = 2 * int(newest-from.Created); from.ID == "y" {
			n--
		}
		n++
	}
	var l timeline.Listed
	for ; len(l.Entries) < slice.Limit; n++ {
		e := timeline.Entry{Created: newest - clock.Instant(n+1)/2, ID: "x", Until: noon + 9*second}
		if n%2 == 1 {
			e.ID = "y"
		}
		if slice.To != nil && e.Created < slice.To.Created || n > s.lasting+100_000 {
			break
		}
		if n == s.lasting {
			e.Until = 0
		}
		l.Entries = append(l.Entries, e)
	}
	return l, nil
}
