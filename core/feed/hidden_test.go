package feed_test

import (
	"context"
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/core/feed"
)

// Others hide the newest entries faster than a page could check them in batches of its own size. The page is full
// nevertheless, because its batches grow.
func TestRead_OvertakesOthersThatHideEntries(t *testing.T) {
	f := newFixture(t)
	var es []feed.Entry // newest first
	for n := range 4000 {
		e := feed.Entry{Created: today + 4000 - clock.Instant(n), ID: fmt.Sprint(n)}
		f.put(e, true)
		es = append(es, e)
	}
	batches, checked, hidden := 0, 0, 0
	hide := func(_ context.Context, entries []feed.Entry) ([]*string, error) {
		batches, checked, hidden = batches+1, checked+len(entries), hidden+100
		items := make([]*string, len(entries))
		for i := range entries {
			if feed.Compare(entries[i], es[hidden]) <= 0 {
				items[i] = &entries[i].ID
			}
		}
		return items, nil
	}
	page, err := feed.Read(t.Context(), f.open(), "f", feed.Query{Size: 20}, hide)
	if err != nil || len(page.Found) != 20 || page.Found[0].Entry != es[hidden] || batches != 7 || checked != 848 {
		t.Errorf("%d found after %d batches, %d checked, %d hidden, %v", len(page.Found), batches, checked, hidden, err)
	}
}

// After a batch of which none is shown, a page goes on where it was, and not at its start.
func TestRead_GoesOnAfterHiddenEntries(t *testing.T) {
	for _, remote := range []bool{false, true} {
		f := newFixture(t)
		for n := range 400 {
			f.put(feed.Entry{Created: today + clock.Instant(n)*1000, ID: fmt.Sprint(n)}, n < 60 || n > 340)
		}
		f.reader = feed.New(feed.Config{Store: f.store, Runtime: f.rt, Remote: remote})
		for _, newer := range []bool{false, true} {
			for at := range 20 {
				f.want(feed.Query{Size: 7, Newer: newer, After: &feed.Entry{Created: today + clock.Instant(100+10*at)*1000}})
			}
		}
	}
}
