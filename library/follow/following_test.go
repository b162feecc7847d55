package follow_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

func TestFollow_DeliversChanges(t *testing.T) {
	h := domaintest.Town(t)
	f := h.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", "")
	a := h.Note("a", principal.Private, "u:acme:ben=VIEWER")
	f.Want("+a")
	b := h.Note("b", principal.Public)
	if _, err := h.Share("u:acme:ann", b, "u:acme:ben"); err != nil {
		t.Fatal(err)
	}
	f.Want("+b")
	h.Update(a, "a2", 0)
	f.Want("+a2")
	h.Update(a, "a3", principal.Public)
	f.Want("+a3")
	h.TakeOut(a, "u:acme:ben")
	f.Want("-a")
	h.Delete(b)
	f.Want("-b")
	h.Update(a, "a4", 0)
	f.WantNothing(h, "u:acme:ben")
}

// TestFollow_EventHasTheEdgeOfAPage: the edge of an event is that of a page read at the same time;
// its cursor works in either order.
func TestFollow_EventHasTheEdgeOfAPage(t *testing.T) {
	h := domaintest.Town(t)
	f := h.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", "")
	h.Note("a", principal.Private, "u:acme:ben=EDITOR")
	h.Note("b", principal.Private, "u:acme:ben=EDITOR")
	c, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	edge := c.(*library.LibraryEntryPlaced).Edge
	conn, err := h.Listing.Library(t.Context(), domaintest.As("u:acme:ben"), "u:acme:ben", library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(conn.Edges[0].Node, edge.Node); diff != "" || edge.Role != library.Editing {
		t.Errorf("the edge's role is %s, its node (-page +event):\n%s", edge.Role, diff)
	}
	for _, descending := range []bool{false, true} {
		q := library.LibraryQuery{PageArgs: domaintest.FirstAfter(5, domaintest.Ptr(edge.Cursor())), Descending: descending}
		conn, err := h.Listing.Library(t.Context(), domaintest.As("u:acme:ben"), "u:acme:ben", q)
		if want := map[bool]int{false: 1, true: 0}[descending]; err != nil || len(conn.Edges) != want {
			t.Errorf("after the cursor, descending %v: %v, %v", descending, conn, err)
		}
	}
}

// TestFollow_RemovalReachesTheFormerBucketOnly: readers of a bucket get events for what leaves that
// bucket, and for nothing that was never in it.
func TestFollow_RemovalReachesTheFormerBucketOnly(t *testing.T) {
	h := domaintest.Town(t)
	h.Group("g:beta:club", "u:beta:zed", principal.Public)
	owner := "u:acme:ben"
	own, inside, outside := h.Follow(domaintest.As(owner), owner, ""), h.Follow(domaintest.As("u:acme:cleo"), owner, ""),
		h.Follow(domaintest.As("u:beta:zed"), owner, "")
	a := h.Note("a", principal.Private, owner+"=VIEWER")
	own.Want("+a")
	h.Update(a, "a2", principal.LoggedIn)
	own.Want("+a2")
	inside.Want("+a2")
	h.Update(a, "a3", principal.Public)
	own.Want("+a3")
	inside.Want("+a3")
	outside.Want("+a3")
	h.Update(a, "a4", principal.LoggedIn)
	own.Want("+a4")
	inside.Want("+a4")
	outside.Want("-a")
	h.Update(a, "a5", principal.Private)
	own.Want("+a5")
	inside.Want("-a")
	h.Quiet()
	h.Update(a, "a6", 0)
	own.Want("+a6")
	h.TakeOut(a, owner)
	own.Want("-a")
	b := h.Note("b", principal.Private, owner+"=VIEWER")
	own.Want("+b")
	h.Delete(b)
	own.Want("-b")
	for _, f := range []*domaintest.Follower{own, inside, outside} {
		f.WantNothing(h, owner)
		if f == own {
			inside.Want("+mark1")
			outside.Want("+mark1")
		}
		if f == inside {
			own.Want("+mark2")
			outside.Want("+mark2")
		}
	}
}

// TestFollow_LoggedInItemIsHiddenFromOtherTenants: readers of the LOGGEDIN bucket of another
// tenant's library have never seen it, so they get no event when it is removed.
func TestFollow_LoggedInItemIsHiddenFromOtherTenants(t *testing.T) {
	h := domaintest.Town(t)
	h.User("u:beta:yan", principal.Public)
	f := h.Follow(domaintest.As("u:beta:yan"), "u:beta:zed", "")
	a := h.Note("a", principal.LoggedIn, "u:beta:zed=VIEWER")
	h.Update(a, "a2", principal.Private)
	h.Quiet()
	h.Delete(a)
	f.WantNothing(h, "u:beta:zed")
}

// TestFollow_AdministratorGetsEventsOfVisibleItems: an administrator reads the PRIVATE bucket of
// its tenant's libraries, and of other tenants' items only those that it may see.
func TestFollow_AdministratorGetsEventsOfVisibleItems(t *testing.T) {
	h := domaintest.Town(t)
	f := h.Follow(&principal.Viewer{User: "u:beta:root", Admin: true}, "u:beta:zed", "")
	a := h.Note("a", principal.Private, "u:beta:zed=VIEWER")
	h.Update(a, "a2", principal.LoggedIn)
	h.Update(a, "a3", principal.Public)
	f.Want("+a3")
	h.Update(a, "a4", principal.Private)
	f.Want("-a")
	h.TakeOut(a, "u:beta:zed")
	b := h.Note("b", principal.Private, "u:beta:zed=VIEWER")
	h.Delete(b)
	f.WantNothing(h, "u:beta:zed")
}

// TestFollow_ResumesAfterACursor: missed changes are delivered first, in order, each item once, and
// then new ones.
func TestFollow_ResumesAfterACursor(t *testing.T) {
	h := domaintest.Town(t)
	owner := "u:acme:ben"
	a, b, c := h.Note("a", principal.Private, owner+"=VIEWER"), h.Note("b", principal.Private, owner+"=VIEWER"),
		h.Note("c", principal.Private, owner+"=VIEWER")
	for _, q := range []library.LibraryQuery{{}, {Descending: true}, {IncludeShared: true},
		{PageArgs: cursor.PageArgs{Last: domaintest.Ptr(1)}}} {
		conn, err := h.Listing.Library(t.Context(), domaintest.As(owner), principal.ID(owner), q)
		if err != nil {
			t.Fatal(err)
		}
		f := h.Follow(domaintest.As(owner), owner, conn.Edges[0].Cursor())
		// They happened within the minute that a cursor contains.
		f.Want("+a", "+b", "+c")
		f.Close()
	}
	conn, err := h.Listing.Library(t.Context(), domaintest.As(owner), principal.ID(owner), library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	h.Update(b, "b2", 0)
	h.Update(a, "a2", 0)
	h.Update(a, "a3", 0)
	h.Delete(c)
	f := h.Follow(domaintest.As(owner), owner, *conn.PageInfo.EndCursor())
	f.Want("+b2", "+a3", "-c")
	h.Update(b, "b3", 0)
	f.Want("+b3")
	// What was delivered within the minute of the cursor is delivered again, in its present state.
	again := h.Follow(domaintest.As(owner), owner, f.LastCursor)
	again.Want("+a3", "-c", "+b3")
	h.Update(a, "a4", 0)
	f.Want("+a4")
	again.Want("+a4")
}

// TestFollow_HiddenChangesHaveNoEffect: however many changes of a library are in buckets that a follower does not
// read, its events cost the same, its queue is not full, and it can resume. Otherwise it could count them.
func TestFollow_HiddenChangesHaveNoEffect(t *testing.T) {
	h := domaintest.Town(t)
	const team, hidden = "g:acme:team", 1001
	start := h.Note("start", principal.Public, team+"=VIEWER")
	conn, err := h.Listing.Library(t.Context(), domaintest.As("u:acme:ben"), team, library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	f, anonymous := h.Follow(domaintest.As("u:acme:ben"), team, ""), h.Follow(&principal.Viewer{}, team, "")
	charged := func() string {
		var v principal.Viewer
		f.BillTo(&v)
		return fmt.Sprint(&v)
	}
	h.Update(start, "seen", 0)
	f.Want("+seen")
	anonymous.Want("+seen")
	one := charged()
	hot := h.Note("hot", principal.Private, team+"=VIEWER")
	for n := range hidden {
		h.Note(fmt.Sprint("hidden", n), principal.Private, team+"=VIEWER")
		if n < 40 {
			h.Update(hot, fmt.Sprint("hot", n), 0) // the last ones in place
		}
	}
	h.Quiet()
	h.Update(start, "again", 0)
	f.Want("+again")
	anonymous.Want("+again")
	if got := charged(); got != one {
		t.Errorf("an event after %d hidden changes is charged %s, one without %s", hidden, got, one)
	}
	h.Follow(domaintest.As("u:acme:ben"), team, *conn.PageInfo.EndCursor()).Want("+again")
}

func TestFollow_UnusableCursorsAndOwnersAreRefused(t *testing.T) {
	h := domaintest.Town(t)
	owner := "u:acme:ben"
	h.Note("a", principal.Public, owner+"=VIEWER")
	conn, err := h.Listing.Library(t.Context(), domaintest.As(owner), principal.ID(owner), library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	cursor := conn.Edges[0].Cursor()
	b := h.Note("b", principal.Public)
	shared, err := h.Share("u:acme:ann", b, owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		after  time.Duration
		v      *principal.Viewer
		owner  string
		cursor string
		want   []string
	}{
		{"at once", 0, domaintest.As(owner), owner, cursor, nil},
		{"within the hour", 59 * time.Minute, domaintest.As(owner), owner, cursor, nil},
		{"beyond it", 63 * time.Minute, domaintest.As(owner), owner, cursor, []string{"RESYNC"}},
		{"of a mutation, which has read no library", 0, domaintest.As("u:acme:ann"), owner, shared.Edges[0].Cursor(), []string{"RESYNC"}},
		{"of another bucket", 0, domaintest.As("u:acme:cleo"), owner, cursor, []string{"BAD_CURSOR"}},
		{"of another library", 0, domaintest.As("u:acme:cleo"), "u:acme:cleo", cursor, []string{"BAD_CURSOR"}},
		{"not a cursor", 0, domaintest.As(owner), owner, "v99", []string{"BAD_CURSOR"}},
		{"of a user that does not exist", 0, domaintest.As(owner), "u:acme:none", "", []string{"NOT_FOUND"}},
		{"of a user whom the viewer does not see", 0, domaintest.As(owner), "u:acme:hid", "", []string{"NOT_FOUND"}},
		{"of an item", 0, domaintest.As(owner), "c:acme:a", "", []string{"NOT_FOUND"}},
		{"malformed", 0, domaintest.As(owner), "ben", "", []string{"BAD_USER_INPUT"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := h.After(c.after).Feed.Follow(t.Context(), c.v, c.owner, domaintest.CursorOf(c.cursor))
			if err == nil {
				f.Close()
			}
			domaintest.WantFaults(t, err, c.want...)
		})
	}
}

// TestFollow_ChecksRightsAtDelivery: a follower that reads another bucket by now must read again, with the
// next change in its former bucket; one that may not see the owner any more gets nothing more.
func TestFollow_ChecksRightsAtDelivery(t *testing.T) {
	h := domaintest.Town(t)
	h.MustSet(domaintest.As("u:acme:cleo"), "g:acme:team", "u:acme:ben=MEMBER")
	leaves := h.Follow(domaintest.As("u:acme:ben"), "g:acme:team", "")
	joins := h.Follow(domaintest.As("u:beta:zed"), "g:acme:team", "")
	h.Note("a", principal.Private, "g:acme:team=VIEWER")
	leaves.Want("+a")
	h.MustSet(domaintest.As("u:acme:cleo"), "g:acme:team", "u:acme:ben=", "u:beta:zed=MEMBER")
	h.Note("b", principal.Private, "g:acme:team=VIEWER")
	leaves.Want("![RESYNC]")
	h.Note("d", principal.Public, "g:acme:team=VIEWER")
	joins.Want("![RESYNC]")
	sees := h.Follow(domaintest.As("u:beta:zed"), "u:acme:ben", "")
	if _, err := h.People.UpdateUser(t.Context(), domaintest.As("u:acme:ben"),
		principal.UpdateUser{ID: "u:acme:ben", Visibility: input.Some(domaintest.Ptr(principal.LoggedIn))}); err != nil {
		t.Fatal(err)
	}
	h.Note("c", principal.Public, "u:acme:ben=VIEWER")
	sees.Want("![NOT_FOUND]")
}

// TestFollow_SlowFollowerIsDisconnected: a slow follower gets an error, can resume, and does not
// affect others.
func TestFollow_SlowFollowerIsDisconnected(t *testing.T) {
	h := domaintest.Town(t)
	slow, fast := h.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", ""), h.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", "")
	for n := range 300 {
		h.Note(fmt.Sprint("n", n), principal.Private, "u:acme:ben=VIEWER")
		fast.Want(fmt.Sprint("+n", n))
	}
	slow.Want("![SLOW_CONSUMER]")
	conn, err := h.Listing.Library(t.Context(), domaintest.As("u:acme:ben"), "u:acme:ben", library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	again := h.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", conn.Edges[0].Cursor())
	for n := range 300 {
		again.Want(fmt.Sprint("+n", n))
	}
	// One item that changes all the time never fills the queue.
	id := h.Note("hot", principal.Private, "u:acme:ben=VIEWER")
	for n := range 300 {
		h.Update(id, fmt.Sprint("hot", n), 0)
	}
	again.Want("+hot299")
}

// TestFollow_DeliversUpdatesOfHotItems: updates whose move is deferred change no library, and are
// delivered all the same.
func TestFollow_DeliversUpdatesOfHotItems(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("hot", principal.Private, "u:acme:ben=VIEWER")
	for n := range 31 {
		h.Update(id, fmt.Sprint("hot", n), 0)
	}
	at := h.Content(id).Position
	f := h.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", "")
	h.Update(id, "deferred", 0)
	if now := h.Content(id); now.Position != at || now.LastModified == at {
		t.Fatal("the update was not deferred")
	}
	f.Want("+deferred")
	h.Update(id, "once more", 0)
	f.Want("+once more")
	h.Quiet()
	f.Want("+once more")
	if h.Content(id).Position == at {
		t.Error("the item has not moved")
	}
	f.WantNothing(h, "u:acme:ben")
}

// TestFollow_RepairsCauseNoEvents: an index update that changes nothing causes no event.
func TestFollow_RepairsCauseNoEvents(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("a", principal.Private, "u:acme:ben=VIEWER")
	f := h.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", "")
	state := h.Content(id)
	entry := library.BucketEntry{Bucket: principal.Private, Entry: library.Entry{EntryKey: state.Key(library.ByChange)}}
	if err := h.Repair.RepairEntry(t.Context(), "u:acme:ben", entry); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Repair.Rebuild(t.Context(), "u:acme:ben"); err != nil {
		t.Fatal(err)
	}
	f.WantNothing(h, "u:acme:ben")
}

// stuck is a store in which one library cannot be written for a while.
type stuck struct {
	library.ContentStore
	mu    sync.Mutex
	owner principal.ID
}

func (s *stuck) hold(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner = principal.ID(owner)
}

func (s *stuck) ApplyIndex(ctx context.Context, e *library.IndexUpdate) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(e.Rows, func(m library.Member) bool { return m.Principal == s.owner }) {
		return domaintest.ErrDown
	}
	return s.ContentStore.ApplyIndex(ctx, e)
}
