package timeline

import "carrel/core/clock"

// emptySpan is the span without an entry to show since the last entry that a walk took, or since its start.
type emptySpan struct {
	from    clock.Instant // its beginning
	expired int           // the number of expired entries
}

// endEmpty ends the empty span at an entry that is taken, at the end of the feed, or where the walk stops because
// it has passed maxExpired expired entries. A span with many expired entries is a gap. So is a span that
// reaches beyond a gap that the walk skips (see grown), and, in a search, one with many entries that this
// process has removed. If the store has skipped many removed entries, one of the spans is a gap too, but the
// store does not report which one. The walk chooses the one with the longest part outside the gaps that it
// skips. If that is wrong, the next walk skips that span, and so chooses another one.
func (w *walk) endEmpty(at clock.Instant) {
	found := between(w.empty.from, at)
	if w.empty.expired >= minExpired || w.dropsIn(found) >= minDropped || w.grown(found) {
		w.remember(found)
	}
	if !w.removedDays.empty() {
		found.from, found.to = max(found.from, w.removedDays.from), min(found.to, w.removedDays.to)
		if length := w.longestOutside(found); length > w.longest {
			w.likeliest, w.longest = found, length
		}
	}
	w.empty = emptySpan{from: at}
}

// grown reports whether an empty span reaches at least growBy beyond a gap that the walk skips, at either end.
// The part beyond may have few removed entries, but without this every page would read past them.
func (w *walk) grown(found span) bool {
	end := min(found.to, w.now.Add(-listedWithin))
	for _, g := range w.skip {
		if g.overlaps(found) && (end >= g.to.Add(growBy) || found.from.Add(growBy) <= g.from) {
			return true
		}
	}
	return false
}

// longestOutside returns the length in microseconds of the longest part of a span that is in none of the gaps
// that the walk skips.
func (w *walk) longestOutside(found span) (longest int64) {
	for _, part := range w.outsideGaps(found) {
		longest = max(longest, part.micros())
	}
	return longest
}

// outsideGaps returns the parts of a span that are in none of the gaps that the walk skips.
func (w *walk) outsideGaps(found span) []span { return found.outside(w.skip) }

// remember notes those parts of an empty span that the walk has read. It leaves out the gaps that the walk has
// skipped, and the last listedWithin before now.
func (w *walk) remember(found span) {
	found.to = min(found.to, w.now.Add(-listedWithin))
	found.until = w.elapsed + gapOldAfter
	for _, read := range w.outsideGaps(found) {
		w.t.gaps.note(w.feed, read, w.puts)
	}
}
