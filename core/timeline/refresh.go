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
	// refreshWithin is the time limit of a verification, of a forecast, and of a series of searches. It is
	// shorter than gapKept, so that the next verification can begin before the renewed gaps are old.
	refreshWithin = 8 * time.Second
	// refreshDelay is how long a background task waits before it starts. Otherwise the operating
	// system may let it run on the core of the reader that has started it, while another core is
	// idle, and that reader's page takes some milliseconds longer.
	refreshDelay = 10 * time.Millisecond
	// A read of the newest page that reaches a gap that is old, or becomes old within dueWithin, starts a
	// verification, at most one every refreshEvery.
	dueWithin = 3 * time.Second
)

// refreshTasks are background tasks: to verify gaps, to search for those that this process makes by removing
// entries, and to forecast further ones.
type refreshTasks struct{ verify, search, forecast bool }

// refresh verifies the gaps that the walk has reached, searches for new ones, and forecasts further ones, if
// it is time to. It does so in the background, because each task may read very many entries. The caller has
// read the newest page with w.
func (w *walk) refresh(ctx context.Context) {
	t := w.t
	pending, atGap := w.pending()
	due := w.unverified > clock.Min
	do, far, in := t.gaps.startRefresh(w.feed, t.rt.Elapsed(), pageRead{
		due:      due,
		reached:  due && (w.last == nil || w.unverified > w.last.Created || atGap),
		removed:  !w.removed.empty(),
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
			t.gaps.endRefresh(in, task)
		})
	}
	if do.verify {
		// The page may have read one partition up to a gap and others not, so more entries may lie before
		// the gap than the page has read.
		most := max(cursor.MaxPageSize+1, 2*(w.taken+pending))
		var from *Entry
		if far {
			from = before(w.unverified)
		}
		start(refreshTasks{verify: true}, func(ctx context.Context, feed Feed) { t.verify(ctx, feed, from, most) })
	}
	if do.search {
		start(refreshTasks{search: true}, t.searchRepeatedly)
	}
	if do.forecast {
		start(refreshTasks{forecast: true}, t.forecast)
	}
}

// verify takes at most most entries that follow from, or the newest ones if from is nil, and renews the gaps that
// it has read past. It skips gaps that were read in the last two seconds: the next verification is early enough
// for them. After an error, readers verify the gaps that were not renewed.
func (t *Timelines) verify(ctx context.Context, feed Feed, from *Entry, most int) {
	ctx, cancel := t.rt.Deadline(ctx, refreshWithin)
	defer cancel()
	now := clock.Of(t.rt.Now())
	b := t.gaps.beginTask(feed, t.rt.Elapsed(), now, refreshEvery+dueWithin)
	w, err := t.newWalk(ctx, feed, from, false, cursor.MaxPageSize+1, now, b)
	if err != nil {
		return
	}
	end := now
	if from != nil {
		end = from.Created
	}
	var taken []Entry
	for len(taken) < most {
		n := min(most-len(taken), maxSlice)
		if len(taken) == 0 {
			n = cursor.MaxPageSize + 1 // what the newest pages skip is renewed first
		}
		batch, err := w.take(ctx, n)
		if err != nil {
			return
		}
		taken = append(taken, batch...)
		full := len(batch) == n
		t.gaps.renew(feed, gap{from: w.reached(full), to: end}, b, taken...)
		if !full {
			return
		}
	}
}

// reached returns the end of the span that the walk has read: its beginning if the walk goes to older entries.
// full reports that the walk has taken as many entries as were wanted.
func (w *walk) reached(full bool) clock.Instant {
	switch {
	case !full && w.budget > 0:
		return w.end(w.newer)
	case !full && !w.newer:
		return w.last.Created + 1 // more entries of that instant may follow
	}
	return w.last.Created
}

// beginTask returns what the walk of a background task needs at its start. The walk reads the gaps that are old
// or become old within the given time, and skips the others. Gaps that touch are read or skipped together, so
// that they can be renewed together.
func (c *gapCache) beginTask(feed Feed, elapsed time.Duration, now clock.Instant, within time.Duration) beginning {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	b := k.begin(elapsed, now)
	b.skip = slices.DeleteFunc(union(k.all, nil), func(g gap) bool { return elapsed >= g.until-within })
	return b
}

// renew marks the known gaps within span as just read, except for those that were skipped or found later. b is
// the beginning of the walk that has read the span. It has taken the given entries, which are cut out once
// more, because a gap with one of them may have been noted since.
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

// pageRead says what a read of the newest page has met: a gap that is due (not necessarily on the page), such a
// gap that it has reached, many removed entries, and mostly entries with an expiry time.
type pageRead struct{ due, reached, removed, expiring bool }

// startRefresh decides which tasks start now, and returns them with the gaps of the feed. Searches start if this
// process has removed manyDropped entries since the last one. A verification starts if the page has reached a
// gap that is due, or has read past many removed entries. While searches are running, it starts if any gap is
// due, because the entries before the gap may be removed soon. far reports that the page has not reached that
// gap, so the verification must begin at the gap. The caller must do these tasks, and call endRefresh after
// each.
func (c *gapCache) startRefresh(feed Feed, elapsed time.Duration, page pageRead) (do refreshTasks, far bool, in *knownGaps) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	if k.drops.count-k.searched >= manyDropped && !k.running.search {
		do.search, k.running.search = true, true
	}
	verify := page.reached || page.removed
	if k.running.search {
		verify, far = page.due, !page.reached
	}
	if verify && !k.running.verify && elapsed >= k.nextVerify {
		do.verify, k.running.verify, k.nextVerify = true, true, elapsed+refreshEvery
	}
	if page.expiring && !k.running.forecast && elapsed >= k.nextForecast {
		do.forecast, k.running.forecast, k.nextForecast = true, true, elapsed+refreshEvery
	}
	return do, far, k
}

// endRefresh records that tasks have ended.
func (c *gapCache) endRefresh(k *knownGaps, ended refreshTasks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.running.verify = k.running.verify && !ended.verify
	k.running.search = k.running.search && !ended.search
	k.running.forecast = k.running.forecast && !ended.forecast
}
