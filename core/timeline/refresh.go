package timeline

import (
	"context"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
)

const (
	// refreshEvery is the shortest time between the starts of two verifications of the gaps of a feed,
	// and between those of two forecasts.
	refreshEvery = 5 * time.Second
	// refreshWithin is the time limit of a verification and of a forecast. It is shorter than gapKept, so
	// that the next verification can begin before the gaps that this one has renewed are old.
	refreshWithin = 8 * time.Second
	// If a process has removed manyDropped entries or more from a feed since the last deep
	// verification began, the next one is deep: there may be a new gap behind the newest page. A deep verification
	// takes at most mostVerified entries.
	manyDropped  = 200
	mostVerified = 20_000
	// refreshDelay is how long a background task waits before it starts. Otherwise the operating
	// system may let it run on the core of the reader that has started it, while another core is
	// idle, and that reader's page takes some milliseconds longer.
	refreshDelay = 10 * time.Millisecond
	// A read of the newest page that reaches a gap that is old, or becomes old within dueWithin, starts a
	// verification, at most one every refreshEvery.
	dueWithin = 3 * time.Second
)

// refreshTasks says what to do in the background: verify gaps, or forecast further ones.
type refreshTasks struct{ verify, forecast bool }

// refresh verifies the gaps that the walk has reached, and forecasts further ones, if it is time to. It
// does so in the background, because either may read very many entries. The caller has read the newest
// page with w. If w has read past many removed entries, the verification looks for the gap there. If this
// process has removed many entries, the verification also looks for gaps behind the newest page. A forecast
// is made if most entries that w has passed have an expiry time.
func (w *walk) refresh(ctx context.Context) {
	t := w.t
	pending, atGap := w.pending()
	reached := w.unverified > clock.Min && (w.last == nil || w.unverified > w.last.Created || atGap)
	do, deep, in := t.gaps.startRefresh(w.feed, t.rt.Elapsed(), refreshTasks{verify: reached || !w.removed.empty(), forecast: 2*w.expiring > w.passed})
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
		if deep {
			most = mostVerified
		}
		start(refreshTasks{verify: true}, func(ctx context.Context, feed Feed) { t.verify(ctx, feed, most) })
	}
	if do.forecast {
		start(refreshTasks{forecast: true}, t.forecast)
	}
}

// verify takes at most most entries, and renews the gaps that it has read past: all of them if it
// reaches the end of the feed. After an error, readers verify the gaps that were not renewed.
func (t *Timelines) verify(ctx context.Context, feed Feed, most int) {
	ctx, cancel := t.rt.Deadline(ctx, refreshWithin)
	defer cancel()
	now := clock.Of(t.rt.Now())
	b := t.gaps.begin(feed, t.rt.Elapsed(), now)
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
		from := clock.Min
		if len(batch) == n || w.budget == 0 {
			from = w.last.Created + 1
		}
		t.gaps.renew(feed, from, b.elapsed, batch...)
		if len(batch) < n {
			return
		}
	}
}

// startRefresh returns the wanted tasks whose time has come, and the gaps of the feed. deep reports that
// a verification is to be deep, for which it need not be wanted. The caller must do these tasks, and call
// endRefresh after each.
func (c *gapCache) startRefresh(feed Feed, elapsed time.Duration, wanted refreshTasks) (do refreshTasks, deep bool, in *knownGaps) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	deep = k.dropped >= manyDropped
	if (wanted.verify || deep) && !k.running.verify && elapsed >= k.nextVerify {
		do.verify, k.running.verify, k.nextVerify = true, true, elapsed+refreshEvery
		if deep {
			k.dropped = 0
		}
	}
	if wanted.forecast && !k.running.forecast && elapsed >= k.nextForecast {
		do.forecast, k.running.forecast, k.nextForecast = true, true, elapsed+refreshEvery
	}
	return do, deep, k
}

// endRefresh records that tasks have ended.
func (c *gapCache) endRefresh(k *knownGaps, ended refreshTasks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.running.verify = k.running.verify && !ended.verify
	k.running.forecast = k.running.forecast && !ended.forecast
}
