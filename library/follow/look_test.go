package follow_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// gated is a store in which the changes of one library are read only when a test allows it.
type gated struct {
	library.LibraryStore
	owner principal.ID
	met   atomic.Bool
	// read is closed when the changes have been read for the first time. The first reader gets
	// them, or err, when free is closed.
	read, free chan struct{}
	err        error
	// ended receives the error of the first reader's context, if that ends before.
	ended chan error
}

func gateChanges(g *domaintest.Gateways, owner principal.ID, err error) *gated {
	s := &gated{LibraryStore: g.Through.Libraries, owner: owner, read: make(chan struct{}), free: make(chan struct{}),
		err: err, ended: make(chan error, 1)}
	g.Through.Libraries = s
	return s
}

func (s *gated) Changes(ctx context.Context, owner principal.ID, after library.ChangeKey, limit int) (cs []library.Change, err error) {
	cs, err = s.LibraryStore.Changes(ctx, owner, after, limit)
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

// begun is the result of a Follow that runs concurrently with the test.
type begun struct {
	f   library.Subscription
	err error
}

func beginFollowing(h *domaintest.Fixture, ctx context.Context, user string) <-chan begun {
	came := make(chan begun, 1)
	go func() {
		f, err := h.Feed.Follow(ctx, domaintest.As(user), user, nil)
		came <- begun{f, err}
	}()
	return came
}

// TestRead_LeavingFollowerDoesNotAffectOthers: followers of a library wait for one look at its
// changes. The one that has started it leaves at once, and the others are not affected.
func TestRead_LeavingFollowerDoesNotAffectOthers(t *testing.T) {
	g := domaintest.NewGateways(t)
	store := gateChanges(g, "u:acme:ann", nil)
	here, clock := g.Open(0, false)
	here.User("u:acme:ann", principal.Public)
	leaves, leave := context.WithCancel(t.Context())
	first := beginFollowing(here, leaves, "u:acme:ann")
	<-store.read
	stays, cancel := context.WithCancel(t.Context())
	defer cancel()
	stays, k := clock.Keep(stays)
	close(k.Free)
	second := beginFollowing(here, stays, "u:acme:ann")
	<-k.Waits
	leave()
	if b := <-first; b.err == nil {
		t.Error("the follower that has left still follows")
		b.f.Close()
	}
	close(store.free)
	b := <-second
	if b.err != nil {
		t.Fatalf("the other follower does not follow: %v", b.err)
	}
	defer b.f.Close()
	here.Note("a", principal.Private)
	(&domaintest.Follower{T: t, Subscription: b.f}).Want("+a")
}

// TestRead_AbandonedDoesNotDelayClose: a process does not wait for a look at a library that the
// last of its followers has left.
func TestRead_AbandonedDoesNotDelayClose(t *testing.T) {
	g := domaintest.NewGateways(t)
	store := gateChanges(g, "u:acme:ann", nil)
	here, clock := g.Open(0, false)
	here.User("u:acme:ann", principal.Public)
	ctx, leave := context.WithCancel(t.Context())
	first := beginFollowing(here, ctx, "u:acme:ann")
	<-store.read
	leave()
	if b := <-first; b.err == nil {
		t.Error("the follower that has left still follows")
		b.f.Close()
	}
	if err := <-store.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the look ended with %v", err)
	}
	here.Engine.End()
	clock.Close()
}

// TestRead_FailureDoesNotAffectLaterFollowers: followers that waited for a failed look get its
// error. A later follower looks again, even if one of those has not left yet.
func TestRead_FailureDoesNotAffectLaterFollowers(t *testing.T) {
	g := domaintest.NewGateways(t)
	store := gateChanges(g, "u:acme:ann", domaintest.ErrDown)
	here, clock := g.Open(0, false)
	here.User("u:acme:ann", principal.Public)
	first := beginFollowing(here, t.Context(), "u:acme:ann")
	<-store.read
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx, k := clock.Keep(ctx)
	second := beginFollowing(here, ctx, "u:acme:ann")
	<-k.Waits
	close(store.free)
	domaintest.WantFaults(t, (<-first).err, "UNAVAILABLE")
	late := <-beginFollowing(here, t.Context(), "u:acme:ann")
	close(k.Free)
	domaintest.WantFaults(t, (<-second).err, "UNAVAILABLE")
	if late.err != nil {
		t.Fatalf("a later follower does not follow: %v", late.err)
	}
	defer late.f.Close()
	here.Note("a", principal.Private)
	(&domaintest.Follower{T: t, Subscription: late.f}).Want("+a")
}

// TestRead_EarlierChangesOfOthersAreNotDelivered: changes by other processes before the first look
// at a library are not delivered, even if they are announced meanwhile. What that look has missed
// is delivered.
func TestRead_EarlierChangesOfOthersAreNotDelivered(t *testing.T) {
	g := domaintest.NewGateways(t)
	other, _ := g.Open(0, false)
	store := gateChanges(g, "u:acme:ben", nil)
	here, _ := g.Open(0, false)
	other.User("u:acme:ann", principal.Public)
	other.User("u:acme:ben", principal.Public)
	for n := range 300 { // more than may wait
		other.Note(fmt.Sprint("before", n), principal.Private, "u:acme:ben=VIEWER")
	}
	witness := here.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", "")
	first := beginFollowing(here, t.Context(), "u:acme:ben")
	<-store.read
	other.Note("meanwhile", principal.Private, "u:acme:ben=VIEWER")
	witness.Want("+meanwhile")
	// Everything before the first of these was announced with it at the latest, and was processed
	// when the second arrives.
	for _, title := range []string{"next", "last"} {
		other.Note(title, principal.Private)
		witness.Want("+" + title)
	}
	close(store.free)
	b := <-first
	if b.err != nil {
		t.Fatalf("following: %v", b.err)
	}
	defer b.f.Close()
	f := &domaintest.Follower{T: t, Subscription: b.f}
	f.Want("+meanwhile")
	f.WantNothing(other, "u:acme:ben")
}
