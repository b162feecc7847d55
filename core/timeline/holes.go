package timeline

import (
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
)

const (
	// holeFrom is how many expired entries in a row make a hole that is worth remembering.
	holeFrom = 200
	// holeKept is how long a process passes over a hole without looking at it again, and
	// holeGrace how much longer while one reader looks.
	holeKept  = 10 * time.Second
	holeGrace = 2 * time.Second
	// listedWithin is within what time of its creation an entry is usually in the feed, the
	// differences of the gateways' clocks included. A hole ends that long before now.
	listedWithin = 10 * time.Second
	// mostHoles is how many holes of a feed a process remembers.
	mostHoles = 8
)

// hole is a time from whose first instant on, and before whose last one, a feed has no
// entries that are shown: all were removed, or have expired. Passing them takes time, until
// the store has cleaned up. An entry that is put there late, by another process, is hidden
// while the hole is remembered.
type hole struct {
	from, to clock.Instant
	until    time.Duration // by the monotonic clock
}

func (h hole) empty() bool          { return h.from >= h.to }
func (h hole) width() clock.Instant { return h.to - h.from }

// holes are the holes of feeds as this process knows them. It is safe for concurrent use.
type holes struct {
	mu    sync.Mutex
	feeds map[Feed][]hole // apart from each other, the oldest first
}

// known returns the holes of a feed. Those that were found too long ago are forgotten: the
// caller is the one who looks at them again, and others go by them a little longer.
func (h *holes) known(feed Feed, now time.Duration) []hole {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.feeds[feed]
	if len(all) == 0 {
		return nil
	}
	var known, kept []hole
	for _, one := range all {
		switch {
		case one.empty():
		case now < one.until:
			known, kept = append(known, one), append(kept, one)
		case now < one.until+holeGrace:
			one.until = now + holeGrace
			kept = append(kept, one)
		}
	}
	h.feeds[feed] = kept
	return known
}

// note remembers a hole of a feed.
func (h *holes) note(feed Feed, found hole) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.feeds) >= maxFeeds {
		clear(h.feeds)
	}
	all := without(h.feeds[feed], found)
	at, _ := slices.BinarySearchFunc(all, found, func(a, b hole) int { return int(min(max(a.from-b.from, -1), 1)) })
	if all = slices.Insert(all, at, found); len(all) > mostHoles {
		narrowest := 0
		for i := range all {
			if all[i].width() < all[narrowest].width() {
				narrowest = i
			}
		}
		all = slices.Delete(all, narrowest, narrowest+1)
	}
	h.feeds[feed] = all
}

// cut makes the instants of entries part of no hole: this process has put them there, or has
// met them. The wider part of a hole that one divides is kept.
func (h *holes) cut(feed Feed, entries ...Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.feeds[feed]
	for i, one := range all {
		for _, e := range entries {
			if e.Created < one.from || e.Created >= one.to {
				continue
			}
			older, newer := hole{one.from, e.Created, one.until}, hole{e.Created + 1, one.to, one.until}
			if one = older; older.width() < newer.width() {
				one = newer
			}
		}
		all[i] = one
	}
}

// without returns the parts of holes that are outside of one.
func without(all []hole, cut hole) []hole {
	var rest []hole
	for _, one := range all {
		for _, part := range []hole{{one.from, min(one.to, cut.from), one.until}, {max(one.from, cut.to), one.to, one.until}} {
			if !part.empty() {
				rest = append(rest, part)
			}
		}
	}
	return rest
}

// passage is what a walk has passed since the last entry that it has taken, or its start.
type passage struct {
	from clock.Instant // where it began
	// first and last are the first and the last of so many expired entries.
	first, last Entry
	expired     int
}

// pass adds an expired entry to the passage.
func (w *walk) pass(e Entry) {
	if w.passed.expired++; w.passed.expired == 1 {
		w.passed.first = e
	}
	w.passed.last = e
}

// reach ends the passage at an entry that is taken, or at the end of the feed, and
// remembers what of it is a hole: a run of expired entries and, where the store has passed
// many that were removed, the longest time without any. The store does not tell which time
// they were of; if it was another one, the next walk finds that.
func (w *walk) reach(at clock.Instant) {
	if w.passed.expired >= holeFrom {
		w.remember(w.passed.last.Created, w.passed.first.Created)
	}
	if !w.removed.empty() {
		found := between(w.passed.from, at)
		found.from, found.to = max(found.from, w.removed.from), min(found.to, w.removed.to)
		for _, part := range w.unknown(found) {
			if part.width() > w.widest.width() {
				w.widest = part
			}
		}
	}
	w.passed = passage{from: at}
}

// unknown returns the parts of a time that are in no hole that is known.
func (w *walk) unknown(found hole) []hole {
	parts := []hole{found}
	for _, known := range w.holes {
		parts = without(parts, known)
	}
	return parts
}

// around returns a time that has all of another one, unless that is empty, and of the one
// from an instant on and before the next.
func around(h hole, from, to clock.Instant) hole {
	if h.empty() {
		return hole{from: from, to: to}
	}
	return hole{from: min(h.from, from), to: max(h.to, to)}
}

// between returns the time between two instants, neither of which is part of it.
func between(a, b clock.Instant) hole { return hole{from: min(a, b) + 1, to: max(a, b)} }

// remember notes the time between two instants as a hole, but for what was passed over
// because it was known, and for the last moments.
func (w *walk) remember(a, b clock.Instant) {
	found := between(a, b)
	found.to = min(found.to, w.now.Add(-listedWithin))
	found.until = w.t.rt.Elapsed() + holeKept
	for _, part := range w.unknown(found) {
		if !part.empty() {
			w.t.holes.note(w.feed, part)
		}
	}
}

// parts returns the slices of a partition of a day that the walk reads, in its direction:
// what is behind the place that it began at, and in no hole.
func (w *walk) parts(d Day) []Slice {
	first, end := firstOf(d), firstOf(d+1)
	var from *Entry
	if w.from != nil && d == DayOf(w.from.Created) {
		from = w.from
	}
	var all []Slice
	for i := range w.holes {
		h := w.holes[i]
		near, far := h.from, h.to // in the direction of the walk
		if !w.newer {
			h = w.holes[len(w.holes)-1-i]
			near, far = h.to, h.from
		}
		if h.to <= first || h.from >= end || from != nil && !w.behind(*before(far), *from) {
			continue // of another day, or passed already
		}
		reaches := near < end // the hole begins in the day
		if w.newer {
			reaches = near > first
		}
		if reaches && (from == nil || w.behind(*before(near), *from)) {
			all = append(all, Slice{From: from, To: before(near), Newer: w.newer})
		}
		if w.newer && far >= end || !w.newer && far <= first {
			return all
		}
		from = before(far)
	}
	return append(all, Slice{From: from, Newer: w.newer})
}

// behind reports whether a place comes after another one in the direction of the walk.
func (w *walk) behind(a, b Entry) bool { return w.newer == (Compare(a, b) > 0) && Compare(a, b) != 0 }
