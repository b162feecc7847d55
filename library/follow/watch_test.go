package follow_test

import (
	"sync/atomic"
	"testing"

	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// counter counts what a Watcher is called with for followers.
type counter struct {
	library.Unwatched
	followers, events atomic.Int64
}

func (c *counter) Follows(n int) { c.followers.Add(int64(n)) }
func (c *counter) Delivered()    { c.events.Add(1) }

// TestWatcher_CountsFollowersAndEvents: the figures rise with each follower and event, and
// a follower that has ended is not counted any more.
func TestWatcher_CountsFollowersAndEvents(t *testing.T) {
	h := domaintest.Town(t)
	watch := &counter{}
	h.Services = domaintest.Open(t, domain.Config{
		Store: h.Store, Runtime: h.Runtime, Journal: h.Journal, Names: &domaintest.CountingNames{}, Watch: watch,
	})
	want := func(followers, events int64) {
		t.Helper()
		if f, e := watch.followers.Load(), watch.events.Load(); f != followers || e != events {
			t.Errorf("%d followers and %d events are counted, want %d and %d", f, e, followers, events)
		}
	}
	ann := h.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", "")
	ben := h.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", "")
	want(2, 0)
	h.Note("a", principal.Private)
	ann.Want("+a")
	want(2, 1)
	ben.Close()
	want(1, 1)
	ann.Close()
	want(0, 1)
}
