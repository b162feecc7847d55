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
	// gapKept is how long a process skips a gap without verifying it. While one reader verifies it,
	// others skip it for gapGrace longer.
	gapKept  = 10 * time.Second
	gapGrace = 2 * time.Second
	// listedWithin is the time within which a new entry is usually in the feed: two seconds,
	// and twice the half second by which the clocks of gateways may differ. A gap ends that
	// long before now. Each removal since then costs a page some microseconds.
	listedWithin = 3 * time.Second
	// growBy is how much longer a known gap must have become to be noted again.
	growBy = clock.Instant(time.Second / time.Microsecond)
	// Gaps that touch are merged if they were found within foundTogether of each other. So a gap that
	// grows all the time consists of fewer than mostGaps.
	foundTogether = 2 * time.Second
	// mostGaps is how many gaps of a feed are remembered.
	mostGaps = 8
	// mostPuts is how many of the last puts of this process are remembered. A gap may be noted after
	// a put that its walk did not see.
	mostPuts = 1024
)

// gap is a time span, from inclusive and to exclusive, in which a feed has no entries to
// show: all were removed or have expired. Reading past them takes time until the store has
// cleaned up. An entry that another process puts there late, or changes there to expire later, is
// hidden while the gap is remembered.
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
	// puts is a ring buffer with the instants of the last mostPuts entries that this process has put
	// and that could be in a gap; put is the number of all these puts.
	puts []clock.Instant
	put  int
	// latest is the latest start of a walk. All gaps end before it.
	latest clock.Instant
	// forecast are spans that become gaps, disjoint, oldest first.
	forecast []span
	// running are the tasks that run in the background. The next ones start no earlier than
	// nextVerify and nextForecast, by the monotonic clock.
	running                  refreshTasks
	nextVerify, nextForecast time.Duration
	// verifying is until when others skip old gaps, because one reader verifies them.
	verifying time.Duration
}

// beginning is what is known of a feed when a walk begins.
type beginning struct {
	at    time.Duration // of the walk, by the monotonic clock
	began mark
	gaps  []gap // that the walk skips: disjoint, oldest first
	// unverified is the end of the newest gap that should be verified in the background, because it
	// is old or was forecast; clock.Min if there is none.
	unverified clock.Instant
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
			h.evict()
		}
		k = &knownGaps{}
		h.feeds[feed] = k
	}
	return k
}

// evict forgets some feed for which nothing runs in the background. The caller holds mu.
func (h *gaps) evict() {
	// The order does not matter: the gaps of any feed are found again.
	for feed, k := range h.feeds {
		if k.running == (refreshTasks{}) {
			delete(h.feeds, feed)
			return
		}
	}
}

// begin returns what a walk that skips no gaps needs at its start. at is the time of the walk.
func (h *gaps) begin(feed Feed, now time.Duration, at clock.Instant) beginning {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of(feed).begin(now, at)
}

func (k *knownGaps) begin(now time.Duration, at clock.Instant) beginning {
	k.latest = max(k.latest, at)
	return beginning{at: now, began: mark{k, k.put}, unverified: clock.Min}
}

// known returns what the walk of a reader needs at its start, with the gaps that it skips. The first
// reader after a gap became old does not skip it, and so verifies it; others skip it for gapGrace
// longer. at is the time of the walk.
func (h *gaps) known(feed Feed, now time.Duration, at clock.Instant) beginning {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.of(feed)
	b := k.begin(now, at)
	verifies := now >= k.verifying
	var kept []gap
	for _, one := range k.all {
		switch {
		case one.empty() || now >= one.until+gapGrace:
			continue
		case now < one.until:
			if now >= one.until-dueWithin {
				b.unverified = one.to // the newest so far
			}
			b.gaps = append(b.gaps, one)
		case verifies:
			k.verifying = now + gapGrace
		default:
			b.gaps = append(b.gaps, one)
		}
		kept = append(kept, one)
	}
	k.all = kept
	ended := k.ended(now, at)
	if n := len(ended); n > 0 {
		b.unverified = max(b.unverified, ended[n-1].to)
	}
	b.gaps = union(b.gaps, ended)
	return b
}

// union returns the gaps of two sorted lists, and joins those that overlap or touch.
func union(a, b []gap) (all []gap) {
	for len(a) > 0 || len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && a[0].from < b[0].from {
			a, b = b, a
		}
		all, b = join(all, b[0]), b[1:]
	}
	return all
}

// knows reports whether k has all puts since a mark.
func (k *knownGaps) knows(since mark) bool { return k == since.in && k.put-since.put <= mostPuts }

// note remembers a gap of a feed, and replaces the parts of others that it overlaps. since
// is the mark from before the read: entries put after it are excluded from the gap.
func (h *gaps) note(feed Feed, found gap, since mark) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.of(feed)
	if !k.knows(since) {
		return
	}
	for n := since.put; n < k.put; n++ {
		found = found.excluding(k.puts[n%mostPuts])
	}
	all := without(k.all, found)
	at, _ := slices.BinarySearchFunc(all, found, func(a, b gap) int { return int(min(max(a.from-b.from, -1), 1)) })
	for all = merged(slices.Insert(all, at, found)); len(all) > mostGaps; {
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

// renew keeps the gaps that begin at an instant or later, as if they were found by a walk that began
// at now. The walk has read all of them, and cut them where it took an entry.
func (h *gaps) renew(feed Feed, from clock.Instant, now time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.of(feed).all
	for i := range all {
		if all[i].from >= from {
			all[i].until = max(all[i].until, now+gapKept)
		}
	}
}

// merged joins gaps that touch and were found at nearly the same time.
func merged(all []gap) []gap {
	rest := all[:1]
	for _, one := range all[1:] {
		if last := &rest[len(rest)-1]; last.to >= one.from && (last.until-one.until).Abs() < foundTogether {
			last.to, last.until = max(last.to, one.to), min(last.until, one.until)
		} else {
			rest = append(rest, one)
		}
	}
	return rest
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
	if e.Created >= k.latest.Add(-listedWithin) {
		return // newer than any gap that a reader is about to note
	}
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
	for _, e := range entries {
		k.excludeEntry(e)
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
// spans is a gap too, but the store does not report which one. The walk chooses the one with the
// longest part outside known gaps. If that is wrong, the next walk finds another one.
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
	for _, part := range w.outsideGaps(found) {
		longest = max(longest, part.width())
	}
	return longest
}

// outsideGaps returns the parts of a span that are in no known gap.
func (w *walk) outsideGaps(found gap) []gap {
	if found.empty() {
		return nil
	}
	parts := []gap{found}
	for _, known := range w.gaps {
		parts = without(parts, known)
	}
	return parts
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

// remember notes a span without entries as a gap, except for its last moments and for the gaps in it
// that the walk has skipped: those are as old as they were.
func (w *walk) remember(found gap) {
	found.to = min(found.to, w.now.Add(-listedWithin))
	found.until = w.at + gapKept
	for _, read := range w.outsideGaps(found) {
		w.t.gaps.note(w.feed, read, w.began)
	}
}

// parts returns the slices that the walk reads of each partition of a day, in its direction:
// what follows the start of the walk and is in no gap. Each slice ends at the next gap. The last one
// ends with the day, unless a gap covers its end.
func (w *walk) parts(d Day) (all []Slice) {
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
			return all
		}
		from = before(far)
	}
	return append(all, Slice{From: from, Newer: w.newer})
}

// behind reports whether position a comes after b in the direction of the walk.
func (w *walk) behind(a, b Entry) bool { return w.newer == (Compare(a, b) > 0) && Compare(a, b) != 0 }
