package timeline

import (
	"slices"

	"carrel/core/clock"
)

// remaining are the entries that the last search of a feed has read and that have not been removed since. When
// this process removes the one at the end of a gap, the gap grows up to the next one, without another read.
// Otherwise the entries that are being removed during the last search would lie between two gaps, and each page
// would read further slices until the next search.
type remaining struct {
	// within is the span that the search has read, except for the gaps that it has skipped. It is empty until the
	// search has ended. Its until is that of the gaps that the search has found.
	within span
	search beginning
	// entries are sorted, the oldest first.
	entries []Entry
	// removed are entries that this process has removed since the search began. They are collected until it ends.
	removed []Entry
}

// maxRemaining is how many entries remaining has at most. A search adds fewer, and the others were put later.
const maxRemaining = 3 * searchTaken

// endSearch records what a search has read: the span within, with the given entries. The search began with b, at
// the time now.
func (c *gapCache) endSearch(feed Feed, b beginning, within span, now clock.Instant, taken ...[]Entry) {
	within.to = min(within.to, now.Add(-listedWithin))
	within.until = b.elapsed + gapKept
	entries := slices.Concat(taken...)
	slices.SortFunc(entries, Compare)
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	removed := k.remaining.removed
	k.remaining = remaining{within: within, search: b, entries: entries}
	for _, e := range removed {
		k.removeRemaining(e)
	}
}

// add adds an entry that the search has not read, but another walk has, or that this process has put. If there
// are too many entries, it removes all, and so ends the growth of gaps until the next search.
func (r *remaining) add(e Entry) {
	i, found := slices.BinarySearchFunc(r.entries, e, Compare)
	if found || !r.within.contains(e.Created) {
		return
	}
	if r.entries = slices.Insert(r.entries, i, e); len(r.entries) > maxRemaining {
		*r = remaining{}
	}
}

// removeRemaining removes an entry that this process has removed from the feed, and lets the gap next to it grow.
func (k *knownGaps) removeRemaining(e Entry) {
	r := &k.remaining
	if r.within.empty() {
		if k.running.search && len(r.removed) < maxRecent {
			r.removed = append(r.removed, e)
		}
		return
	}
	i, found := slices.BinarySearchFunc(r.entries, e, Compare)
	if !found {
		return
	}
	r.entries = slices.Delete(r.entries, i, i+1)
	grown := r.within
	if i > 0 {
		grown.from = max(grown.from, r.entries[i-1].Created+1)
	}
	if i < len(r.entries) {
		grown.to = min(grown.to, r.entries[i].Created)
	}
	nextTo := func(g span) bool { return g.until > r.search.elapsed && g.overlaps(grown) }
	if !slices.ContainsFunc(k.all, nextTo) {
		return // a gap of its own would cost each page another slice
	}
	for _, part := range grown.outside(slices.Concat(r.search.skip, k.all)) {
		k.note(part, r.search.puts)
	}
}
