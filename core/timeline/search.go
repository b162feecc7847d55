package timeline

import (
	"context"
	"slices"
	"time"

	"carrel/core/clock"
)

const (
	// If a process has removed manyDropped entries or more from a feed since its last search for a gap began,
	// there is cause for another one.
	manyDropped = 200
	// A read of the newest page starts up to mostSearches, each searchEvery after the one before it. They do not
	// wait for further pages, because it may take long to read a page of entries that are being removed.
	searchEvery  = 250 * time.Millisecond
	mostSearches = 8
	// A span without entries in which a process has removed minDropped is a gap. It is half of manyDropped,
	// because a search begins inside the gap, and each of its two walks finds a part of it.
	minDropped = manyDropped / 2
	// searchTaken is how many entries each walk of a search takes at most: some of those that are being removed
	// may still be there.
	searchTaken = 21
)

// searchRepeatedly checks up to mostSearches times whether enough entries were removed, and searches if so. All
// of it takes at most refreshWithin, because closing the process waits for it.
func (t *Timelines) searchRepeatedly(ctx context.Context, feed Feed) {
	ctx, cancel := t.rt.Deadline(ctx, refreshWithin)
	defer cancel()
	for n := range mostSearches {
		if n > 0 && t.rt.After(ctx, searchEvery) != nil {
			return
		}
		if drops := t.gaps.takeDrops(feed); drops != nil {
			t.search(ctx, feed, drops)
		}
	}
}

// takeDrops returns when the entries were created that this process has removed since the last call that
// returned some. It returns nil if they are fewer than manyDropped, or during a verification, because both may
// read past the same gap.
func (c *gapCache) takeDrops(feed Feed) []clock.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	if k.drops.count < manyDropped || k.running.verify {
		return nil
	}
	drops := k.drops.created
	k.drops = recent{}
	return drops
}

// search looks for a gap where this process has just removed entries, and renews the known gaps there that are
// due. drops are when the removed entries were created. The search begins among them and walks in both
// directions. So it finds a gap that no page has reached, for example if somebody hides all entries and begins
// with the oldest. If entries were removed in several places, it looks at one of them. After an error, another
// search looks at the same entries.
func (t *Timelines) search(ctx context.Context, feed Feed, drops []clock.Instant) {
	slices.Sort(drops)
	middle := drops[(len(drops)-1)/2] // each walk may find minDropped of them
	now := clock.Of(t.rt.Now())
	b := t.gaps.beginVerifying(feed, t.rt.Elapsed(), now, dueWithin)
	var taken [2][]Entry
	var reached [2]clock.Instant
	err := t.each(ctx, 2, func(direction int) error {
		from, newer := Entry{Created: middle}, direction == 1
		if !newer {
			from.Created++ // so that the two walks read spans that touch
		}
		w, err := t.newWalk(ctx, feed, &from, newer, searchTaken, now, b)
		if err != nil {
			return err
		}
		w.drops = drops
		taken[direction], err = w.take(ctx, searchTaken)
		reached[direction] = w.reached(len(taken[direction]) == searchTaken)
		return err
	})
	if err != nil {
		for _, created := range drops {
			t.gaps.drop(feed, Entry{Created: created})
		}
		return
	}
	t.gaps.renew(feed, gap{from: reached[0], to: reached[1]}, b, slices.Concat(taken[0], taken[1])...)
}

// reached returns how far the walk has read. full reports that it has taken as many entries as were wanted.
func (w *walk) reached(full bool) clock.Instant {
	if full || w.budget == 0 {
		return w.last.Created
	}
	return w.end(w.newer)
}

// dropsIn returns how many of the entries that this process has removed were created in a span.
func (w *walk) dropsIn(span gap) int {
	first, _ := slices.BinarySearch(w.drops, span.from)
	end, _ := slices.BinarySearch(w.drops, span.to)
	return end - first
}
