package timeline_test

import (
	"context"
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/core/timeline"
)

// Others hide the newest entries faster than a page could check them in batches of its own size. The page is full
// nevertheless, because its batches grow. It needs fewer batches if the others also remove the entries from the
// feed.
func TestRead_OvertakesOthersThatHideEntries(t *testing.T) {
	for _, c := range []struct {
		removed                  bool
		batches, checked, hidden int
	}{{false, 7, 848, 700}, {true, 5, 336, 500}} {
		f := newFixture(t)
		var es []timeline.Entry // newest first
		for n := range 4000 {
			e := timeline.Entry{Created: today + 4000 - clock.Instant(n), ID: fmt.Sprint(n)}
			f.put(e, true)
			es = append(es, e)
		}
		batches, checked, hidden := 0, 0, 0
		hide := func(_ context.Context, entries []timeline.Entry) ([]*string, error) {
			batches, checked = batches+1, checked+len(entries)
			for range 100 {
				if c.removed {
					if err := f.feeds.Drop(t.Context(), "f", es[hidden], 5000); err != nil {
						return nil, err
					}
				}
				hidden++
			}
			items := make([]*string, len(entries))
			for i := range entries {
				if timeline.Compare(entries[i], es[hidden]) <= 0 {
					items[i] = &entries[i].ID
				}
			}
			return items, nil
		}
		f.store.requested.Store(0)
		page, err := timeline.Read(t.Context(), f.open(), "f", timeline.Query{Size: 20}, hide)
		if err != nil || len(page.Found) != 20 || page.Found[0].Entry != es[hidden] || batches != c.batches || checked != c.checked || hidden != c.hidden {
			t.Errorf("%+v: %d found after %d batches, %d checked, %d hidden, %v", c, len(page.Found), batches, checked, hidden, err)
		}
		if n := f.store.requested.Load(); n > int64(2*checked) {
			t.Errorf("%+v: %d entries were requested to check %d", c, n, checked)
		}
	}
}

// Entries of other days are read again, too, after a batch of which none is shown.
func TestRead_ReadsOtherDaysAgainAfterHiddenEntries(t *testing.T) {
	for _, remote := range []bool{false, true} {
		f := newFixture(t)
		for n := range 90 {
			f.put(timeline.Entry{Created: today - clock.Instant(n)*day/2, ID: fmt.Sprint(n)}, n%45 > 40)
		}
		f.reader = timeline.New(timeline.Config{Store: f.store, Runtime: f.rt, Remote: remote})
		for _, newer := range []bool{false, true} {
			for size := range 9 {
				f.want(timeline.Query{Size: size, Newer: newer})
				f.want(timeline.Query{Size: size, Newer: newer, After: &timeline.Entry{Created: today - 20*day}})
			}
		}
	}
}

// After a batch of which none is shown, a page goes on where it was, and not at its start.
func TestRead_GoesOnAfterHiddenEntries(t *testing.T) {
	for _, remote := range []bool{false, true} {
		f := newFixture(t)
		for n := range 400 {
			f.put(timeline.Entry{Created: today + clock.Instant(n)*1000, ID: fmt.Sprint(n)}, n < 60 || n > 340)
		}
		f.reader = timeline.New(timeline.Config{Store: f.store, Runtime: f.rt, Remote: remote})
		for _, newer := range []bool{false, true} {
			for at := range 20 {
				f.want(timeline.Query{Size: 7, Newer: newer, After: &timeline.Entry{Created: today + clock.Instant(100+10*at)*1000}})
			}
		}
	}
}

// When a page reads entries again, it still skips the gap between them.
func TestRead_SkipsAGapBehindHiddenEntries(t *testing.T) {
	f, store := newRemoved(t, noon-3600*second, 5000)
	f.rt.hold = true
	f.feeds = f.reader
	f.put(timeline.Entry{Created: noon - 3601*second, ID: "a"}, true)
	f.put(timeline.Entry{Created: noon - 61*second, ID: "b"}, true)
	for range 3 { // a walk may note another span first; see endSkipped
		f.want(timeline.Query{Size: 5})
	}
	for n := range 60 {
		f.put(timeline.Entry{Created: noon - 60*second + clock.Instant(n), ID: fmt.Sprint(n)}, false)
	}
	store.skipped = 0
	f.store.slices.Store(0)
	if f.want(timeline.Query{Size: 5}); store.skipped > 0 || f.store.slices.Load() > 16 {
		t.Errorf("%d removed entries were skipped, in %d slices", store.skipped, f.store.slices.Load())
	}
}
