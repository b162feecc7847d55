package paste

import (
	"context"
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/sched"
	"carrel/core/timeline"
)

// Times and numbers of looking for the pastes of other processes.
const (
	// lookEvery is how often a process that has followers reads the newest entries.
	lookEvery = time.Second
	// soonWithin is within what time of its creation a paste is usually listed, the
	// differences of the gateways' clocks included.
	soonWithin = 10 * time.Second
	// lateWithin is the same for pastes whose gateway died before it had listed them. Every
	// fullLookEvery the entries of that time are read.
	lateWithin    = 3 * time.Minute
	fullLookEvery = 30 * time.Second
	// lookPage is how many entries are read at once.
	lookPage = 1000
	// seenMost is how many entries a process remembers as passed on: more than are created
	// within lateWithin, unless somebody fills the feed.
	seenMost = 100_000
)

// arrivals passes new public pastes on to those who follow them in this process: its own at
// once, and those of other processes when it finds them in the feed.
type arrivals struct {
	s *Service
	// shared: other processes may use the store.
	shared bool

	mu        sync.Mutex
	followers []*Follower
	// seen are the pastes that were passed on, or were there before anybody followed.
	seen  map[ID]bool
	order []ID // of seen, the oldest first
	// looked opens after the first look; nil: nobody is looking.
	looked sched.Latch
}

// join adds a follower. It returns a latch that opens when what was there before has been
// noted, so that the follower is not told of it.
func (a *arrivals) join(f *Follower) sched.Latch {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followers = append(a.followers, f)
	if a.looked == nil {
		a.looked = a.s.rt.Latch()
		if a.shared {
			a.start(a.looked)
		} else {
			a.looked.Open()
		}
	}
	return a.looked
}

// leave removes a follower.
func (a *arrivals) leave(f *Follower) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followers = slices.DeleteFunc(a.followers, func(g *Follower) bool { return g == f })
}

// pass tells all followers of a paste, once.
func (a *arrivals) pass(id ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.followers) == 0 || !a.note(id) {
		return
	}
	for _, f := range a.followers {
		f.offer(id)
	}
}

// note remembers a paste. It reports whether it is new. The caller holds mu.
func (a *arrivals) note(id ID) bool {
	if a.seen[id] {
		return false
	}
	if len(a.order) >= seenMost {
		delete(a.seen, a.order[0])
		a.order = a.order[1:]
	}
	a.seen[id] = true
	a.order = append(a.order, id)
	return true
}

// idle ends the looking where nobody follows any more. What was seen is forgotten: whoever
// comes next is told of what is new by then.
func (a *arrivals) idle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.followers) > 0 {
		return false
	}
	a.looked = nil
	clear(a.seen)
	a.order = nil
	return true
}

// start notes what is in the feed already, and then looks for what arrives, until nobody
// follows any more. looked opens after the first look.
func (a *arrivals) start(looked sched.Latch) {
	life := a.s.life
	a.s.rt.Go(func() {
		err := a.look(life, lateWithin, func(id ID) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.note(id)
		})
		if err != nil {
			a.s.log.WarnContext(life, "the newest pastes could not be read yet", "error", err)
		}
		looked.Open()
		full := a.s.rt.Elapsed() + fullLookEvery
		for a.s.rt.After(life, lookEvery) == nil && !a.idle() {
			reach := soonWithin
			if now := a.s.rt.Elapsed(); now >= full {
				reach, full = lateWithin, now+fullLookEvery
			}
			if err := a.look(life, reach, a.pass); err != nil {
				a.s.log.WarnContext(life, "new pastes could not be read yet", "error", err)
				full = 0 // what was missed may be older by the next look
			}
		}
	})
}

// look reads the entries of pastes that were created within a time.
func (a *arrivals) look(ctx context.Context, within time.Duration, see func(ID)) error {
	ctx, cancel := a.s.rt.Deadline(ctx, lookWithin)
	defer cancel()
	place := timeline.Entry{Created: clock.Of(a.s.rt.Now()).Add(-within)}
	for {
		es, err := a.s.feeds.Since(ctx, feedName, place, lookPage)
		if err != nil {
			return err
		}
		for _, e := range es {
			see(ID(e.ID))
		}
		if len(es) < lookPage {
			return nil
		}
		place = es[len(es)-1]
	}
}
