package follow_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// TestFollow_CursorCoversDeliveredChangesOnly: a change that another gateway did not announce is
// found by the next full look, after more than a minute of this gateway's own changes was
// delivered. A follower that resumes after one of those must get it.
func TestFollow_CursorCoversDeliveredChangesOnly(t *testing.T) {
	g := domaintest.NewGateways(t)
	here, clock := g.Open(0, false)
	other, its := g.Open(0, true)
	here.User("u:acme:ann", principal.Public)
	f := here.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", "")
	its.Set(g.Start.Add(time.Minute - time.Second))
	other.Note("late", principal.Private)
	clock.Set(g.Start.Add(2*time.Minute + time.Millisecond))
	here.Note("own", principal.Private)
	f.Want("+own")
	f.Close()
	here.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", f.LastCursor).Want("+late", "+own")
}

// heldUp is a notifier that blocks the first announcement until it is released.
type heldUp struct {
	library.Notifier
	once          sync.Once
	reached, free chan struct{}
}

func (h *heldUp) Announce(ctx context.Context, a library.Announcement) error {
	h.once.Do(func() {
		close(h.reached)
		<-h.free
	})
	return h.Notifier.Announce(ctx, a)
}

// TestFollow_LateAnnouncementIsDelivered: a process that is held up between a change and its
// announcement, for longer than announcements are kept, announces it all the same.
func TestFollow_LateAnnouncementIsDelivered(t *testing.T) {
	g := domaintest.NewGateways(t)
	here, _ := g.Open(0, false)
	held := &heldUp{Notifier: g.Store, reached: make(chan struct{}), free: make(chan struct{})}
	g.Notifier = held
	other, its := g.Open(0, false)
	here.User("u:acme:ann", principal.Public)
	here.User("u:acme:ben", principal.Public)
	f := here.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", "")
	other.Note("first", principal.Private) // in ann's library only
	<-held.reached
	other.Note("late", principal.Private, "u:acme:ben=VIEWER")
	its.Set(g.Start.Add(time.Minute))
	close(held.free)
	f.Want("+late")
}

// TestFollow_NewStoreOfAClockAheadIsFollowed: a store that was created by a gateway whose clock is
// ahead is followed through other gateways from the first cursor on.
func TestFollow_NewStoreOfAClockAheadIsFollowed(t *testing.T) {
	g := domaintest.NewGateways(t)
	g.Open(2*time.Minute, false)
	here, _ := g.Open(0, false)
	here.User("u:acme:ann", principal.Public)
	f := here.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", "")
	here.Note("first", principal.Private)
	f.Want("+first")
	f.Close()
	here.Note("missed", principal.Private)
	here.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", f.LastCursor).Want("+first", "+missed")
}

// TestFollow_ClocksMinutesApartLoseNoChange: gateways whose clocks are minutes apart deliver all
// changes, as long as they know by how much their clocks differ.
func TestFollow_ClocksMinutesApartLoseNoChange(t *testing.T) {
	g := domaintest.NewGateways(t)
	right, _ := g.Open(0, false)
	ahead, _ := g.Open(5*time.Minute, false)
	behind, _ := g.Open(-5*time.Minute, false)
	right.User("u:acme:ann", principal.Public)
	there, here := ahead.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", ""), right.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", "")
	right.Note("a", principal.Private)
	there.Want("+a")
	here.Want("+a")
	conn, err := ahead.Listing.Library(t.Context(), domaintest.As("u:acme:ann"), "u:acme:ann", library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	behind.Note("b", principal.Private)
	there.Want("+b")
	here.Want("+b")
	right.Note("c", principal.Private)
	right.Follow(domaintest.As("u:acme:ann"), "u:acme:ann", conn.Edges[0].Cursor()).Want("+a", "+b", "+c")
}

// TestFollow_CursorOfTheFutureIsRefused: after a clock was set back, new changes are dated before
// older cursors.
func TestFollow_CursorOfTheFutureIsRefused(t *testing.T) {
	h := domaintest.Town(t)
	owner := "u:acme:ben"
	h.Note("a", principal.Public, owner+"=VIEWER")
	conn, err := h.After(10*time.Minute).Listing.Library(t.Context(), domaintest.As(owner), principal.ID(owner), library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.Feed.Follow(t.Context(), domaintest.As(owner), owner, domaintest.Ptr(conn.Edges[0].Cursor()))
	if err == nil {
		f.Close()
	}
	domaintest.WantFaults(t, err, "RESYNC")
}

// trap is a store that calls a function of a test before the next read of items.
type trap struct {
	library.ContentStore
	mu     sync.Mutex
	before func()
}

func (s *trap) set(before func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

func (s *trap) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	s.mu.Lock()
	before := s.before
	s.before = nil
	s.mu.Unlock()
	if before != nil {
		before()
	}
	return s.ContentStore.ReadMany(ctx, ids, members)
}

// TestFollow_LostRightsHideLaterChanges: a follower is not shown what came after it lost its
// rights, even if it loses them during the delivery.
func TestFollow_LostRightsHideLaterChanges(t *testing.T) {
	var store *trap
	h := domaintest.New(t, func(s *domain.Store) {
		store = &trap{ContentStore: s.Contents}
		s.Contents = store
	})
	for _, id := range []string{"u:acme:ann", "u:acme:ben"} {
		h.User(id, principal.Public)
	}
	h.Group("g:acme:team", "u:acme:ann", principal.Public)
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:team", "u:acme:ben=MEMBER")
	f := h.Follow(domaintest.As("u:acme:ben"), "g:acme:team", "")
	a := h.Note("a", principal.Private, "g:acme:team=VIEWER")
	f.Want("+a")
	h.Update(a, "a2", 0)
	store.set(func() {
		h.MustSet(domaintest.As("u:acme:ann"), "g:acme:team", "u:acme:ben=")
		h.Update(a, "secret", 0)
	})
	f.Want("![RESYNC]")
}

// TestFollow_RemovesItemsThatAPageHasShown: a client may read a page while it follows. It gets an
// event for an item that the page shows and that has left since, even if it got one before.
func TestFollow_RemovesItemsThatAPageHasShown(t *testing.T) {
	h := domaintest.Town(t)
	owner := "u:acme:ben"
	f := h.Follow(domaintest.As(owner), owner, "")
	a := h.Note("a", principal.Private, owner+"=VIEWER")
	f.Want("+a")
	h.TakeOut(a, owner)
	f.Want("-a")
	if _, err := h.Share("u:acme:ann", a, owner); err != nil {
		t.Fatal(err)
	}
	h.WantTitles(domaintest.As(owner), owner, "a")
	h.TakeOut(a, owner)
	f.Want("-a")
	h.Update(a, "a2", principal.Public)
	f.WantNothing(h, owner)
}

// TestFollow_RepeatsEventsThatAPageMayHaveOmitted: an event shows the present state of an item,
// which may be ahead of the library. Until the library has it, a page omits the item unless it
// reaches the newest end.
func TestFollow_RepeatsEventsThatAPageMayHaveOmitted(t *testing.T) {
	var store *stuck
	h := domaintest.New(t, func(s *domain.Store) {
		store = &stuck{ContentStore: s.Contents}
		s.Contents = store
	})
	for _, id := range []string{"u:acme:ann", "u:acme:ben"} {
		h.User(id, principal.Public)
	}
	owner := "u:acme:ben"
	f := h.Follow(domaintest.As(owner), owner, "")
	a := h.Note("a", principal.Private, owner+"=VIEWER")
	store.hold(owner)
	h.Update(a, "a2", 0)
	f.Want("+a2")
	h.WantTitles(domaintest.As(owner), owner, "a2")
	store.hold("")
	h.Quiet()
	f.Want("+a2")
	h.WantTitles(domaintest.As(owner), owner, "a2")
	f.WantNothing(h, owner)
}
