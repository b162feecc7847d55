package simulator

import (
	"context"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/feed"
	"carrel/paste"
)

// pasteFollower receives new public pastes, by one subscription.
type pasteFollower struct {
	p        *process
	start    time.Duration // of the subscription, in true time
	running  bool
	received []paste.ID
	// resumed: it continued from a cursor. missed are pastes that it had missed then, and had are those
	// that the subscriptions before it had received.
	resumed bool
	missed  []paste.ID
	had     []paste.ID
	// next is the cursor from which the subscription after it resumes. It was read when this one
	// received the last paste, or is the one that a subscription without points ends with.
	next     string
	unpaid   bool          // next is the latter
	followed time.Duration // since when this subscription, or those before it, have followed, in true time; 0: not yet
	leave    context.CancelFunc
}

const (
	// listedSoon is the time after its creation within which a paste must be listed for each
	// follower to receive it.
	listedSoon = 30 * time.Second
	// listedBefore is how long before the start of a subscription a paste must be listed not to be
	// delivered: a process that has followers already reads every second.
	listedBefore = 10 * time.Second
	// pastesWithin is longer than the time after which a process knows all days, and has looked
	// at them.
	pastesWithin = 95 * time.Second
)

// followPastes starts a follower of the public pastes, through a process of its own or one that
// serves others. after, if it is set, is the follower that it continues.
func (r *run) followPastes(after *pasteFollower) {
	p := r.gateway()
	f := &pasteFollower{p: p}
	var ctx context.Context
	ctx, f.leave = context.WithCancel(r.ctx)
	p.a.Spawn(nil, func() {
		if p.boot(r.ctx, r.tune) != nil {
			return
		}
		f.start = r.s.now
		var cursor *string
		if after != nil && len(after.received) > 0 {
			cursor, f.resumed, f.followed = &after.next, true, after.followed
			f.had = slices.Concat(after.had, after.received)
			r.hist.connected = append(r.hist.connected, f)
			if !after.unpaid {
				f.missed = r.missedAfter(after, p)
			}
		}
		defer func() {
			f.running = false
			r.hist.connected = slices.DeleteFunc(r.hist.connected, func(g *pasteFollower) bool { return g == f })
		}()
		following, err := p.pastes.Follow(ctx, cursor)
		if err != nil {
			return
		}
		defer following.Close()
		f.running = true
		if !f.resumed {
			f.followed = r.s.now
			r.hist.connected = append(r.hist.connected, f)
		}
		r.receivePastes(ctx, f, following)
	})
	r.followings = append(r.followings, f)
}

// missedAfter returns the pastes behind the last one that a follower has received.
func (r *run) missedAfter(f *pasteFollower, p *process) (missed []paste.ID) {
	last := r.hist.ofPaste(f.received[len(f.received)-1])
	cursor := last.states[1].entry(last.id)
	for _, id := range r.calmPastes(p) {
		if h := r.hist.ofPaste(id); h.now().bornPublic && feed.Compare(h.states[1].entry(h.id), cursor) > 0 {
			missed = append(missed, id)
		}
	}
	return missed
}

// receivePastes receives the pastes of a follower, and checks them.
func (r *run) receivePastes(ctx context.Context, f *pasteFollower, following *paste.Follower) {
	for {
		start, began := r.s.steps, clock.Of(f.p.a.clock())
		r.s.current.waited = 0
		got, err := following.Next(ctx)
		if err != nil {
			r.st.tracef("a follower of pastes no longer receives any: %v", err)
			return
		}
		if got == nil {
			continue
		}
		start = max(start, r.s.current.waited)
		r.st.tracef("a follower receives %s", got.ID)
		h := r.hist.ofPaste(got.ID)
		switch {
		case slices.Contains(f.received, got.ID):
			r.report(wrongFollower, "%s was received twice", got.ID)
		case !h.states[1].bornPublic:
			r.report(wrongFollower, "%s was received, and was not public at first", got.ID)
		case !f.resumed && h.alwaysListed() && h.listedAt > 0 && h.listedAt+listedBefore < f.start:
			r.report(wrongFollower, "%s was received, and existed before", got.ID)
		case !h.some(start, r.s.steps, func(s *pasteState) bool {
			return s.listed() && s.readable(began.Add(-backwards)) && s.version == got.Version
		}):
			r.report(wrongFollower, "%s was received, and was not public then", got.ID)
		}
		f.received = append(f.received, got.ID)
		f.next = f.p.pastes.CursorAt(h.states[1].entry(got.ID))
		if !r.ending && r.s.chance(200) {
			// The connection breaks, or the account has no points for the next paste, and it is made again.
			if f.unpaid = r.s.chance(512); f.unpaid {
				f.next = following.Cursor()
			}
			f.leave()
			r.followPastes(f)
			return
		}
	}
}

// entry returns the feed's entry of a state.
func (s *pasteState) entry(id paste.ID) feed.Entry {
	return feed.Entry{Created: s.created, ID: string(id)}
}

// alwaysListed reports whether a paste was public from the first and ever since. One that
// was private for a while may have been passed over meanwhile.
func (p *pasteHistory) alwaysListed() bool {
	return !slices.ContainsFunc(p.states[1:], func(s pasteState) bool { return !s.listed() })
}

// mustReceive reports whether a follower, or one that it continues, must receive a paste that was
// listed before a time: one that was stored while they followed, or that it had missed when it resumed.
func (f *pasteFollower) mustReceive(p *pasteHistory, before time.Duration) bool {
	first := &p.states[min(1, len(p.states)-1)]
	switch {
	case !p.alwaysListed() || p.listedAt == 0 || p.listedAt >= before:
		return false
	case slices.Contains(f.missed, p.id):
		return true
	case p.listedAt > first.at+listedSoon:
		return false
	}
	return slices.Contains(p.connected, f) || f.resumed && first.at >= f.followed
}

// hasReceived reports whether a follower, or one that it continues, has received a paste.
func (f *pasteFollower) hasReceived(id paste.ID) bool {
	return slices.Contains(f.received, id) || slices.Contains(f.had, id) && !slices.Contains(f.missed, id)
}

// awaitPastes gives followers the time to receive everything, and checks what they have
// received.
func (r *run) awaitPastes() {
	if len(r.followings) == 0 {
		return
	}
	end := r.s.now + pastesWithin
	if !r.until("the followers of pastes", func() bool { return r.s.now > end }) {
		return
	}
	for _, f := range r.followings {
		if !f.running || f.p.a.dead {
			continue
		}
		r.m.reached("follower of pastes checked")
		for _, h := range r.hist.pastes {
			if f.mustReceive(h, end-pastesWithin) && h.now().readable(r.latestClock()) && !f.hasReceived(h.id) {
				r.report(wrongFollower, "%s was never received", h.id)
			}
		}
	}
}
