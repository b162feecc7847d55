package timeline

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
)

const (
	// minExpired is the smallest number of consecutive expired entries that is remembered as a gap.
	minExpired = 200
	// A gap is old if its span was not read for gapKept. To read it again is to verify the gap. An old gap is
	// skipped for gapGrace longer, while a reader or a background task verifies it. Then it is stale: it is not
	// skipped, but verifications look for it.
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
	// remaining are entries between the gaps that the last search has found.
	remaining remaining
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
	drops   int    // how many entries this process has removed
	skip    []span // the gaps that the walk skips: disjoint, oldest first
	// dueEnd is the end of the newest gap in skip that should be verified in the background, because it is old,
	// becomes old within dueWithin, or was forecast; clock.Min if there is none.
	dueEnd clock.Instant
	// stale reports whether the walk does not skip some known gaps because they are stale.
	stale bool
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
	return beginning{elapsed: elapsed, puts: putCount{k, k.puts.count}, drops: k.drops.count, dueEnd: clock.Min}
}

// beginSkipping returns what a walk that skips the known gaps needs at its start. newest reports whether it is
// a walk of the newest page. Walks skip an old gap until it has been old for gapGrace; then it is stale.
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
		if one.empty() {
			continue
		}
		kept = append(kept, one)
		if elapsed >= one.until+gapGrace {
			b.stale = true
			continue
		}
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

// hasPuts reports whether k remembers all puts since a walk began. It does not if there were too many, or if the
// feed was forgotten meanwhile.
func (k *knownGaps) hasPuts(since putCount) bool {
	return k == since.of && k.puts.count-since.put <= maxRecent
}

// note remembers a gap that a walk has found. The gap replaces the parts of other gaps that it overlaps. since
// is the putCount with which the walk began: entries put later are excluded from the gap. If not all of them
// are known, note does nothing. It keeps at most maxGaps gaps (see mostUseful).
func (c *gapCache) note(feed Feed, found span, since putCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(feed).note(found, since)
}

func (k *knownGaps) note(found span, since putCount) {
	if !k.hasPuts(since) {
		return
	}
	for _, created := range k.puts.since(since.put) {
		found = found.excluding(created)
	}
	all := without(k.all, found)
	at, _ := slices.BinarySearchFunc(all, found, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	k.all = mostUseful(merged(slices.Insert(all, at, found)))
}

// mostUseful removes gaps until maxGaps are left: the narrowest ones, but first those that are stale when the
// latest one is found.
func mostUseful(all []span) []span {
	latest := time.Duration(math.MinInt64)
	for _, g := range all {
		latest = max(latest, g.until)
	}
	stale := func(g span) bool { return g.until+gapGrace <= latest-gapKept }
	for len(all) > maxGaps {
		worst := 0
		for i, g := range all {
			if s := stale(g); s && !stale(all[worst]) || s == stale(all[worst]) && g.micros() < all[worst].micros() {
				worst = i
			}
		}
		all = slices.Delete(all, worst, worst+1)
	}
	return all
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

// cut excludes the given entries, which a walk has read, from all gaps, and from spans of the forecast that would
// become gaps before they expire. It leaves out entries that were removed since the walk began with b.
func (c *gapCache) cut(feed Feed, b beginning, entries ...Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	removed := k.drops.since(b.drops)
	for _, e := range entries {
		if !slices.Contains(removed, e.Created) {
			k.cut(e)
		}
	}
}

// drop remembers an entry that this process has removed from a feed that it reads.
func (c *gapCache) drop(feed Feed, e Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.feeds[feed]; k != nil {
		k.drops.add(e.Created)
		k.removeRemaining(e)
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

func (k *knownGaps) cut(e Entry) {
	if slices.ContainsFunc(k.all, func(g span) bool { return g.contains(e.Created) }) {
		k.all = mostUseful(without(k.all, span{from: e.Created, to: e.Created + 1}))
	}
	k.excludeEntry(e)
	k.remaining.add(e)
}
