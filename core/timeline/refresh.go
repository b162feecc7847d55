package timeline

import (
	"context"
	"math"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
)

const (
	// refreshEvery is the shortest time between the starts of two verifications of the gaps of a feed,
	// and between those of two forecasts.
	refreshEvery = 5 * time.Second
	// refreshWithin is the time limit of a verification, of a forecast, and of a series of searches. It is
	// shorter than gapOldAfter, so that the next verification can begin before the renewed gaps are old.
	refreshWithin = 8 * time.Second
	// refreshDelay is how long a background task waits before it starts. Otherwise the operating
	// system may let it run on the core of the reader that has started it, while another core is
	// idle, and that reader's page takes some milliseconds longer.
	refreshDelay = 10 * time.Millisecond
	// A gap is due if it is old, or becomes old within dueWithin. Reads of the newest page start verifications of
	// due gaps, at most one every refreshEvery. Unless a verification is running, searches read due gaps again, too.
	dueWithin = 3 * time.Second
)

// never, as the argument within of beginTask, lets a task skip all known gaps.
const never = time.Duration(math.MinInt64 / 2)

// refreshTasks is a set of background tasks: to verify known gaps, to search for gaps where this process has
// removed entries, and to forecast gaps where entries expire.
type refreshTasks struct{ verify, search, forecast bool }

// refresh starts the background tasks that startRefresh selects. They run in the background, because each may
// read very many entries. The caller has read the newest page with w.
func (w *walk) refresh(ctx context.Context) {
	t := w.t
	pending, atGap := w.pending()
	due := w.dueEnd > clock.Min
	do, searching, known := t.gaps.startRefresh(w.feed, t.rt.Elapsed(), pageRead{
		due:      due,
		reached:  due && (w.last == nil || w.dueEnd > w.last.Created || atGap),
		removed:  !w.removedDays.empty(),
		expiring: 2*w.expiring > w.passed,
	})
	if do == (refreshTasks{}) {
		return
	}
	ctx, feed := t.rt.Detach(ctx), w.feed
	start := func(task refreshTasks, run func(context.Context, Feed)) {
		t.rt.Go(func() {
			_ = t.rt.After(ctx, refreshDelay) // ctx is never canceled
			run(ctx, feed)
			t.gaps.endRefresh(known, task)
		})
	}
	if do.verify {
		// The page may have read one partition up to a gap and others not, so more entries may lie before
		// the gap than the page has read.
		limit := max(cursor.MaxPageSize+1, 2*(w.taken+pending))
		start(refreshTasks{verify: true}, func(ctx context.Context, feed Feed) { t.verify(ctx, feed, limit, searching) })
	}
	if do.search {
		start(refreshTasks{search: true}, t.searchRepeatedly)
	}
	if do.forecast {
		start(refreshTasks{forecast: true}, t.forecast)
	}
}

// verify reads the newest entries, at most limit of them, and renews the gaps among them. If all is set, it first
// renews all gaps that are due, the oldest first. A walk from the newest entries might be overtaken by removals.
// It would then read through the older gaps before it renews any. When it reads the newest entries, verify skips
// the gaps that were read in the last two seconds: the next verification is early enough for them. After an error,
// the next verification, or a reader, reads the gaps that were not renewed. But if the oldest gap is stale and
// could not be read, verify forgets it: otherwise it might keep all verifications from the newer ones.
func (t *Timelines) verify(ctx context.Context, feed Feed, limit int, all bool) {
	ctx, cancel := t.rt.Deadline(ctx, refreshWithin)
	defer cancel()
	if all {
		from := before(clock.Min)
		for n := range maxGaps {
			if from = t.gaps.dueAfter(feed, t.rt.Elapsed(), from.Created); from == nil {
				break
			}
			if err := t.verifyFrom(ctx, feed, from, cursor.MaxPageSize+1, dueWithin); err != nil {
				if n == 0 {
					t.gaps.forgetStale(feed, t.rt.Elapsed(), from.Created)
				}
				return
			}
		}
	}
	_ = t.verifyFrom(ctx, feed, nil, limit, refreshEvery+dueWithin)
}

// verifyFrom reads at most limit entries that are older than the position from, or the newest ones if from is nil.
// It renews the gaps among them that are old or become old within the given time, and skips the others.
func (t *Timelines) verifyFrom(ctx context.Context, feed Feed, from *Entry, limit int, within time.Duration) error {
	now := clock.Of(t.rt.Now())
	b := t.gaps.beginTask(feed, t.rt.Elapsed(), now, within)
	w, err := t.newWalk(ctx, feed, from, false, cursor.MaxPageSize+1, now, b)
	if err != nil {
		return err
	}
	end := w.empty.from // where the walk begins
	var taken []Entry
	for len(taken) < limit {
		n := min(limit-len(taken), maxSlice)
		if len(taken) == 0 {
			n = cursor.MaxPageSize + 1 // first renew the gaps that the newest page may reach
		}
		batch, err := w.take(ctx, n)
		if err != nil {
			return err
		}
		taken = append(taken, batch...)
		full := len(batch) == n
		t.gaps.renew(feed, span{from: w.reached(full), to: end}, b, taken)
		if !full {
			break
		}
	}
	return nil
}

// dueAfter finds the oldest due gap that ends after an instant, joined with the gaps that it touches. It returns
// the newer end, from which a walk to older entries reads the gap, or nil if there is none.
func (c *gapCache) dueAfter(feed Feed, elapsed time.Duration, end clock.Instant) (from *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range union(c.of(feed).all, nil) {
		if g.to > end && g.due(elapsed) {
			return before(g.to)
		}
	}
	return nil
}

// forgetStale forgets the stale gaps that end at or before an instant.
func (c *gapCache) forgetStale(feed Feed, elapsed time.Duration, end clock.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	k.all = slices.DeleteFunc(k.all, func(g span) bool { return g.to <= end && g.stale(elapsed) })
}

// reached returns the instant up to which the walk has read, in its direction. full reports whether the walk
// stopped because it had read enough: then that is the instant of the last entry that it has passed.
func (w *walk) reached(full bool) clock.Instant {
	switch {
	case !full && w.budget > 0:
		return w.end(w.newer)
	case !full && !w.newer:
		return w.last.Created + 1 // more entries of that instant may follow
	}
	return w.last.Created
}

// beginTask returns what the walk of a background task needs at its start. The walk reads the gaps that are old, or
// become old within the given time, and skips the others. Gaps that touch are read or skipped together, so that they
// can be renewed together.
func (c *gapCache) beginTask(feed Feed, elapsed time.Duration, now clock.Instant, within time.Duration) beginning {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	b := k.begin(elapsed, now)
	b.skip = slices.DeleteFunc(union(k.all, nil), func(g span) bool { return elapsed >= g.until-within })
	return b
}

// renew records that the known gaps in a span were read by walks that began with b. It leaves out gaps that these
// walks have skipped, and gaps that were read later. The walks have taken the given entries. renew excludes them
// from the renewed gaps, because a slower walk may meanwhile have noted a gap that contains one of them. It does
// not exclude those that this process has removed since.
func (c *gapCache) renew(feed Feed, covered span, b beginning, taken ...[]Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	entries := k.withoutDropped(slices.Concat(taken...), b)
	for i, g := range k.all {
		if g.from < covered.from || g.to > covered.to || g.until >= b.elapsed+gapOldAfter || slices.ContainsFunc(b.skip, g.overlaps) {
			continue
		}
		g.until = b.elapsed + gapOldAfter
		for _, e := range entries {
			g = g.widerPart(e.Created)
		}
		k.all[i] = g
	}
}

// pageRead describes a read of the newest page.
type pageRead struct {
	due      bool // a known gap should be verified (see dueEnd)
	reached  bool // the page has reached such a gap
	removed  bool // the store has skipped many removed entries
	expiring bool // most entries have an expiry time
}

// startRefresh decides which tasks start now. At most one task of each kind runs at a time, and a verification
// and a forecast each start at most once every refreshEvery. Searches start if this process has removed
// manyDropped entries since the last search. If no searches are running, a verification starts if the page has
// reached a gap that should be verified, or has read past many removed entries. While searches are running, one
// starts if any gap should be verified, even if the page has not reached it: later pages may. A forecast starts if
// most entries that the page has read have an expiry time. searching reports whether searches are running. The
// caller must run the tasks, and call endRefresh with known after each.
func (c *gapCache) startRefresh(feed Feed, elapsed time.Duration, page pageRead) (do refreshTasks, searching bool, known *knownGaps) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	if k.drops.count-k.searched >= manyDropped && !k.running.search {
		do.search, k.running.search = true, true
	}
	verify := page.reached || page.removed
	if k.running.search {
		verify = page.due
	}
	if verify && !k.running.verify && elapsed >= k.nextVerify {
		do.verify, k.running.verify, k.nextVerify = true, true, elapsed+refreshEvery
	}
	if page.expiring && !k.running.forecast && elapsed >= k.nextForecast {
		do.forecast, k.running.forecast, k.nextForecast = true, true, elapsed+refreshEvery
	}
	return do, k.running.search, k
}

// endRefresh records that tasks have ended.
func (c *gapCache) endRefresh(k *knownGaps, ended refreshTasks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.running.verify = k.running.verify && !ended.verify
	k.running.search = k.running.search && !ended.search
	k.running.forecast = k.running.forecast && !ended.forecast
}
