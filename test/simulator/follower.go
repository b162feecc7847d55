package simulator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// follower is a client that keeps a copy of a library up to date: it reads it, follows it,
// applies the events, and resumes from its last cursor when a process dies or the connection
// ends.
type follower struct {
	view
	p       *process
	running bool
	// synced reports that holds contains what was read of the library, with all events since. It is
	// false while the library must be read again.
	synced bool
	holds  []string // as shown, by id
	cursor *string  // the last one received; nil if the library was empty
	// leave ends the connection.
	leave    context.CancelFunc
	received []delivery
	// blind: the follower may no longer see the owner.
	blind bool
}

// delivery is an event that a follower received, with the steps in which it was decided.
type delivery struct {
	start, end int
	id         library.ContentID
	placed     bool
	// begins: it is the first one on a connection, or after a page was read.
	begins bool
}

// deliverWithin is how long after the last change every event must have been received: two rounds
// of reading every library, and the time they take.
const deliverWithin = 150 * time.Second

// drawFollowers draws the followers.
func (r *run) drawFollowers() {
	s := r.s
	if !s.chance(r.m.Following) {
		return
	}
	viewers := []principal.ID{"", ann, bob, cid}
	for range 1 + s.pick(2) {
		f := &follower{view: view{owner: r.w.principals[s.pick(len(r.w.principals))], viewer: viewers[s.pick(4)]}}
		if r.w.focus != "" && s.chance(700) {
			f.owner = r.w.focus
		}
		r.followers = append(r.followers, f)
	}
}

// follow lets a follower start or continue, through a process.
func (r *run) follow(f *follower, p *process) {
	f.p, f.running = p, true
	var ctx context.Context
	ctx, f.leave = context.WithCancel(r.ctx)
	p.a.Spawn(nil, func() {
		defer func() { f.running = false }()
		if p.boot(ctx, r.tune) != nil {
			return
		}
		// It retries a limited number of times if the store does not answer.
		for range 20 {
			if r.connect(ctx, f) || ctx.Err() != nil {
				return
			}
			_ = p.a.After(ctx, time.Duration(r.s.pick(2_000_000))*time.Microsecond)
		}
	})
}

// connect follows until the connection ends. It reports whether the follower has finished.
func (r *run) connect(ctx context.Context, f *follower) bool {
	svc, s := f.p.svc, r.s
	// An empty page has no cursor. So some clients follow first, and read the page afterwards.
	readsFirst := !f.synced && s.chance(512)
	if readsFirst && r.readWhole(ctx, f) != nil {
		return false
	}
	after := f.cursor
	if !f.synced {
		after = nil
	}
	following, err := svc.Feed.Follow(ctx, &principal.Viewer{User: f.viewer}, string(f.owner), after)
	if err != nil {
		return r.connectionEnded(f, err)
	}
	defer following.Close()
	if !readsFirst && !f.synced || after == nil {
		if r.readWhole(ctx, f) != nil {
			return false
		}
	}
	for fresh := true; ; {
		t := delivery{start: s.steps, begins: fresh}
		s.current.waited = 0
		c, err := following.Next(ctx)
		if err != nil {
			return r.connectionEnded(f, err)
		}
		t.start, t.end = max(t.start, s.current.waited), s.steps
		f.apply(c, &t)
		r.st.tracef("%q receives of %s's library: %+v, holds %v", f.viewer, f.owner, t, f.holds)
		if !r.ending && s.chance(500) {
			// The connection breaks, and is made again.
			_ = f.p.a.After(ctx, time.Duration(s.pick(1<<s.pick(30)))*time.Nanosecond)
			return false
		}
		// It reads a page once more, while it continues to follow.
		fresh = s.chance(100)
		if fresh && r.readWhole(ctx, f) != nil {
			return false
		}
	}
}

// connectionEnded handles the end of a connection. It reports whether the follower has finished.
func (r *run) connectionEnded(f *follower, err error) bool {
	r.st.tracef("%q no longer follows %s: %v", f.viewer, f.owner, err)
	switch {
	case fault.ReasonOf(err) == fault.ReasonResync, fault.ReasonOf(err) == fault.ReasonBadCursor:
		f.synced = false
	case fault.CodeOf(err) == fault.NotFound:
		f.synced, f.blind = false, true
		return true
	}
	return false
}

// readWhole reads the library from its beginning.
func (r *run) readWhole(ctx context.Context, f *follower) error {
	q := library.LibraryQuery{Descending: r.s.chance(512)}
	size := cursor.MaxPageSize
	q.First = &size
	conn, err := f.p.svc.Listing.Library(ctx, &principal.Viewer{User: f.viewer}, f.owner, q)
	if err != nil {
		if fault.CodeOf(err) == fault.NotFound {
			f.blind = true
		}
		return err
	}
	f.holds, f.cursor = nil, conn.PageInfo.EndCursor()
	for _, e := range conn.Edges {
		f.put(e)
	}
	f.synced = true
	r.st.tracef("%q reads the library of %s: %v", f.viewer, f.owner, f.holds)
	return nil
}

// shown is an item as a follower holds it.
func shown(id library.ContentID, lastModified clock.Instant, title string, role library.ContentRole) string {
	return fmt.Sprintf("%s %s at %d as %s", id, title, lastModified, role)
}

func (f *follower) remove(id library.ContentID) {
	f.holds = slices.DeleteFunc(f.holds, func(held string) bool { return strings.HasPrefix(held, string(id)+" ") })
}

func (f *follower) put(e *library.LibraryEdge) {
	f.remove(e.Node.ID)
	f.holds = append(f.holds, shown(e.Node.ID, e.Node.LastModified, e.Node.Title, e.Role))
	slices.Sort(f.holds)
}

// apply applies an event like a client.
func (f *follower) apply(c library.LibraryChange, t *delivery) {
	switch c := c.(type) {
	case *library.LibraryEntryPlaced:
		f.put(c.Edge)
		cursor := c.Edge.Cursor()
		f.cursor = &cursor
		t.id, t.placed = c.Edge.Node.ID, true
	case *library.LibraryEntryRemoved:
		f.remove(c.ContentID)
		t.id = c.ContentID
	}
	f.received = append(f.received, *t)
}

// restartFollowers lets followers whose processes have died go on through others.
func (r *run) restartFollowers() {
	for _, f := range r.followers {
		if !f.running || f.p.a.dead {
			r.follow(f, r.gateway())
		}
	}
}

// awaitFollowers gives followers the time to receive everything, and then checks their state.
// Nothing is in flight.
func (r *run) awaitFollowers() {
	if len(r.followers) == 0 {
		return
	}
	end := r.s.now + deliverWithin
	if !r.until("the followers", func() bool { return r.s.now > end }) {
		return
	}
	if r.expiring() || !r.quiet() {
		return
	}
	for _, f := range r.followers {
		if !f.running || f.p.a.dead || !f.synced {
			continue
		}
		if want := r.expectHeld(f); !slices.Equal(want, f.holds) {
			r.report(wrongFollower, "%q holds %v of %s's library, which contains %v", f.viewer, f.holds, f.owner, want)
		}
	}
}

// reconnectFollowers lets the followers reconnect to the last process, after everything was
// recovered, and checks their state when they have received everything they missed.
func (r *run) reconnectFollowers() {
	last := r.procs[len(r.procs)-1]
	if len(r.followers) == 0 || last.a.dead || last.svc == nil {
		return
	}
	for _, f := range r.followers {
		if !f.blind {
			r.follow(f, last)
		}
	}
	r.awaitFollowers()
}

// expectHeld returns the state that a follower must have when nothing changes any more.
func (r *run) expectHeld(f *follower) []string {
	now := readPage{view: f.view, start: r.s.steps, end: r.s.steps}
	var held []string
	for _, c := range r.st.contents {
		if r.hist.mayHaveSeen(&now, c.id) && c.header.Exists(clock.Of(epoch.Add(r.s.now))) {
			held = append(held, shown(c.id, c.header.LastModified, c.header.Title, r.st.roleOn(c.id, f.owner)))
		}
	}
	slices.Sort(held)
	return held
}

// check compares the events of a follower with the history: none shows what it may not see
// then, none removes what it could never have had, and none removes an item twice unless it may
// have come back in between.
func (f *follower) check(h *History, report func(kind, format string, args ...any)) {
	removed := map[library.ContentID]int{}
	for _, t := range f.received {
		if t.begins {
			clear(removed)
		}
		p := readPage{view: f.view, start: t.start, end: t.end}
		if t.placed {
			if !h.mayHaveSeen(&p, t.id) {
				report(wrongFollower, "%q was shown %s in the library of %s in steps %d to %d, when it was never allowed to see it",
					f.viewer, t.id, f.owner, t.start, t.end)
			}
			delete(removed, t.id)
			continue
		}
		since, again := removed[t.id]
		p.start = since
		switch {
		case h.mayHaveSeen(&p, t.id):
		case again:
			report(wrongFollower, "%q received twice that %s has left the library of %s", f.viewer, t.id, f.owner)
		default:
			report(wrongFollower, "%q received that %s has left the library of %s, where it never could see it", f.viewer, t.id, f.owner)
		}
		removed[t.id] = t.start
	}
}
