package timeline

import (
	"context"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
)

const (
	// refreshEvery is the shortest time between the starts of two verifications of the gaps of a feed,
	// and between those of two forecasts.
	refreshEvery = 5 * time.Second
	// refreshWithin is the time limit of a background task. It is shorter than gapKept, so that after a
	// verification the next one can begin before the gaps that were renewed are old.
	refreshWithin = 8 * time.Second
	// refreshDelay is how long a background task waits before it starts. Otherwise the operating
	// system may let it run on the core of the reader that has started it, while another core is
	// idle, and that reader's page takes some milliseconds longer.
	refreshDelay = 10 * time.Millisecond
	// A read of the newest page that reaches a gap that is old, or becomes old within dueWithin, starts a
	// verification, at most one every refreshEvery.
	dueWithin = 3 * time.Second
)

// refreshTasks says what to do in the background: verify gaps, search for those that this process makes by
// removing entries, or forecast further ones.
type refreshTasks struct{ verify, search, forecast bool }

// refresh verifies the gaps that the walk has reached, searches for new ones, and forecasts further ones, if
// it is time to. It does so in the background, because each may read very many entries. The caller has read
// the newest page with w. A search is made if this process has removed many entries. If it has not, but w has
// read past many, a verification looks for the gap there. A forecast is made if most entries that w has passed
// have an expiry time.
func (w *walk) refresh(ctx context.Context) {
	t := w.t
	pending, atGap := w.pending()
	reached := w.unverified > clock.Min && (w.last == nil || w.unverified > w.last.Created || atGap)
	do, in := t.gaps.startRefresh(w.feed, t.rt.Elapsed(), refreshTasks{verify: reached, forecast: 2*w.expiring > w.passed}, !w.removed.empty())
	if do == (refreshTasks{}) {
		return
	}
	ctx, feed := t.rt.Detach(ctx), w.feed
	start := func(task refreshTasks, run func(context.Context, Feed)) {
		t.rt.Go(func() {
			_ = t.rt.After(ctx, refreshDelay) // ctx is never canceled
			run(ctx, feed)
			t.gaps.endRefresh(in, task)
		})
	}
	if do.verify {
		// The page may have read one partition up to a gap and others not, so more entries may lie before
		// the gap than the page has read.
		most := max(cursor.MaxPageSize+1, 2*(w.taken+pending))
		start(refreshTasks{verify: true}, func(ctx context.Context, feed Feed) { t.verify(ctx, feed, most) })
	}
	if do.search {
		start(refreshTasks{search: true}, t.searchRepeatedly)
	}
	if do.forecast {
		start(refreshTasks{forecast: true}, t.forecast)
	}
}

// verify takes at most most entries, and renews the gaps that it has read past. It skips the gaps that will not
// be due before the next verification may begin. After an error, readers verify the gaps that were not renewed.
func (t *Timelines) verify(ctx context.Context, feed Feed, most int) {
	ctx, cancel := t.rt.Deadline(ctx, refreshWithin)
	defer cancel()
	now := clock.Of(t.rt.Now())
	b := t.gaps.beginVerifying(feed, t.rt.Elapsed(), now, refreshEvery+dueWithin)
	w, err := t.newWalk(ctx, feed, nil, false, cursor.MaxPageSize+1, now, b)
	if err != nil {
		return
	}
	for taken := 0; taken < most; {
		n := min(most-taken, maxSlice)
		if taken == 0 {
			n = cursor.MaxPageSize + 1 // what the newest pages skip is renewed first
		}
		batch, err := w.take(ctx, n)
		if err != nil {
			return
		}
		taken += len(batch)
		t.gaps.renew(feed, gap{from: w.reached(len(batch) == n), to: now}, b, batch...)
		if len(batch) < n {
			return
		}
	}
}

// beginVerifying returns what a walk needs at its start that skips the gaps that become old after more than
// within, and verifies the others. Of gaps that touch, it skips all or none, so that they are renewed together.
func (c *gapCache) beginVerifying(feed Feed, elapsed time.Duration, now clock.Instant, within time.Duration) beginning {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	b := k.begin(elapsed, now)
	b.skip = slices.DeleteFunc(union(k.all, nil), func(g gap) bool { return elapsed >= g.until-within })
	return b
}

// renew keeps the gaps within a span, as if a walk had found them. b is the beginning of that walk, which has
// read all of the span but what it skipped, and taken the given entries. They are cut out again, because a gap
// may have been noted since.
func (c *gapCache) renew(feed Feed, span gap, b beginning, taken ...Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.of(feed).all
	for i := range all {
		skipped := slices.ContainsFunc(b.skip, func(g gap) bool { return g.from < all[i].to && all[i].from < g.to })
		if all[i].from < span.from || all[i].to > span.to || all[i].until >= b.elapsed+gapKept || skipped {
			continue // not read, or found later
		}
		for _, e := range taken {
			all[i] = all[i].excluding(e.Created)
		}
		all[i].until = b.elapsed + gapKept
	}
}

// startRefresh returns the wanted tasks whose time has come, and the gaps of the feed. Searches are wanted if
// this process has removed manyDropped entries. removed says that a page has read past many removed entries; it
// wants a verification, unless there are searches. The caller must do these tasks, and call endRefresh after
// each.
func (c *gapCache) startRefresh(feed Feed, elapsed time.Duration, wanted refreshTasks, removed bool) (do refreshTasks, in *knownGaps) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	if k.drops.count >= manyDropped && !k.running.search {
		do.search, k.running.search = true, true
	}
	if (wanted.verify || removed && !k.running.search) && !k.running.verify && elapsed >= k.nextVerify {
		do.verify, k.running.verify, k.nextVerify = true, true, elapsed+refreshEvery
	}
	if wanted.forecast && !k.running.forecast && elapsed >= k.nextForecast {
		do.forecast, k.running.forecast, k.nextForecast = true, true, elapsed+refreshEvery
	}
	return do, k
}

// endRefresh records that tasks have ended.
func (c *gapCache) endRefresh(k *knownGaps, ended refreshTasks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.running.verify = k.running.verify && !ended.verify
	k.running.search = k.running.search && !ended.search
	k.running.forecast = k.running.forecast && !ended.forecast
}
