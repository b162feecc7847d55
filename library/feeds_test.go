package library_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"carrel/backend"
	"carrel/library"
	"carrel/principal"
)

// gated is a store in which the changes of one library are read when a test
// lets them.
type gated struct {
	backend.Store
	owner principal.ID
	met   atomic.Bool
	// read is closed when they have been read for the first time; whoever has read
	// them gets them, or err, when free is closed.
	read, free chan struct{}
	err        error
	// ended has why the reader did not wait for that.
	ended chan error
}

func (g *gateways) gate(owner principal.ID, err error) *gated {
	s := &gated{Store: g.store, owner: owner, read: make(chan struct{}), free: make(chan struct{}), err: err, ended: make(chan error, 1)}
	g.way = s
	return s
}

func (s *gated) Changes(ctx context.Context, owner principal.ID, after library.ChangeKey, limit int) (cs []library.Change, err error) {
	cs, err = s.Store.Changes(ctx, owner, after, limit)
	if owner != s.owner || s.met.Swap(true) {
		return cs, err
	}
	close(s.read)
	select {
	case <-s.free:
		return cs, s.err
	case <-ctx.Done():
		s.ended <- ctx.Err()
		return nil, ctx.Err()
	}
}

// begun is what came of a Follow that runs beside the test.
type begun struct {
	f   library.Following
	err error
}

func (h *house) begins(ctx context.Context, user string) <-chan begun {
	came := make(chan begun, 1)
	go func() {
		f, err := h.svc.Follow(ctx, as(user), user, nil)
		came <- begun{f, err}
	}()
	return came
}

// TestWhoLeavesTakesNobodyAlong: those who follow a library wait for one look at
// its changes. Who has begun it leaves at once, and the others do not notice.
func TestWhoLeavesTakesNobodyAlong(t *testing.T) {
	g := newGateways(t)
	store := g.gate("u:acme:ann", nil)
	here, clock := g.open(0, false)
	here.user("u:acme:ann", principal.Public)
	leaves, leave := context.WithCancel(t.Context())
	first := here.begins(leaves, "u:acme:ann")
	<-store.read
	stays, cancel := context.WithCancel(t.Context())
	defer cancel()
	k := clock.keep(stays)
	close(k.free)
	second := here.begins(stays, "u:acme:ann")
	<-k.waits
	leave()
	if b := <-first; b.err == nil {
		t.Error("who has left follows")
		b.f.Close()
	}
	close(store.free)
	b := <-second
	if b.err != nil {
		t.Fatalf("who has stayed does not follow: %v", b.err)
	}
	defer b.f.Close()
	here.note("a", principal.Private)
	(&follower{t: t, Following: b.f}).wants("+a")
}

// TestAProcessEndsWhileALibraryIsLookedAt: nobody waits for a look at a library
// that the last of its followers has left.
func TestAProcessEndsWhileALibraryIsLookedAt(t *testing.T) {
	g := newGateways(t)
	store := g.gate("u:acme:ann", nil)
	here, clock := g.open(0, false)
	here.user("u:acme:ann", principal.Public)
	ctx, leave := context.WithCancel(t.Context())
	first := here.begins(ctx, "u:acme:ann")
	<-store.read
	leave()
	if b := <-first; b.err == nil {
		t.Error("who has left follows")
		b.f.Close()
	}
	if err := <-store.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the look ended with %v", err)
	}
	here.svc.End()
	clock.Close()
}

// TestAFailedLookIsNobodysWhoComesLater: it is told to those who waited for it.
// Who comes after it looks anew, though one of those has not left yet.
func TestAFailedLookIsNobodysWhoComesLater(t *testing.T) {
	g := newGateways(t)
	store := g.gate("u:acme:ann", errDown)
	here, clock := g.open(0, false)
	here.user("u:acme:ann", principal.Public)
	first := here.begins(t.Context(), "u:acme:ann")
	<-store.read
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k := clock.keep(ctx)
	second := here.begins(ctx, "u:acme:ann")
	<-k.waits
	close(store.free)
	wantTold(t, (<-first).err, "UNAVAILABLE")
	late := <-here.begins(t.Context(), "u:acme:ann")
	close(k.free)
	wantTold(t, (<-second).err, "UNAVAILABLE")
	if late.err != nil {
		t.Fatalf("who comes later does not follow: %v", late.err)
	}
	defer late.f.Close()
	here.note("a", principal.Private)
	(&follower{t: t, Following: late.f}).wants("+a")
}

// TestAFollowerIsNotToldWhatWasBefore: what other processes have changed before
// a library was looked at for the first time is nothing that happens from then
// on, though they announce it meanwhile. What that look has missed is told.
func TestAFollowerIsNotToldWhatWasBefore(t *testing.T) {
	g := newGateways(t)
	other, _ := g.open(0, false)
	store := g.gate("u:acme:ben", nil)
	here, _ := g.open(0, false)
	other.user("u:acme:ann", principal.Public)
	other.user("u:acme:ben", principal.Public)
	for n := range 300 { // more than may wait
		other.note(fmt.Sprint("before", n), principal.Private, "u:acme:ben=VIEWER")
	}
	witness := here.follows(as("u:acme:ann"), "u:acme:ann", "")
	first := here.begins(t.Context(), "u:acme:ben")
	<-store.read
	other.note("meanwhile", principal.Private, "u:acme:ben=VIEWER")
	witness.wants("+meanwhile")
	// All that there was before the first of these was announced with it at the
	// latest, and is done with when the second is heard of.
	for _, title := range []string{"next", "last"} {
		other.note(title, principal.Private)
		witness.wants("+" + title)
	}
	close(store.free)
	b := <-first
	if b.err != nil {
		t.Fatalf("following: %v", b.err)
	}
	defer b.f.Close()
	f := &follower{t: t, Following: b.f}
	f.wants("+meanwhile")
	f.wantsNothing(other, "u:acme:ben")
}
