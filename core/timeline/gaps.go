package timeline

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
)

const (
	// minExpired is the smallest number of consecutive expired entries that is remembered as a gap.
	minExpired = 200
	// A gap is old if its span was not read for gapKept. To read it again is to verify the gap. An old gap is
	// skipped for gapGrace longer, while a reader or a background task verifies it.
	gapKept  = 10 * time.Second
	gapGrace = 2 * time.Second
	// A new entry is usually in the feed within listedWithin: two seconds, and one more because the clocks of
	// two gateways may differ that much. A gap ends at least that long before now. Each removed entry that was
	// created since then costs a page some microseconds.
	listedWithin = 3 * time.Second
	// growBy is by how much a known gap must have grown at one end before it is remembered again.
	growBy = time.Second
	// Two gaps that touch are merged if they were found less than foundTogether apart. Without this, a gap that
	// grows would soon be kept as more than maxGaps gaps. That can still happen if only readers verify it,
	// because each verifies only the parts that are old.
	foundTogether = 4 * time.Second
	// maxGaps is how many gaps of a feed are remembered at most.
	maxGaps = 8
	// maxRecent is how many of the last puts, and of the last removals, of this process are remembered.
	maxRecent = 1024
)

// span is a time span, from inclusive and to exclusive. It is a gap if a feed has no entries to show in it: all
// were removed or have expired. Reading past them takes time until the store has cleaned up. An entry that
// another process puts there late, or changes there to expire later, is hidden while the gap is remembered.
type span struct {
	from, to clock.Instant
	// until is when a known gap becomes old, or when pages stop using a span of a forecast (see futureGap), by
	// the monotonic clock; 0 in other spans.
	until time.Duration
}

func (s span) empty() bool { return s.from >= s.to }

// micros returns the length of the span in microseconds. It may be longer than a time.Duration.
func (s span) micros() int64 { return int64(s.to - s.from) }

// gapCache remembers the gaps of feeds. It is safe for concurrent use.
type gapCache struct {
	mu    sync.Mutex
	feeds map[Feed]*knownGaps
}

// knownGaps is what a process knows about the gaps of one feed.
type knownGaps struct {
	all []span // disjoint, oldest first
	// puts are the entries that this process has put where a gap may be. A walk that began before a put may not
	// have read the entry, so the entry is excluded from the gaps that this walk finds.
	puts recent
	// drops are the entries that this process has removed, and searched is how many of them it had removed when
	// the last search began.
	drops    recent
	searched int
	// latest is the latest start of a walk. All gaps end before it.
	latest clock.Instant
	// forecast are spans that become gaps, disjoint, oldest first.
	forecast []futureGap
	// running are the tasks that run in the background. The next verification and the next forecast start no
	// earlier than nextVerify and nextForecast, by the monotonic clock.
	running                  refreshTasks
	nextVerify, nextForecast time.Duration
	// Until skipUntil, by the monotonic clock, readers of pages other than the newest skip old gaps, because
	// another reader has begun to verify them. newestSkipUntil is that time for readers of the newest page. The
	// two are separate because a reader of another page may not reach the gaps that the newest page reaches.
	skipUntil, newestSkipUntil time.Duration
}

// recent counts entries, and remembers the creation times of the last maxRecent of them.
type recent struct {
	created []clock.Instant // a ring buffer
	count   int
}

func (r *recent) add(created clock.Instant) {
	if len(r.created) < maxRecent {
		r.created = append(r.created, created)
	} else {
		r.created[r.count%maxRecent] = created
	}
	r.count++
}

// since returns the creation times of the entries that were added after the first n. If there are more than
// maxRecent of them, it returns only those of the last maxRecent.
func (r *recent) since(n int) (created []clock.Instant) {
	for n = max(n, r.count-maxRecent); n < r.count; n++ {
		created = append(created, r.created[n%maxRecent])
	}
	return created
}

// beginning is what is known of a feed when a walk begins.
type beginning struct {
	elapsed time.Duration // when the walk begins, by the monotonic clock
	puts    putCount
	skip    []span // the gaps that the walk skips: disjoint, oldest first
	// dueEnd is the end of the newest gap in skip that should be verified in the background, because it is old,
	// becomes old within dueWithin, or was forecast; clock.Min if there is none.
	dueEnd clock.Instant
}

// putCount is the number of puts of a feed when a walk began.
type putCount struct {
	of  *knownGaps
	put int
}

// of returns the gaps of a feed. The caller holds mu.
func (c *gapCache) of(feed Feed) *knownGaps {
	k := c.feeds[feed]
	if k == nil {
		if len(c.feeds) >= maxFeeds {
			c.evict()
		}
		k = &knownGaps{}
		c.feeds[feed] = k
	}
	return k
}

// evict forgets some feed for which nothing runs in the background. The caller holds mu.
func (c *gapCache) evict() {
	// The order does not matter: the gaps of any feed are found again.
	for feed, k := range c.feeds {
		if k.running == (refreshTasks{}) {
			delete(c.feeds, feed)
			return
		}
	}
}

// begin returns what a walk that skips no gaps needs at its start. elapsed and now are the time by the
// monotonic clock and by the wall clock.
func (c *gapCache) begin(feed Feed, elapsed time.Duration, now clock.Instant) beginning {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(feed).begin(elapsed, now)
}

func (k *knownGaps) begin(elapsed time.Duration, now clock.Instant) beginning {
	k.latest = max(k.latest, now)
	return beginning{elapsed: elapsed, puts: putCount{k, k.puts.count}, dueEnd: clock.Min}
}

// beginSkipping returns what a walk that skips the known gaps needs at its start. newest reports whether it is
// a walk of the newest page. Walks skip an old gap until it has been old for gapGrace; then it is forgotten.
// Until then, at most one walk of a page other than the newest does not skip it, and so verifies it if it gets
// that far. At most one walk of the newest page does the same, but only once the gap has been old for half of
// gapGrace: before that, the gap is left to a background task.
func (c *gapCache) beginSkipping(feed Feed, elapsed time.Duration, now clock.Instant, newest bool) beginning {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	b := k.begin(elapsed, now)
	wait, skipUntil := time.Duration(0), &k.skipUntil
	if newest {
		wait, skipUntil = gapGrace/2, &k.newestSkipUntil
	}
	verifies := elapsed >= *skipUntil
	var kept []span
	for _, one := range k.all {
		if one.empty() || elapsed >= one.until+gapGrace {
			continue
		}
		kept = append(kept, one)
		if elapsed >= one.until+wait && verifies {
			*skipUntil = max(*skipUntil, one.until+gapGrace)
			continue
		}
		b.skip = append(b.skip, one)
		if elapsed >= one.until-dueWithin {
			b.dueEnd = one.to // the newest so far
		}
	}
	k.all = kept
	expired := k.expiredSpans(elapsed, now)
	if n := len(expired); n > 0 {
		b.dueEnd = max(b.dueEnd, expired[n-1].to)
	}
	b.skip = union(b.skip, expired)
	return b
}

// union returns the gaps of two sorted lists, and joins those that overlap or touch.
func union(a, b []span) (all []span) {
	for len(a) > 0 || len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && a[0].from < b[0].from {
			a, b = b, a
		}
		all, b = join(all, b[0]), b[1:]
	}
	return all
}

// hasPuts reports whether k remembers all puts since a walk began. It does not if there were too many, or if the
// feed was forgotten meanwhile.
func (k *knownGaps) hasPuts(since putCount) bool {
	return k == since.of && k.puts.count-since.put <= maxRecent
}

// note remembers a gap that a walk has found. The gap replaces the parts of other gaps that it overlaps. since
// is the putCount with which the walk began: entries put later are excluded from the gap. If not all of them
// are known, note does nothing. It keeps the widest maxGaps gaps.
func (c *gapCache) note(feed Feed, found span, since putCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	if !k.hasPuts(since) {
		return
	}
	for _, created := range k.puts.since(since.put) {
		found = found.excluding(created)
	}
	all := without(k.all, found)
	at, _ := slices.BinarySearchFunc(all, found, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for all = merged(slices.Insert(all, at, found)); len(all) > maxGaps; {
		narrowest := 0
		for i := range all {
			if all[i].micros() < all[narrowest].micros() {
				narrowest = i
			}
		}
		all = slices.Delete(all, narrowest, narrowest+1)
	}
	k.all = all
}

// merged joins gaps that touch and were found at nearly the same time.
func merged(all []span) []span {
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

// cut excludes the given entries, which the caller has read, from all gaps, and from spans of the forecast that
// would become gaps before they expire.
func (c *gapCache) cut(feed Feed, entries ...Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(feed).cut(entries...)
}

// drop remembers an entry that this process has removed from a feed that it reads.
func (c *gapCache) drop(feed Feed, e Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.feeds[feed]; k != nil {
		k.drops.add(e.Created)
	}
}

// put excludes an entry, which this process has put, from all gaps, including those that a walk has found but
// not noted yet.
func (c *gapCache) put(feed Feed, e Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	k.cut(e)
	if e.Created >= k.latest.Add(-listedWithin) {
		return // newer than any gap that a reader is about to note
	}
	k.puts.add(e.Created)
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
func (g span) excluding(at clock.Instant) span {
	if at < g.from || at >= g.to {
		return g
	}
	older, newer := span{g.from, at, g.until}, span{at + 1, g.to, g.until}
	if older.micros() < newer.micros() {
		return newer
	}
	return older
}

// without returns the parts of gaps that are outside of cut.
func without(all []span, cut span) []span {
	var rest []span
	for _, one := range all {
		for _, part := range []span{{one.from, min(one.to, cut.from), one.until}, {max(one.from, cut.to), one.to, one.until}} {
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
	from    clock.Instant // its beginning
	expired int           // the number of expired entries
}

// endSkipped ends the skipped span at an entry that is taken, at the end of the feed, or where the walk stops
// because it has skipped maxExpired entries. A span with many expired entries is a gap. So is a span that
// reaches beyond a gap that the walk skips (see grown), and, in a search, one with many entries that this
// process has removed. If the store has skipped many removed entries, one of the spans is a gap too, but the
// store does not report which one. The walk chooses the one with the longest part outside the gaps that it
// skips. If that is wrong, the next walk skips that span, and so chooses another one.
func (w *walk) endSkipped(at clock.Instant) {
	found := between(w.skipped.from, at)
	if w.skipped.expired >= minExpired || w.dropsIn(found) >= minDropped || w.grown(found) {
		w.remember(found)
	}
	if !w.removedDays.empty() {
		found.from, found.to = max(found.from, w.removedDays.from), min(found.to, w.removedDays.to)
		if length := w.longestOutside(found); length > w.longest {
			w.likeliest, w.longest = found, length
		}
	}
	w.skipped = skippedSpan{from: at}
}

// grown reports whether an empty span reaches at least growBy beyond a gap that the walk skips, at either end.
// The part beyond may have few removed entries, but without this every page would read past them.
func (w *walk) grown(found span) bool {
	end := min(found.to, w.now.Add(-listedWithin))
	for _, g := range w.skip {
		if g.from < found.to && g.to > found.from && (end >= g.to.Add(growBy) || found.from.Add(growBy) <= g.from) {
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
func (w *walk) outsideGaps(found span) []span {
	if found.empty() {
		return nil
	}
	parts := []span{found}
	for _, g := range w.skip {
		parts = without(parts, g)
	}
	return parts
}

// around returns the smallest span that contains g and the span between two instants. An empty g is
// ignored.
func around(g span, first, end clock.Instant) span {
	if g.empty() {
		return span{from: first, to: end}
	}
	return span{from: min(g.from, first), to: max(g.to, end)}
}

// between returns the span between two instants, excluding both.
func between(a, b clock.Instant) span { return span{from: min(a, b) + 1, to: max(a, b)} }

// remember notes those parts of an empty span that the walk has read. It leaves out the gaps that the walk has
// skipped, and the last listedWithin before now.
func (w *walk) remember(found span) {
	found.to = min(found.to, w.now.Add(-listedWithin))
	found.until = w.elapsed + gapKept
	for _, read := range w.outsideGaps(found) {
		w.t.gaps.note(w.feed, read, w.puts)
	}
}

// parts returns the slices that the walk reads of each partition of a day, in its direction:
// what follows the start of the walk and is in no gap. Each slice ends at the next gap. The last one
// ends with the day, unless a gap covers the end of the day.
func (w *walk) parts(d Day) (all []Slice) {
	first, end := firstOf(d), firstOf(d+1)
	var from *Entry
	if w.from != nil && d == DayOf(w.from.Created) {
		from = w.from
	}
	for i := range w.skip {
		g := w.skip[i]
		near, far := g.from, g.to // in the direction of the walk
		if !w.newer {
			g = w.skip[len(w.skip)-1-i]
			near, far = g.to, g.from
		}
		if g.to <= first || g.from >= end || from != nil && !w.after(*before(far), *from) {
			continue // on another day, or already passed
		}
		beginsHere := near < end // the day has time before the gap, in the direction of the walk
		if w.newer {
			beginsHere = near > first
		}
		if beginsHere && (from == nil || w.after(*before(near), *from)) {
			all = append(all, Slice{From: from, To: before(near), Newer: w.newer})
		}
		if w.newer && far >= end || !w.newer && far <= first {
			return all
		}
		from = before(far)
	}
	return append(all, Slice{From: from, Newer: w.newer})
}

// after reports whether position a comes after b in the direction of the walk.
func (w *walk) after(a, b Entry) bool { return w.newer == (Compare(a, b) > 0) && Compare(a, b) != 0 }
