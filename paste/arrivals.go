package paste

import (
	"context"
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/feed"
	"carrel/core/lru"
	"carrel/core/sched"
)

// Times and limits of polling for pastes of other processes.
const (
	// pollEvery is how often a process with followers reads the newest entries.
	pollEvery = time.Second
	// soonWithin is the time within which a new paste is usually listed, including the
	// differences of the gateways' clocks.
	soonWithin = 10 * time.Second
	// lateWithin is the same for pastes whose gateway died before it had listed them. The entries
	// of the last lateWithin are read again every fullPollEvery.
	lateWithin    = 3 * time.Minute
	fullPollEvery = 30 * time.Second
	// pollPage is how many entries are read at once.
	pollPage = 1000
	// maxSeen is how many delivered entries a process remembers: more than are created within
	// lateWithin, unless somebody floods the feed.
	maxSeen = 100_000
)

// arrivals delivers new public pastes to the followers in this process: pastes of this process
// at once, and those of other processes when it finds them in the feed.
type arrivals struct {
	s *Service
	// shared reports that other processes may use the store.
	shared bool

	mu        sync.Mutex
	followers []*Follower
	// seen are the pastes that were delivered, or were in the feed before the first follower.
	seen *lru.Recent[ID, struct{}]
	// polled opens when followers may begin: after the first poll, or at once if no other process uses
	// the store. It is nil before the first follower, and after polling has ended.
	polled sched.Latch
	// full is when the last full poll began: the pastes that were listed by then were delivered.
	full clock.Instant
}

// join adds a follower. It returns a latch that opens when the existing pastes are recorded as
// seen, so that they are not delivered to the follower.
func (a *arrivals) join(f *Follower) sched.Latch {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followers = append(a.followers, f)
	if a.polled == nil {
		a.polled = a.s.rt.Latch()
		if a.shared {
			a.start(a.polled)
		} else {
			a.polled.Open()
		}
	}
	return a.polled
}

// leave removes a follower.
func (a *arrivals) leave(f *Follower) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followers = slices.DeleteFunc(a.followers, func(g *Follower) bool { return g == f })
}

// covered returns a time: the pastes that were listed by then were delivered.
func (a *arrivals) covered(now clock.Instant) clock.Instant {
	if !a.shared {
		return now
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return min(now, a.full)
}

// deliver delivers a paste to all followers, unless it was delivered before.
func (a *arrivals) deliver(e feed.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.followers) == 0 || !a.note(ID(e.ID)) {
		return
	}
	for _, f := range a.followers {
		f.offer(e)
	}
}

// note records a paste as seen. It reports whether the paste is new. The caller holds mu.
func (a *arrivals) note(id ID) bool {
	if a.seen.Contains(id) {
		return false
	}
	a.seen.Add(id, struct{}{})
	return true
}

// idle reports whether there are no followers any more, and ends the polling then. It forgets
// the seen pastes, because the next follower begins with the pastes that are new by then.
func (a *arrivals) idle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.followers) > 0 {
		return false
	}
	a.polled = nil
	a.seen.Purge()
	return true
}

// start records the pastes that are in the feed already, and then polls for new ones until
// there are no followers. polled opens after the first poll that succeeds: without it, old pastes
// would be delivered as new ones.
func (a *arrivals) start(polled sched.Latch) {
	life := a.s.life
	record := func(e feed.Entry) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.note(ID(e.ID))
	}
	a.s.rt.Go(func() {
		full := a.s.rt.Elapsed()
		// Later polls may reach a little further back, because clocks are set back.
		for !a.poll(life, lateWithin+soonWithin, true, record) {
			if a.s.rt.After(life, pollEvery) != nil || a.idle() {
				return
			}
			full = a.s.rt.Elapsed()
		}
		polled.Open()
		failed := false
		for a.s.rt.After(life, pollEvery) == nil && !a.idle() {
			now := a.s.rt.Elapsed()
			within, isFull := soonWithin, failed || now-full >= fullPollEvery
			if isFull {
				within = lateWithin + now - full
			}
			failed = !a.poll(life, within, isFull, a.deliver)
			if isFull && !failed {
				full = now
			}
		}
	})
}

// poll calls see for the entries of pastes that were created within a time before now. It reports
// whether it could read them all.
func (a *arrivals) poll(ctx context.Context, within time.Duration, full bool, see func(feed.Entry)) bool {
	ctx, cancel := a.s.rt.Deadline(ctx, readTimeout)
	defer cancel()
	now := clock.Of(a.s.rt.Now())
	position := feed.Entry{Created: now.Add(-within)}
	for {
		es, err := a.s.feeds.Since(ctx, feedName, position, pollPage)
		if err != nil {
			a.s.log.WarnContext(ctx, "new pastes could not be read yet", "error", err)
			return false
		}
		for _, e := range es {
			see(e)
		}
		if len(es) < pollPage {
			break
		}
		position = es[len(es)-1]
	}
	if full {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.full = now
	}
	return true
}
