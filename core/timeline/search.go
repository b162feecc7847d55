package timeline

import (
	"context"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
)

const (
	// If a process has removed manyDropped entries or more from a feed since its last search for a gap
	// began, the next page starts a search, at most one every searchEvery.
	manyDropped = 200
	searchEvery = 250 * time.Millisecond
	// A span without entries in which a process has removed minDropped is a gap. Each of the two walks of a
	// search may find half of the gap.
	minDropped = manyDropped / 2
)

// search looks for a gap where this process has just removed entries, and for the known gaps around it that
// should be verified. drops are when the removed entries were created. The search begins among them and walks
// in both directions. It finds a gap that no page has reached, for example if somebody hides all entries and
// begins with the oldest. Each walk takes as many entries as the largest page, because some of those that are
// being removed may still be there.
func (t *Timelines) search(ctx context.Context, feed Feed, drops []clock.Instant) {
	ctx, cancel := t.rt.Deadline(ctx, refreshWithin)
	defer cancel()
	slices.Sort(drops)
	// A few entries may have been removed elsewhere in the feed, so the search does not begin at an end.
	middle := drops[len(drops)/2]
	// After an error, the next search looks again.
	_ = t.each(ctx, 2, func(direction int) error {
		from, newer := Entry{Created: middle}, direction == 1
		if !newer {
			from.Created++ // so that the two walks read spans that touch
		}
		now := clock.Of(t.rt.Now())
		w, err := t.newWalk(ctx, feed, &from, newer, cursor.MaxPageSize+1, now, t.gaps.beginVerifying(feed, t.rt.Elapsed(), now))
		if err != nil {
			return err
		}
		w.drops = drops
		_, err = w.take(ctx, cursor.MaxPageSize+1)
		return err
	})
}

// dropsIn returns how many of the entries that this process has removed were created in a span.
func (w *walk) dropsIn(span gap) int {
	first, _ := slices.BinarySearch(w.drops, span.from)
	end, _ := slices.BinarySearch(w.drops, span.to)
	return end - first
}
