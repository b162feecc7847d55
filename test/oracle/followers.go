package oracle

import (
	gocmp "cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// followersMost is the most followers of a game.
const followersMost = 6

// follower is a viewer that keeps a copy of a library: it reads it once, and applies the
// events.
type follower struct {
	v     viewer
	owner principal.ID
	from  *gateway             // through which it follows
	f     library.Subscription // nil while it is not connected
	holds []shown
	// cursor is the last one received; nil if it must read first.
	cursor *string
}

// shown is the state of an item in a follower's copy.
type shown struct {
	Item plainItem
	Role library.ContentRole
}

// shownOf returns the state without the expiry and the URL, whose changes cause no event.
func shownOf(c plainItem, role library.ContentRole) shown {
	c.ExpiresAt, c.URL = nil, ""
	return shown{c, role}
}

// errDrained is the error of Next, instead of waiting, for callers that drain.
var errDrained = errors.New("no event waits")

// drains marks the context of a caller that must not wait; it counts the calls of Wait.
type drains struct{}

// Wait waits, except for callers that drain: first it returns as if the time had passed, so
// that periodic checks run, and then it ends. Waits without a limit are for work in progress,
// which ends by itself.
func (c *gameClock) Wait(ctx context.Context, l sched.Latch, d time.Duration) (bool, error) {
	calls, ok := ctx.Value(drains{}).(*atomic.Int32)
	switch {
	case !ok || d == 0 || l.IsOpen():
		return c.Real.Wait(ctx, l, d)
	case calls.Add(1) == 1:
		return false, nil
	}
	return false, errDrained
}

// pauseMost is the longest pause in a game. It is short, so that changes of other processes are
// read often.
const pauseMost = 20 * time.Millisecond

// After waits for d, but at most for pauseMost.
func (c *gameClock) After(ctx context.Context, d time.Duration) error {
	return c.Real.After(ctx, min(d, pauseMost))
}

// followSomething has a follower start, lose its connection or reconnect, or compares its
// state.
func (g *game) followSomething() {
	if len(g.followers) < followersMost && g.rarely(2) {
		owner := one(g, slices.Concat(g.users, g.groups))
		g.followers = append(g.followers, &follower{owner: owner, v: g.viewer(func(v viewer) bool { return g.w.sees(v, owner) })})
	}
	if len(g.followers) == 0 {
		return
	}
	f := one(g, g.followers)
	switch {
	case f.f == nil:
		g.connect(f)
	case g.rarely(3):
		f.f.Close()
		f.f = nil
	default:
		g.compareFollower(f)
	}
}

// connect lets a follower start, or resume from its last cursor, through some gateway. Without
// a cursor it reads first; an empty page has no cursor, so it is read once more after the
// subscription has started.
func (g *game) connect(f *follower) {
	g.Helper()
	if g.w.gone[f.v.user] { // the edge takes the rights of an administrator before each operation
		f.v.admin, f.v.global = false, false
	}
	f.from = one(g, g.gateways)
	if f.cursor == nil && !g.readHeld(f) {
		return
	}
	resumes := f.cursor != nil
	following, err := f.from.svc.Feed.Follow(g.ctx, f.v.fresh(), string(f.owner), f.cursor)
	switch reason := fault.ReasonOf(err); {
	case err == nil:
		if f.f = following; !resumes {
			g.readHeld(f)
		}
	case !g.w.sees(f.v, f.owner):
		g.agrees("follow", f.owner, f.v, faults{"NOT_FOUND"}, err)
		f.cursor = nil
	case reason == fault.ReasonResync, reason == fault.ReasonBadCursor:
		f.cursor = nil // too old, or of another bucket; it reads next time
	default:
		g.Fatalf("following %s by %+v: %v", f.owner, f.v, err)
	}
}

// readHeld reads the library; ok is false if the owner may not be seen.
func (g *game) readHeld(f *follower) (ok bool) {
	g.Helper()
	size := cursor.MaxPageSize
	conn, err := f.from.svc.Listing.Library(g.ctx, f.v.fresh(), f.owner, library.LibraryQuery{PageArgs: cursor.PageArgs{First: &size}})
	if !g.w.sees(f.v, f.owner) {
		g.agrees("library", f.owner, f.v, faults{"NOT_FOUND"}, err)
		return false
	}
	if err != nil {
		g.Fatalf("library of %s by %+v: %v", f.owner, f.v, err)
	}
	f.holds, f.cursor = nil, conn.PageInfo.EndCursor()
	for _, e := range conn.Edges {
		f.put(e)
	}
	return true
}

func (f *follower) put(e *library.LibraryEdge) {
	f.remove(e.Node.ID)
	f.holds = append(f.holds, shownOf(plainContent(e.Node), e.Role))
}

func (f *follower) remove(id library.ContentID) {
	f.holds = slices.DeleteFunc(f.holds, func(s shown) bool { return s.Item.ID == id })
}

// compareFollower compares the state of a follower that has received everything with the
// library. It receives changes through other gateways a little later.
func (g *game) compareFollower(f *follower) {
	g.Helper()
	if g.hot {
		g.doDeferred()
	}
	// Items that have expired, perhaps because the clock has just moved, cause an event when they
	// are deleted.
	g.expire()
	diff := ""
	for range 1000 {
		if g.drain(f); f.f == nil {
			return
		}
		if diff = g.heldOtherwise(f); diff == "" || len(g.gateways) == 1 {
			break
		}
		if err := g.runtime.After(g.ctx, 10*time.Millisecond); err != nil {
			g.Fatalf("waiting: %v", err)
		}
	}
	if diff != "" {
		g.Fatalf("%+v follows %s, and holds (-library +held):\n%s", f.v, f.owner, diff)
	}
}

// heldOtherwise returns how the state of a follower differs from the library.
func (g *game) heldOtherwise(f *follower) string {
	var want []shown
	items, _ := g.w.library(f.v, f.owner, false)
	for _, c := range items {
		want = append(want, shownOf(c.plain(), c.members[f.owner]))
	}
	held := slices.Clone(f.holds)
	slices.SortFunc(held, func(a, b shown) int {
		return gocmp.Or(gocmp.Compare(a.Item.LastModified, b.Item.LastModified), gocmp.Compare(a.Item.ID, b.Item.ID))
	})
	return cmp.Diff(want, held, cmpopts.EquateEmpty())
}

// drain applies the events that are in the queue.
func (g *game) drain(f *follower) {
	g.Helper()
	ctx := context.WithValue(g.ctx, drains{}, new(atomic.Int32))
	for resyncs := 0; ; {
		c, err := f.f.Next(ctx)
		switch c := c.(type) {
		case *library.LibraryEntryPlaced:
			cursor := c.Edge.Cursor()
			f.cursor = &cursor
			f.put(c.Edge)
			if !g.mayHold(f, c.Edge.Node.ID) {
				g.Fatalf("%+v got an event for %s in the library of %s, which it may not see there", f.v, c.Edge.Node.ID, f.owner)
			}
			continue
		case *library.LibraryEntryRemoved:
			f.remove(c.ContentID)
			continue
		}
		if errors.Is(err, errDrained) {
			return
		}
		f.f.Close()
		f.f, f.cursor = nil, nil
		if fault.ReasonOf(err) != fault.ReasonResync {
			g.agrees("following", f.owner, f.v, faults{"NOT_FOUND"}, err)
			v := f.v
			if g.w.gone[v.user] { // its rights as an administrator have ended
				v.admin, v.global = false, false
			}
			if g.w.sees(v, f.owner) {
				g.Fatalf("%+v receives no more events of %s, although it may see it: %v", f.v, f.owner, err)
			}
			return
		}
		// It reads another bucket of the library by now.
		if resyncs++; resyncs > 10 {
			g.Fatalf("%+v, which follows %s, has to read it again for ever: %v", f.v, f.owner, err)
		}
		if g.connect(f); f.f == nil {
			return
		}
	}
}

// mayHold reports whether the follower may be shown the item in the library now.
func (g *game) mayHold(f *follower, id library.ContentID) bool {
	items, _ := g.w.library(f.v, f.owner, false)
	return slices.ContainsFunc(items, func(c *item) bool { return c.id == id })
}

// compareFollowers compares the state of all followers, and ends them.
func (g *game) compareFollowers() {
	for _, f := range g.followers {
		if f.f == nil {
			g.connect(f)
		}
		if f.f == nil {
			continue
		}
		if g.compareFollower(f); f.f != nil {
			f.f.Close()
			f.f = nil
		}
	}
}

// closeFollowers ends the followers of a game that failed.
func (g *game) closeFollowers() {
	for _, f := range g.followers {
		if f.f != nil {
			f.f.Close()
		}
	}
}
