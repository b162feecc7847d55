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
	// refreshWithin is how long either may take.
	refreshWithin = 10 * time.Second
	// refreshDelay is how long a background task waits before it starts. Otherwise the operating
	// system may let it run on the core of the reader that has started it, while another core is
	// idle, and that reader's page takes some milliseconds longer.
	refreshDelay = 10 * time.Millisecond
	// dueWithin is the last part of gapKept. A gap is verified in the background during it.
	dueWithin = 3 * time.Second
)

// refreshTasks says what to do in the background: verify gaps, or forecast further ones.
type refreshTasks struct{ verify, forecast bool }

// refresh verifies the gaps that the walk has skipped, and forecasts further ones, if it is time to. It
// does so in the background, because either may read very many entries. The caller has read the newest
// page with w. A forecast is made if most entries that w has passed have an expiry time.
func (w *walk) refresh(ctx context.Context) {
	t := w.t
	skipped := w.unverified > clock.Min && (w.last == nil || w.unverified > w.last.Created)
	wanted := refreshTasks{verify: skipped, forecast: 2*w.expiring > w.passed}
	if wanted == (refreshTasks{}) {
		return // most pages do, without waiting for other readers
	}
	do, in := t.gaps.startRefresh(w.feed, t.rt.Elapsed(), wanted)
	ctx, feed := t.rt.Detach(ctx), w.feed
	start := func(task refreshTasks, run func(context.Context, Feed)) {
		t.rt.Go(func() {
			_ = t.rt.After(ctx, refreshDelay) // ctx is never canceled
			run(ctx, feed)
			t.gaps.endRefresh(in, task)
		})
	}
	if do.verify {
		start(refreshTasks{verify: true}, t.verify)
	}
	if do.forecast {
		start(refreshTasks{forecast: true}, t.forecast)
	}
}

// verify reads as many entries as the largest page has, and renews the gaps that it has read past: all
// of them if it reached the end of the feed. After an error, the next readers find the gaps
// themselves, or get the same error.
func (t *Timelines) verify(ctx context.Context, feed Feed) {
	ctx, cancel := t.rt.Deadline(ctx, refreshWithin)
	defer cancel()
	now := clock.Of(t.rt.Now())
	b := t.gaps.begin(feed, t.rt.Elapsed(), now)
	w, err := t.newWalk(ctx, feed, nil, false, cursor.MaxPageSize+1, now, b)
	if err != nil {
		return
	}
	taken, err := w.take(ctx, cursor.MaxPageSize+1)
	if err != nil {
		return
	}
	from := clock.Min
	if len(taken) > cursor.MaxPageSize || w.budget == 0 {
		from = w.last.Created + 1
	}
	t.gaps.renew(feed, from, b.elapsed, taken...)
}

// startRefresh returns the wanted tasks whose time has come, and the gaps of the feed. The caller must
// do these tasks, and call endRefresh after each.
func (c *gapCache) startRefresh(feed Feed, elapsed time.Duration, wanted refreshTasks) (do refreshTasks, in *knownGaps) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	if wanted.verify && !k.running.verify && elapsed >= k.nextVerify {
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
	k.running.forecast = k.running.forecast && !ended.forecast
}
