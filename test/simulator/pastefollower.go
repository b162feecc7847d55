package simulator

import (
	"context"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/timeline"
	"carrel/paste"
)

// pasteFollower is told of new public pastes, by one subscription.
type pasteFollower struct {
	p       *process
	start   time.Duration // when it was asked for, in true time
	running bool
	told    []paste.ID
	// resumed: it went on from a cursor. owed are pastes that it had missed then.
	resumed bool
	owed    []paste.ID
	// place is where it went on from, and joined when it was connected, in true time.
	place  timeline.Entry
	joined time.Duration
	leave  context.CancelFunc
}

const (
	// listedSoon is within what time of its creation a paste is listed so that each follower
	// must hear of it.
	listedSoon = 30 * time.Second
	// listedBefore is how long before somebody follows a paste was listed that they are not
	// told of: a process that has followers already looks every second.
	listedBefore = 10 * time.Second
	// hearPastes is longer than the time after which a process knows all days, and has looked
	// at them.
	hearPastes = 95 * time.Second
)

// followPastes lets somebody follow the public pastes, through a process of its own or one
// that serves others. after, where set, is the follower that it goes on from.
func (r *run) followPastes(after *pasteFollower) {
	p := r.shared()
	if p == nil {
		p = r.process("gateway")
	}
	f := &pasteFollower{p: p}
	var ctx context.Context
	ctx, f.leave = context.WithCancel(r.ctx)
	p.a.Spawn(nil, func() {
		if p.boot(r.ctx, r.tune) != nil {
			return
		}
		f.start = r.s.now
		var cursor *string
		if after != nil && len(after.told) > 0 {
			last := r.hist.ofPaste(after.told[len(after.told)-1])
			f.place = last.states[1].entry(last.id)
			sealed := p.pastes.CursorAt(f.place)
			cursor, f.resumed = &sealed, true
			r.hist.connected = append(r.hist.connected, f)
			for _, id := range r.calmPastes(p) {
				if h := r.hist.ofPaste(id); h.now().bornPublic && timeline.Compare(h.states[1].entry(h.id), f.place) > 0 {
					f.owed = append(f.owed, id)
				}
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
		f.running, f.joined = true, r.s.now
		if !f.resumed {
			r.hist.connected = append(r.hist.connected, f)
		}
		r.hearPastes(ctx, f, following)
	})
	r.followings = append(r.followings, f)
}

// hearPastes takes what a follower is told, and judges it.
func (r *run) hearPastes(ctx context.Context, f *pasteFollower, following *paste.Follower) {
	for {
		start, began := r.s.steps, clock.Of(f.p.a.clock())
		r.s.current.waited = 0
		got, err := following.Next(ctx)
		if err != nil {
			r.st.tracef("a follower of pastes hears no more: %v", err)
			return
		}
		start = max(start, r.s.current.waited)
		r.st.tracef("a follower is told of %s", got.ID)
		h := r.hist.ofPaste(got.ID)
		switch {
		case slices.Contains(f.told, got.ID):
			r.report(wrongFollower, "%s was told twice", got.ID)
		case !h.states[1].bornPublic:
			r.report(wrongFollower, "%s was told, and was not public from the first", got.ID)
		case !f.resumed && h.alwaysListed() && h.listedAt > 0 && h.listedAt+listedBefore < f.start:
			r.report(wrongFollower, "%s was told, and was there before", got.ID)
		case !h.some(start, r.s.steps, func(s *pasteState) bool {
			return s.listed() && s.readable(began.Add(-backwards)) && s.version == got.Version
		}):
			r.report(wrongFollower, "%s was told, and was not public then", got.ID)
		}
		f.told = append(f.told, got.ID)
		if !r.settling && r.s.chance(200) {
			// The connection breaks, and is made again.
			f.leave()
			r.followPastes(f)
			return
		}
	}
}

// entry is what the feed has of a state.
func (s *pasteState) entry(id paste.ID) timeline.Entry {
	return timeline.Entry{Created: s.created, ID: string(id)}
}

// alwaysListed reports whether a paste was public from the first and ever since. One that
// was private for a while may have been passed over meanwhile.
func (p *pasteHistory) alwaysListed() bool {
	return !slices.ContainsFunc(p.states[1:], func(s pasteState) bool { return !s.listed() })
}

// mustHear reports whether a follower must be told of a paste that was listed before a time:
// one that was stored while it was connected, or that it had missed when it resumed.
func (f *pasteFollower) mustHear(p *pasteHistory, before time.Duration) bool {
	first := &p.states[min(1, len(p.states)-1)]
	switch {
	case !p.alwaysListed() || p.listedAt == 0 || p.listedAt >= before:
		return false
	case slices.Contains(f.owed, p.id):
		return true
	case f.resumed && first.at <= f.joined && timeline.Compare(first.entry(p.id), f.place) <= 0:
		return false // a paste that is listed late, and is older than the cursor
	}
	return slices.Contains(p.connected, f) && p.listedAt <= first.at+listedSoon
}

// listenPastes gives followers the time to hear everything, and judges what they were told.
func (r *run) listenPastes() {
	if len(r.followings) == 0 {
		return
	}
	end := r.s.now + hearPastes
	if !r.until("the followers of pastes", func() bool { return r.s.now > end }) {
		return
	}
	for _, f := range r.followings {
		if !f.running || f.p.a.dead {
			continue
		}
		r.m.reached("follower of pastes judged")
		for _, h := range r.hist.pastes {
			if f.mustHear(h, end-hearPastes) && h.now().readable(r.latestClock()) && !slices.Contains(f.told, h.id) {
				r.report(wrongFollower, "%s was never told", h.id)
			}
		}
	}
}
