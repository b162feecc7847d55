package timeline

import (
	"context"
	"slices"
	"time"

	"carrel/core/clock"
)

const (
	// manyDropped is how many entries a process must have removed from a feed since the last search before it
	// begins another one.
	manyDropped = 200
	// A read of the newest page starts a series of up to maxSearches searches, with a pause of searchPause
	// between them. The later ones start without another read of the page, because a page may take long while its
	// entries are being removed.
	searchPause = 250 * time.Millisecond
	maxSearches = 8
	// minDropped is how many entries a process must have removed from an empty span for a search to remember the
	// span as a gap. It is half of manyDropped, because a search begins in the middle of the removed entries, and
	// each of its two walks sees about half of them.
	minDropped = manyDropped / 2
	// searchTaken is how many remaining entries each walk of a search reads at most. Many of them may be about
	// to be removed, so a walk does not stop at the first ones.
	searchTaken = 1000
)

// searchRepeatedly searches up to maxSearches times. It leaves out a search if too few entries were removed
// since the last one. The series takes at most refreshWithin, because a process that closes waits for it.
func (t *Timelines) searchRepeatedly(ctx context.Context, feed Feed) {
	ctx, cancel := t.rt.Deadline(ctx, refreshWithin)
	defer cancel()
	for n := range maxSearches {
		if n > 0 && t.rt.After(ctx, searchPause) != nil {
			return
		}
		if area, ok := t.gaps.beginSearch(feed); ok {
			t.search(ctx, feed, area)
		}
	}
}

// searchArea tells a search where to begin, which removals to count, and which known gaps to read again.
type searchArea struct {
	// drops are the creation times of the last entries that this process has removed, in ascending order, and
	// middle is the median of those that it has removed since the last search.
	drops  []clock.Instant
	middle clock.Instant
	// within is how soon a gap must become old for the search to read it again.
	within time.Duration
}

// beginSearch begins a search, and returns where to search. It returns false if this process has removed fewer
// than manyDropped entries since the last search.
func (c *gapCache) beginSearch(feed Feed) (area searchArea, ok bool) {
	latest, drops, verifying := c.takeDrops(feed)
	if latest == nil {
		return searchArea{}, false
	}
	area = searchArea{drops: drops, within: dueWithin}
	slices.Sort(latest)
	slices.Sort(area.drops)
	area.middle = latest[(len(latest)-1)/2] // at least minDropped of them on each side; this one counts as older
	if verifying {
		area.within = never // the verification reads the gaps that are due
	}
	return area, true
}

// takeDrops begins a search, and forgets the remaining entries, if this process has removed at least manyDropped
// entries since the last search; otherwise it returns nil. latest has the creation times of these entries, or of
// the last maxRecent of them if there are more. all has those of the last maxRecent entries that this process has
// removed. verifying reports whether a verification is running.
func (c *gapCache) takeDrops(feed Feed) (latest, all []clock.Instant, verifying bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	if k.drops.count-k.searched < manyDropped {
		return nil, nil, false
	}
	latest, all = k.drops.since(k.searched), k.drops.since(0)
	k.searched, k.remaining = k.drops.count, remaining{}
	return latest, all, k.running.verify
}

// search looks for a gap where this process has just removed entries. Unless a verification is running, it also
// renews the known gaps there that are due. It begins at the median creation time of these entries and walks in
// both directions. So it finds a gap before a page reaches it, for example while all entries are removed, the
// oldest first. If entries were removed in several places, it looks at one of them. An error ends the search. The
// removals that started it do not start another one, but the next search counts them when it decides whether a
// span is a gap.
func (t *Timelines) search(ctx context.Context, feed Feed, area searchArea) {
	now := clock.Of(t.rt.Now())
	b := t.gaps.beginTask(feed, t.rt.Elapsed(), now, area.within)
	var taken [2][]Entry
	var reached [2]clock.Instant
	err := t.each(ctx, 2, func(direction int) error {
		from, newer := Entry{Created: area.middle}, direction == 1
		if !newer {
			from.Created++ // so that the empty spans of the two walks touch
		}
		w, err := t.newWalk(ctx, feed, &from, newer, searchTaken, now, b)
		if err != nil {
			return err
		}
		w.drops = area.drops
		taken[direction], err = w.take(ctx, searchTaken)
		reached[direction] = w.reached(w.enough || len(taken[direction]) == searchTaken)
		return err
	})
	if err == nil {
		t.gaps.renew(feed, span{from: reached[0], to: reached[1]}, b, taken[:]...)
		t.gaps.endSearch(feed, b, between(reached[0], reached[1]), now, taken[:]...)
	}
}

// dropsIn returns how many of w.drops are in a span; 0 if the walk is not part of a search.
func (w *walk) dropsIn(span span) int {
	first, _ := slices.BinarySearch(w.drops, span.from)
	end, _ := slices.BinarySearch(w.drops, span.to)
	return end - first
}

// passedDrops reports whether the walk of a search has passed an entry that is beyond all of w.drops.
func (w *walk) passedDrops() bool {
	if len(w.drops) == 0 || w.last == nil {
		return false
	}
	if w.newer {
		return w.last.Created > w.drops[len(w.drops)-1]
	}
	return w.last.Created < w.drops[0]
}
