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
	// minExpired is how many consecutive expired entries a walk must pass to remember a gap.
	minExpired = 200
	// A gap is old if its span was not read for gapOldAfter. To read it again is to verify the gap. An old gap is
	// skipped for gapGrace longer, while a reader or a background task verifies it. Then it is stale: pages
	// read its span, but the gap stays known, so that a verification can renew it.
	gapOldAfter = 10 * time.Second
	gapGrace    = 2 * time.Second
	// A new entry is usually in the feed within listedWithin: two seconds, and one more because the clocks of
	// two gateways may differ that much. A gap ends at least that long before the walk that finds it. Pages read
	// past removed entries that are newer, which takes some microseconds each.
	listedWithin = 3 * time.Second
	// A walk remembers an empty span that reaches at least growBy beyond a gap that it skips.
	growBy = time.Second
	// Two gaps that touch are merged if they were last read less than mergeWithin apart. Without this, a gap that
	// grows would soon be kept as more than maxGaps gaps. That can still happen if only readers verify it,
	// because each verifies only the parts that are old.
	mergeWithin = 4 * time.Second
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
	// puts are the entries that this process has put where a gap may be, or has put again. A walk that began before
	// a put may not have read the entry, so the entry is excluded from the gaps that this walk finds. A removal that
	// follows may have a smaller timestamp than the put, and so lose against it. So no gap grows over these entries.
	puts recent
	// drops are the entries that this process has removed, and searched is how many of them it had removed when
	// the last search began.
	drops    recent
	searched int
	// remaining are the entries in the span of the last search.
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

// contains reports whether an entry of this creation time is among the last maxRecent.
func (r *recent) contains(created clock.Instant) bool { return slices.Contains(r.created, created) }

// beginning is what is known of a feed when a walk begins.
type beginning struct {
	elapsed   time.Duration // when the walk begins, by the monotonic clock
	puts      putCount
	dropCount int    // how many entries this process has removed
	skip      []span // the gaps that the walk skips: disjoint, oldest first
	// dueEnd is the end of the newest gap that should be verified in the background: a gap in skip that is due or
	// was forecast, or a stale gap; clock.Min if there is none.
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
	return beginning{elapsed: elapsed, puts: putCount{k, k.puts.count}, dropCount: k.drops.count, dueEnd: clock.Min}
}

// beginSkipping returns what a walk that skips the known gaps needs at its start. newest reports whether it is
// a walk of the newest page. Walks skip an old gap until it has been old for gapGrace; then it is stale.
// Until then, at most one walk of a page other than the newest does not skip it, and so reads its span if it gets
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
		if one.stale(elapsed) {
			b.dueEnd = one.to // the newest so far
			continue
		}
		if elapsed >= one.until+wait && verifies {
			*skipUntil = max(*skipUntil, one.until+gapGrace)
			continue
		}
		b.skip = append(b.skip, one)
		if one.due(elapsed) {
			b.dueEnd = one.to // the newest so far
		}
	}
	k.all = kept
	if elapsed >= k.remaining.covered.until {
		k.remaining.forget()
	}
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
		found = found.widerPart(created)
	}
	all := without(k.all, found)
	at, _ := slices.BinarySearchFunc(all, found, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	k.all = mostUseful(merged(slices.Insert(all, at, found)))
}

// mostUseful removes gaps until maxGaps are left: first those that were stale when another one was last read, then
// the narrowest.
func mostUseful(all []span) []span {
	latest := time.Duration(math.MinInt64)
	for _, g := range all {
		latest = max(latest, g.until)
	}
	stale := func(g span) bool { return g.stale(latest - gapOldAfter) }
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

// merged joins gaps that touch and were last read at nearly the same time.
func merged(all []span) []span {
	rest := all[:1]
	for _, one := range all[1:] {
		if last := &rest[len(rest)-1]; last.to >= one.from && (last.until-one.until).Abs() < mergeWithin {
			last.to, last.until = max(last.to, one.to), min(last.until, one.until)
		} else {
			rest = append(rest, one)
		}
	}
	return rest
}

// cut excludes the given entries, which a walk has read, from the gaps, and adds them to the remaining ones. Of a
// gap it keeps the wider part before or after an entry. It also excludes an entry from the forecast if the entry
// expires after its span becomes a gap. It ignores entries that this process has removed since the walk began with
// b, and all entries if it does not remember all that were removed. An entry of another process may then be hidden,
// but no longer than any other late entry in a gap.
func (c *gapCache) cut(feed Feed, b beginning, entries ...Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	if k.drops.count-b.dropCount > maxRecent {
		return
	}
	for _, e := range k.withoutDropped(entries, b) {
		k.cut(e)
	}
}

// withoutDropped returns the entries that a walk has read, except for those that this process has removed since the
// walk began with b. If it has removed more than maxRecent, the earlier ones are not known, and so not left out.
func (k *knownGaps) withoutDropped(entries []Entry, b beginning) (rest []Entry) {
	dropped := k.drops.since(b.dropCount)
	slices.Sort(dropped)
	for _, e := range entries {
		if _, found := slices.BinarySearch(dropped, e.Created); !found {
			rest = append(rest, e)
		}
	}
	return rest
}

// drop remembers an entry that this process has removed from a feed that it reads, and lets a gap next to it grow.
func (c *gapCache) drop(feed Feed, e Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.feeds[feed]; k != nil {
		k.drops.add(e.Created)
		k.dropRemaining(e)
	}
}

// put excludes an entry, which this process has put, from all gaps, including those that a walk has found but
// not noted yet. again reports whether the feed may have had the entry before.
func (c *gapCache) put(feed Feed, e Entry, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	k.cut(e)
	if !again && e.Created >= k.latest.Add(-listedWithin) {
		return // newer than any gap that a walk is about to note
	}
	k.puts.add(e.Created)
}

func (k *knownGaps) cut(e Entry) {
	for i := range k.all {
		k.all[i] = k.all[i].widerPart(e.Created)
	}
	k.excludeEntry(e)
	k.remaining.add(e)
}
