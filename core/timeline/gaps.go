package timeline

import (
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
)

const (
	// gapFrom is the number of consecutive expired entries from which a gap is remembered.
	gapFrom = 200
	// gapKept is how long a process skips a gap without checking it again, and
	// gapGrace how much longer it skips it while one reader checks.
	gapKept  = 10 * time.Second
	gapGrace = 2 * time.Second
	// listedWithin is the time within which a new entry is usually in the feed: two seconds,
	// and twice the half second by which the clocks of gateways may differ. A gap ends that
	// long before now. Each removal since then costs a page some microseconds.
	listedWithin = 3 * time.Second
	// growBy is how much longer a known gap must have become to be noted again.
	growBy = clock.Instant(time.Second / time.Microsecond)
	// mostGaps is how many gaps of a feed are remembered.
	mostGaps = 8
	// mostPuts is how many of the last puts of this process are remembered, for a gap that
	// was found before a put and is noted after it.
	mostPuts = 1024
)

// gap is a time span, from inclusive and to exclusive, in which a feed has no entries to
// show: all were removed or have expired. Reading past them takes time until the store has
// cleaned up. An entry that another process puts there late is hidden while the gap is
// remembered.
type gap struct {
	from, to clock.Instant
	until    time.Duration // by the monotonic clock
}

func (h gap) empty() bool          { return h.from >= h.to }
func (h gap) width() clock.Instant { return h.to - h.from }

// gaps remembers the gaps of feeds. It is safe for concurrent use.
type gaps struct {
	mu    sync.Mutex
	feeds map[Feed]*knownGaps
}

// knownGaps are the gaps of one feed.
type knownGaps struct {
	all []gap // disjoint, oldest first
	// puts is a ring buffer with the instants of the last mostPuts entries that this process
	// has put; put is the number of all puts.
	puts []clock.Instant
	put  int
}

// mark is the number of puts of a feed when a reader began to look for gaps.
type mark struct {
	in  *knownGaps
	put int
}

// of returns the gaps of a feed. The caller holds mu.
func (h *gaps) of(feed Feed) *knownGaps {
	k := h.feeds[feed]
	if k == nil {
		if len(h.feeds) >= maxFeeds {
			clear(h.feeds)
		}
		k = &knownGaps{}
		h.feeds[feed] = k
	}
	return k
}

// known returns the gaps of a feed, and a mark for note. Gaps that were found too long ago
// are not returned, so that the caller checks them again; other readers still skip them for
// gapGrace.
func (h *gaps) known(feed Feed, now time.Duration) (known []gap, at mark) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.of(feed)
	var kept []gap
	for _, one := range k.all {
		switch {
		case one.empty():
		case now < one.until:
			known, kept = append(known, one), append(kept, one)
		case now < one.until+gapGrace:
			one.until = now + gapGrace
			kept = append(kept, one)
		}
	}
	k.all = kept
	return known, mark{k, k.put}
}

// note remembers a gap of a feed, and replaces the parts of others that it overlaps. since
// is the mark from before the read: entries put after it are excluded from the gap.
func (h *gaps) note(feed Feed, found gap, since mark) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.of(feed)
	if k != since.in || k.put-since.put > mostPuts {
		return // the puts since then are no longer known
	}
	for n := since.put; n < k.put; n++ {
		found = found.excluding(k.puts[n%mostPuts])
	}
	all := without(k.all, found)
	at, _ := slices.BinarySearchFunc(all, found, func(a, b gap) int { return int(min(max(a.from-b.from, -1), 1)) })
	if all = slices.Insert(all, at, found); len(all) > mostGaps {
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

// cut removes from all gaps the instants of entries that the caller has read.
func (h *gaps) cut(feed Feed, entries ...Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of(feed).cut(entries...)
}

// put removes from all gaps, including those that a reader is about to note, the instant of an
// entry that this process has put.
func (h *gaps) put(feed Feed, e Entry) {
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

func (k *knownGaps) cut(entries ...Entry) {
	for i := range k.all {
		for _, e := range entries {
			k.all[i] = k.all[i].excluding(e.Created)
		}
	}
}

// excluding returns the wider of the two parts of the gap before and after an instant.
func (h gap) excluding(at clock.Instant) gap {
	if at < h.from || at >= h.to {
		return h
	}
	older, newer := gap{h.from, at, h.until}, gap{at + 1, h.to, h.until}
	if older.width() < newer.width() {
		return newer
	}
	return older
}

// without returns the parts of gaps that are outside of cut.
func without(all []gap, cut gap) []gap {
	var rest []gap
	for _, one := range all {
		for _, part := range []gap{{one.from, min(one.to, cut.from), one.until}, {max(one.from, cut.to), one.to, one.until}} {
			if !part.empty() {
				rest = append(rest, part)
			}
		}
	}
	return rest
}

// skippedSpan describes what a walk has skipped since the last entry that it took, or since its
// start.
type skippedSpan struct {
	from clock.Instant // its beginning
	// expired is the number of expired entries.
	expired int
}

// endSkipped ends the skipped span at an entry that is taken, or at the end of the feed. A span
// with many expired entries is a gap. If the store has skipped many removed entries, one of the
// spans is a gap too, but the store does not report which one. The walk chooses the one of which it
// has read the longest part. If that is wrong, the next walk finds another one.
func (w *walk) endSkipped(at clock.Instant) {
	found := between(w.skipped.from, at)
	if w.skipped.expired >= gapFrom || w.grown(found) {
		w.remember(found)
	}
	if !w.removed.empty() {
		found.from, found.to = max(found.from, w.removed.from), min(found.to, w.removed.to)
		if read := w.unknown(found); read > w.mostRead {
			w.widest, w.mostRead = found, read
		}
	}
	w.skipped = skippedSpan{from: at}
}

// grown reports whether a span without entries is a known gap that has become longer. A
// few removals are not a gap by themselves, but each would cost every page some time until
// the gap is checked again.
func (w *walk) grown(found gap) bool {
	end := min(found.to, w.now.Add(-listedWithin))
	for _, known := range w.gaps {
		if known.from < found.to && known.to > found.from && end-known.to >= growBy {
			return true
		}
	}
	return false
}

// unknown returns the length of the longest part of a span that is in no known gap.
func (w *walk) unknown(found gap) (longest clock.Instant) {
	parts := []gap{found}
	for _, known := range w.gaps {
		parts = without(parts, known)
	}
	for _, part := range parts {
		longest = max(longest, part.width())
	}
	return longest
}

// around returns the smallest span that contains h and the span between two instants. An empty h is
// ignored.
func around(h gap, first, end clock.Instant) gap {
	if h.empty() {
		return gap{from: first, to: end}
	}
	return gap{from: min(h.from, first), to: max(h.to, end)}
}

// between returns the span between two instants, without both of them.
func between(a, b clock.Instant) gap { return gap{from: min(a, b) + 1, to: max(a, b)} }

// remember notes a span without entries as a gap, except for its last moments. If it
// contains known gaps that were skipped, it is checked again when the first of them is due.
func (w *walk) remember(found gap) {
	found.to = min(found.to, w.now.Add(-listedWithin))
	if found.empty() {
		return
	}
	found.until = w.t.rt.Elapsed() + gapKept
	for _, known := range w.gaps {
		if known.from < found.to && known.to > found.from {
			found.until = min(found.until, known.until)
		}
	}
	w.t.gaps.note(w.feed, found, w.began)
}

// parts returns the slices that the walk reads of each partition of a day, in its direction:
// what follows the start of the walk and is in no gap. through reports that a gap reaches
// into the next day.
func (w *walk) parts(d Day) (all []Slice, through bool) {
	first, end := firstOf(d), firstOf(d+1)
	var from *Entry
	if w.from != nil && d == DayOf(w.from.Created) {
		from = w.from
	}
	for i := range w.gaps {
		h := w.gaps[i]
		near, far := h.from, h.to // in the direction of the walk
		if !w.newer {
			h = w.gaps[len(w.gaps)-1-i]
			near, far = h.to, h.from
		}
		if h.to <= first || h.from >= end || from != nil && !w.behind(*before(far), *from) {
			continue // on another day, or already passed
		}
		reaches := near < end // the gap begins on this day
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

// behind reports whether position a comes after b in the direction of the walk.
func (w *walk) behind(a, b Entry) bool { return w.newer == (Compare(a, b) > 0) && Compare(a, b) != 0 }
