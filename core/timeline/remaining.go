package timeline

import (
	"slices"

	"carrel/core/clock"
)

// remaining holds the entries that are known in the span of a feed's last search, without those that this process
// has removed since. If this process removes an entry next to a gap, at either end, the gap grows up to the next
// remaining entry, without another read. Without this, entries that are removed while the last search runs would
// lie between two gaps, and each page would read further slices until the next search.
type remaining struct {
	// covered is the span that the search has read, including the gaps that it has skipped. It is empty while a
	// search is running, after one that has failed, and after forget. Its until is that of the gaps that the search
	// has found.
	covered span
	search  beginning // the beginning of that search
	// entries are sorted, the oldest first.
	entries []Entry
	// dropped are the entries, at most maxRemaining, that this process has removed since the last search began, as
	// long as covered is empty and the series of searches runs. endSearch takes them out of entries.
	dropped []Entry
}

// maxRemaining is the largest number of remaining entries. A search adds at most 2*searchTaken. Later walks and
// puts may add others.
const maxRemaining = 3 * searchTaken

// endSearch records what a search has covered: a span with the given entries. The search began with b, at the time
// now.
func (c *gapCache) endSearch(feed Feed, b beginning, covered span, now clock.Instant, taken ...[]Entry) {
	covered.to = min(covered.to, now.Add(-listedWithin))
	covered.until = b.elapsed + gapOldAfter
	entries := slices.Concat(taken...)
	slices.SortFunc(entries, Compare)
	// Both walks of a search read its median instant.
	entries = slices.CompactFunc(entries, func(a, b Entry) bool { return Compare(a, b) == 0 })
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	dropped := k.remaining.dropped
	k.remaining = remaining{covered: covered, search: b, entries: entries}
	for _, e := range dropped {
		k.dropRemaining(e)
	}
}

// add adds an entry that another walk has read, or that this process has put, if it lies in the span of the
// search. If there are too many entries, add forgets all of them.
func (r *remaining) add(e Entry) {
	i, found := slices.BinarySearchFunc(r.entries, e, Compare)
	if found || !r.covered.contains(e.Created) {
		return
	}
	if r.entries = slices.Insert(r.entries, i, e); len(r.entries) > maxRemaining {
		r.forget()
	}
}

// forget forgets the entries and their span, but not dropped. No gap grows by a removal until the next search has
// ended.
func (r *remaining) forget() { *r = remaining{dropped: r.dropped} }

// dropRemaining records that this process has removed an entry from the feed. If the entry was next to a gap that
// was not old when the search began, the gap grows up to the next remaining entry. While a search is running,
// dropRemaining only collects the entry. An entry in k.puts stays a remaining one, because the removal may have
// lost against the put.
func (k *knownGaps) dropRemaining(e Entry) {
	r := &k.remaining
	if r.covered.empty() {
		if k.running.search && len(r.dropped) < maxRemaining {
			r.dropped = append(r.dropped, e)
		}
		return
	}
	i, found := slices.BinarySearchFunc(r.entries, e, Compare)
	if !found || k.puts.contains(e.Created) {
		return
	}
	r.entries = slices.Delete(r.entries, i, i+1)
	empty := r.covered
	if i > 0 {
		empty.from = max(empty.from, r.entries[i-1].Created+1)
	}
	if i < len(r.entries) {
		empty.to = min(empty.to, r.entries[i].Created)
	}
	inside := func(g span) bool { return g.until > r.search.elapsed && g.overlaps(empty) }
	if !slices.ContainsFunc(k.all, inside) {
		return // a gap of its own would cost each page another slice
	}
	for _, part := range empty.outside(slices.Concat(r.search.skip, k.all)) {
		k.note(part, r.search.puts)
	}
}
