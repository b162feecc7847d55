package domaintest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/library"
	"carrel/principal"
)

// Follower is a subscription to the changes of a library.
type Follower struct {
	T *testing.T
	library.Subscription
	LastCursor string        // of the last edge that NextEvent has returned
	LastCause  library.Cause // of the last event that NextEvent has returned
}

// Follow follows a library until the end of the test, after a cursor if that is not empty.
func (h *Fixture) Follow(v *principal.Viewer, owner, after string) *Follower {
	h.T.Helper()
	f, err := h.Feed.Follow(h.T.Context(), v, owner, CursorOf(after))
	h.must(err, "%s follows %s", v.User, owner)
	h.T.Cleanup(f.Close)
	return &Follower{T: h.T, Subscription: f}
}

// NextEvent waits for the next event: "+title" if an item was placed, "-name" if one was removed,
// "!" with the fault if the subscription has ended.
func (f *Follower) NextEvent() string {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(f.T.Context(), 20*time.Second)
	defer cancel()
	c, err := f.Next(ctx)
	switch c := c.(type) {
	case *library.LibraryEntryPlaced:
		f.LastCursor, f.LastCause = c.Edge.Cursor(), c.Cause
		return "+" + c.Edge.Node.Title
	case *library.LibraryEntryRemoved:
		f.LastCause = c.Cause
		return "-" + c.ContentID.Name()
	}
	return fmt.Sprint("!", Faults(err))
}

// Want compares the next events, as many as want has.
func (f *Follower) Want(want ...string) {
	f.T.Helper()
	var got []string
	for range want {
		got = append(got, f.NextEvent())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.T.Errorf("events (-want +got):\n%s", diff)
	}
}

// WantNothing creates an item that every reader of the owner's library sees, and fails the test if
// another event arrives before that item's.
func (f *Follower) WantNothing(h *Fixture, owner string) {
	f.T.Helper()
	h.marks++
	name := fmt.Sprintf("mark%d", h.marks)
	h.Note(name, principal.Public, owner+"=VIEWER")
	f.Want("+" + name)
}
