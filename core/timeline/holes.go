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
	// listedWithin is within what time of its creation an entry is usually in the feed: two
	// seconds, and twice the half second by which the clock of a gateway may differ. A hole
	// ends that long before now. Each removal since then costs a page some microseconds.
	listedWithin = 3 * time.Second
	// growBy is how much later a known hole must end for it to be noted again.
	growBy = clock.Instant(time.Second / time.Microsecond)
	// mostHoles is how many holes of a feed a process remembers.
	mostHoles = 8
	// mostPuts is how many entries that this process has put last are remembered, for a hole
	// that was found before one of them and is noted after it.
	mostPuts = 1024
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
	feeds map[Feed]*knownHoles
}

// knownHoles are the holes of one feed.
type knownHoles struct {
	all []hole // apart from each other, the oldest first
	// puts are the instants of the entries that this process has put last, as many as it has
	// put in all, modulo mostPuts.
	puts []clock.Instant
	put  int
}

// mark says what a process had put into a feed when it began to look for holes.
type mark struct {
	in  *knownHoles
	put int
}

// of returns the holes of a feed. The caller holds mu.
func (h *holes) of(feed Feed) *knownHoles {
	k := h.feeds[feed]
	if k == nil {
		if len(h.feeds) >= maxFeeds {
			clear(h.feeds)
		}
		k = &knownHoles{}
		h.feeds[feed] = k
	}
	return k
}

// known returns the holes of a feed, and a mark for note. Holes that were found too long
// ago are forgotten: the caller is the one who looks at them again, and others go by them a
// little longer.
func (h *holes) known(feed Feed, now time.Duration) (known []hole, at mark) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.of(feed)
	var kept []hole
	for _, one := range k.all {
		switch {
		case one.empty():
		case now < one.until:
			known, kept = append(known, one), append(kept, one)
		case now < one.until+holeGrace:
			one.until = now + holeGrace
			kept = append(kept, one)
		}
	}
	k.all = kept
	return known, mark{k, k.put}
}

// note remembers a hole of a feed in the place of all that it overlaps. since is from when
// the caller began to look: entries that were put after it are part of no hole.
func (h *holes) note(feed Feed, found hole, since mark) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.of(feed)
	if k != since.in || k.put-since.put > mostPuts {
		return // they are not known any more
	}
	for n := since.put; n < k.put; n++ {
		found = found.apart(k.puts[n%mostPuts])
	}
	all := without(k.all, found)
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
	k.all = all
}

// cut makes the instants of entries part of no hole: the caller has met them.
func (h *holes) cut(feed Feed, entries ...Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of(feed).cut(entries...)
}

// put makes the instant of an entry that this process has put there part of no hole, not
// even of one that is being looked for.
func (h *holes) put(feed Feed, e Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.of(feed)
	k.cut(e)
	if len(k.puts) < mostPuts {
		k.puts = append(k.puts, e.Created)
	} else {
		k.puts[k.put%mostPuts] = e.Created
	}
	k.put++
}

func (k *knownHoles) cut(entries ...Entry) {
	for i := range k.all {
		for _, e := range entries {
			k.all[i] = k.all[i].apart(e.Created)
		}
	}
}

// apart returns the hole without an instant: the wider part of one that it divides.
func (h hole) apart(at clock.Instant) hole {
	if at < h.from || at >= h.to {
		return h
	}
	older, newer := hole{h.from, at, h.until}, hole{at + 1, h.to, h.until}
	if older.width() < newer.width() {
		return newer
	}
	return older
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
	// expired is how many expired entries there were.
	expired int
}

// reach ends the passage at an entry that is taken, or at the end of the feed. A passage of
// many expired entries is a hole. If the store has passed many removed entries, so is one of
// the passages, but the store does not tell which: the one of which most was read counts, and
// if that is wrong, the next walk finds another one.
func (w *walk) reach(at clock.Instant) {
	found := between(w.passed.from, at)
	if w.passed.expired >= holeFrom || w.grown(found) {
		w.remember(found)
	}
	if !w.removed.empty() {
		found.from, found.to = max(found.from, w.removed.from), min(found.to, w.removed.to)
		if read := w.unknown(found); read > w.mostRead {
			w.widest, w.mostRead = found, read
		}
	}
	w.passed = passage{from: at}
}

// grown reports whether a time without entries is a known hole and what has followed it
// since. Few removals are no hole of their own, but each of them would cost every page until
// the hole is looked at again.
func (w *walk) grown(found hole) bool {
	end := min(found.to, w.now.Add(-listedWithin))
	for _, known := range w.holes {
		if known.from < found.to && known.to > found.from && end-known.to >= growBy {
			return true
		}
	}
	return false
}

// unknown returns how long the longest part of a time is that is in no hole that is known.
func (w *walk) unknown(found hole) (longest clock.Instant) {
	parts := []hole{found}
	for _, known := range w.holes {
		parts = without(parts, known)
	}
	for _, part := range parts {
		longest = max(longest, part.width())
	}
	return longest
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

// remember notes a time without entries as a hole, but for the last moments. What of it was
// passed over because it was known makes the whole be looked at again as soon as that.
func (w *walk) remember(found hole) {
	found.to = min(found.to, w.now.Add(-listedWithin))
	if found.empty() {
		return
	}
	found.until = w.t.rt.Elapsed() + holeKept
	for _, known := range w.holes {
		if known.from < found.to && known.to > found.from {
			found.until = min(found.until, known.until)
		}
	}
	w.t.holes.note(w.feed, found, w.began)
}

// parts returns the slices of a partition of a day that the walk reads, in its direction:
// what is behind the place that it began at, and in no hole. through reports that a hole
// reaches into the next day.
func (w *walk) parts(d Day) (all []Slice, through bool) {
	first, end := firstOf(d), firstOf(d+1)
	var from *Entry
	if w.from != nil && d == DayOf(w.from.Created) {
		from = w.from
	}
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
			return all, true
		}
		from = before(far)
	}
	return append(all, Slice{From: from, Newer: w.newer}), false
}

// behind reports whether a place comes after another one in the direction of the walk.
func (w *walk) behind(a, b Entry) bool { return w.newer == (Compare(a, b) > 0) && Compare(a, b) != 0 }
