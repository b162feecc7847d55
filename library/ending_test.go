package library_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"carrel/backend"
	"carrel/library"
	"carrel/principal"
)

// away is a bulletin that cannot be reached. It comes back when it was asked in
// vain too often by a process that ends, which would ask for ever otherwise.
type away struct {
	library.Bulletin
	asked  chan struct{} // by whoever cannot be answered
	ending atomic.Bool
	vain   atomic.Int64 // since then
}

func (a *away) Announce(ctx context.Context, what library.Announcement) error {
	select {
	case a.asked <- struct{}{}:
	default:
	}
	if a.ending.Load() && a.vain.Add(1) > 10 {
		return a.Bulletin.Announce(ctx, what)
	}
	return errDown
}

// TestAProcessEndsWithoutItsBulletin: what could not be announced while the
// store is down is tried once more, and does not keep the process.
func TestAProcessEndsWithoutItsBulletin(t *testing.T) {
	g := newGateways(t)
	bulletin := &away{Bulletin: g.store, asked: make(chan struct{}, 1)}
	g.bulletin = bulletin
	here, clock := g.open(0, false)
	here.user("u:acme:ann", principal.Public)
	here.note("a", principal.Private)
	<-bulletin.asked
	here.svc.End()
	bulletin.ending.Store(true)
	clock.Close()
	if n := bulletin.vain.Load(); n > 2 {
		t.Errorf("it was announced %d times in vain after the end had come", n)
	}
}

// jammed is a store in which, from some time on, nobody's library can be written
// but ann's. Whoever tries is held until it is let go.
type jammed struct {
	backend.Store
	down  atomic.Bool
	tries atomic.Int64
	most  int64
	// full is closed when as many try as may at once.
	full, free chan struct{}
}

func (s *jammed) Enforce(ctx context.Context, e *library.Enforcement) error {
	if !s.down.Load() || e.Rows[0].Principal == "u:acme:ann" {
		return s.Store.Enforce(ctx, e)
	}
	if s.tries.Add(1) == s.most {
		close(s.full)
	}
	<-s.free
	return errDown
}

// TestAProcessEndsInTheMiddleOfAFanOut: beyond the time that changes under way
// have for their end, no library is tried once more, or at all. The next process
// does them.
func TestAProcessEndsInTheMiddleOfAFanOut(t *testing.T) {
	g := newGateways(t)
	const width, members = 64, 70
	store := &jammed{Store: g.store, most: width, full: make(chan struct{}), free: make(chan struct{})}
	g.way = store
	here, clock := g.open(0, false)
	here.user("u:acme:ann", principal.Public)
	var all []string
	for n := range members {
		id := fmt.Sprintf("u:acme:m%02d", n)
		here.user(id, principal.Public)
		all = append(all, id+"=VIEWER")
	}
	id := here.note("a", principal.Private, all...)
	store.down.Store(true)
	here.update(id, "a2", 0)
	<-store.full
	here.svc.End()
	clock.later.Store(int64(time.Minute))
	close(store.free)
	clock.Close()
	if n := store.tries.Load(); n != width {
		t.Errorf("%d tries to write a library, want the %d that were under way", n, width)
	}
	if entries := here.journal.Stats().Entries; entries != 1 {
		t.Errorf("%d changes are left to the next process, want 1", entries)
	}
}
