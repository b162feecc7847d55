package library_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/backend"
	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// follower is somebody who follows a library in a test.
type follower struct {
	t *testing.T
	library.Following
	cursor string // of the last edge told
}

// follows begins to follow, since a cursor was read where it is not empty.
func (h *house) follows(v *principal.Viewer, owner, after string) *follower {
	h.t.Helper()
	f, err := h.svc.Follow(h.t.Context(), v, owner, cursorOf(after))
	if err != nil {
		h.t.Fatalf("%s follows %s: %v", v.User, owner, err)
	}
	h.t.Cleanup(f.Close)
	return &follower{t: h.t, Following: f}
}

func cursorOf(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// next is what is told next: "+title" where an item was placed, "-id" where one
// was removed, "!fault" at the end.
func (f *follower) next() string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second)
	defer cancel()
	c, err := f.Next(ctx)
	switch c := c.(type) {
	case *library.LibraryEntryPlaced:
		f.cursor = c.Edge.Cursor()
		return "+" + c.Edge.Node.Title
	case *library.LibraryEntryRemoved:
		return "-" + c.ContentID.Name()
	}
	return fmt.Sprint("!", told(err))
}

// wants compares what is told next, so many changes of it.
func (f *follower) wants(want ...string) {
	f.t.Helper()
	var got []string
	for range want {
		got = append(got, f.next())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("told (-want +got):\n%s", diff)
	}
}

// wantsNothing checks that nothing is told before the placing of a new item
// that every reader of a library sees.
func (f *follower) wantsNothing(h *house, owner string) {
	f.t.Helper()
	h.marks++
	name := fmt.Sprintf("mark%d", h.marks)
	h.note(name, principal.Public, owner+"=VIEWER")
	f.wants("+" + name)
}

// update changes the title of a note, and its visibility where that is not 0.
func (h *house) update(id library.ContentID, title string, visibility principal.Visibility) {
	h.t.Helper()
	in := library.UpdateContent{ID: string(id), Title: input.Some(&title)}
	if visibility != 0 {
		in.Visibility = input.Some(&visibility)
	}
	if _, err := h.svc.UpdateContent(h.t.Context(), as("u:acme:ann"), in); err != nil {
		h.t.Fatalf("updating %s: %v", id, err)
	}
}

// take takes an item out of libraries.
func (h *house) take(id library.ContentID, from ...string) {
	h.t.Helper()
	in := library.SetContentMembers{Content: string(id)}
	for _, p := range from {
		in.Members = append(in.Members, library.ContentMemberChange{Principal: p})
	}
	if _, err := h.svc.SetContentMembers(h.t.Context(), as("u:acme:ann"), in); err != nil {
		h.t.Fatalf("taking %s out: %v", id, err)
	}
}

func (h *house) delete(id library.ContentID) {
	h.t.Helper()
	if _, err := h.svc.DeleteContent(h.t.Context(), as("u:acme:ann"), library.DeleteContent{ID: string(id)}); err != nil {
		h.t.Fatalf("deleting %s: %v", id, err)
	}
}

func TestAFollowerIsToldWhatHappens(t *testing.T) {
	h := town(t)
	f := h.follows(as("u:acme:ben"), "u:acme:ben", "")
	a := h.note("a", principal.Private, "u:acme:ben=VIEWER")
	f.wants("+a")
	b := h.note("b", principal.Public)
	if _, err := h.share("u:acme:ann", b, "u:acme:ben"); err != nil {
		t.Fatal(err)
	}
	f.wants("+b")
	h.update(a, "a2", 0)
	f.wants("+a2")
	h.update(a, "a3", principal.Public)
	f.wants("+a3")
	h.take(a, "u:acme:ben")
	f.wants("-a")
	h.delete(b)
	f.wants("-b")
	h.update(a, "a4", 0)
	f.wantsNothing(h, "u:acme:ben")
}

// TestWhatIsToldIsTheEdgeOfAPage: the edge told is that of a page read then,
// its cursor works in either order.
func TestWhatIsToldIsTheEdgeOfAPage(t *testing.T) {
	h := town(t)
	f := h.follows(as("u:acme:ben"), "u:acme:ben", "")
	h.note("a", principal.Private, "u:acme:ben=EDITOR")
	h.note("b", principal.Private, "u:acme:ben=EDITOR")
	c, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	edge := c.(*library.LibraryEntryPlaced).Edge
	conn, err := h.svc.Library(t.Context(), as("u:acme:ben"), "u:acme:ben", library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(conn.Edges[0].Node, edge.Node); diff != "" || edge.Role != library.Editing {
		t.Errorf("the edge's role is %s, its node (-page +told):\n%s", edge.Role, diff)
	}
	for _, descending := range []bool{false, true} {
		q := library.LibraryQuery{PageArgs: firstAfter(5, ptr(edge.Cursor())), Descending: descending}
		conn, err := h.svc.Library(t.Context(), as("u:acme:ben"), "u:acme:ben", q)
		if want := map[bool]int{false: 1, true: 0}[descending]; err != nil || len(conn.Edges) != want {
			t.Errorf("after the cursor, descending %v: %v, %v", descending, conn, err)
		}
	}
}

// TestRemovalsAreToldWhereTheItemStood: readers of a bucket hear of what leaves
// that bucket, and of nothing that was never in it.
func TestRemovalsAreToldWhereTheItemStood(t *testing.T) {
	h := town(t)
	h.group("g:beta:club", "u:beta:zed", principal.Public)
	owner := "u:acme:ben"
	own, inside, outside := h.follows(as(owner), owner, ""), h.follows(as("u:acme:cleo"), owner, ""), h.follows(as("u:beta:zed"), owner, "")
	a := h.note("a", principal.Private, owner+"=VIEWER")
	own.wants("+a")
	h.update(a, "a2", principal.LoggedIn)
	own.wants("+a2")
	inside.wants("+a2")
	h.update(a, "a3", principal.Public)
	own.wants("+a3")
	inside.wants("+a3")
	outside.wants("+a3")
	h.update(a, "a4", principal.LoggedIn)
	own.wants("+a4")
	inside.wants("+a4")
	outside.wants("-a")
	h.update(a, "a5", principal.Private)
	own.wants("+a5")
	inside.wants("-a")
	h.quiet()
	h.update(a, "a6", 0)
	own.wants("+a6")
	h.take(a, owner)
	own.wants("-a")
	b := h.note("b", principal.Private, owner+"=VIEWER")
	own.wants("+b")
	h.delete(b)
	own.wants("-b")
	for _, f := range []*follower{own, inside, outside} {
		f.wantsNothing(h, owner)
		if f == own {
			inside.wants("+mark1")
			outside.wants("+mark1")
		}
		if f == inside {
			own.wants("+mark2")
			outside.wants("+mark2")
		}
	}
}

// TestALoggedInItemIsNeverInAnothersTenant: readers of the LOGGEDIN bucket of
// another tenant's library never met it, so they do not hear that it is gone.
func TestALoggedInItemIsNeverInAnothersTenant(t *testing.T) {
	h := town(t)
	h.user("u:beta:yan", principal.Public)
	f := h.follows(as("u:beta:yan"), "u:beta:zed", "")
	a := h.note("a", principal.LoggedIn, "u:beta:zed=VIEWER")
	h.update(a, "a2", principal.Private)
	h.quiet()
	h.delete(a)
	f.wantsNothing(h, "u:beta:zed")
}

// TestAnAdministratorHearsOfWhatItSees: it reads the PRIVATE bucket of its
// tenant's libraries, of other tenants' items only what it may see.
func TestAnAdministratorHearsOfWhatItSees(t *testing.T) {
	h := town(t)
	f := h.follows(&principal.Viewer{User: "u:beta:root", Admin: true}, "u:beta:zed", "")
	a := h.note("a", principal.Private, "u:beta:zed=VIEWER")
	h.update(a, "a2", principal.LoggedIn)
	h.update(a, "a3", principal.Public)
	f.wants("+a3")
	h.update(a, "a4", principal.Private)
	f.wants("-a")
	h.take(a, "u:beta:zed")
	b := h.note("b", principal.Private, "u:beta:zed=VIEWER")
	h.delete(b)
	f.wantsNothing(h, "u:beta:zed")
}

// TestAFollowerResumes: what was missed is told first, in order, each item
// once, and then what happens.
func TestAFollowerResumes(t *testing.T) {
	h := town(t)
	owner := "u:acme:ben"
	a, b, c := h.note("a", principal.Private, owner+"=VIEWER"), h.note("b", principal.Private, owner+"=VIEWER"), h.note("c", principal.Private, owner+"=VIEWER")
	for _, q := range []library.LibraryQuery{{}, {Descending: true}, {IncludeShared: true}, {PageArgs: cursor.PageArgs{Last: ptr(1)}}} {
		conn, err := h.svc.Library(t.Context(), as(owner), principal.ID(owner), q)
		if err != nil {
			t.Fatal(err)
		}
		f := h.follows(as(owner), owner, conn.Edges[0].Cursor())
		// They happened within the minute that a cursor tells.
		f.wants("+a", "+b", "+c")
		f.Close()
	}
	conn, err := h.svc.Library(t.Context(), as(owner), principal.ID(owner), library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	h.update(b, "b2", 0)
	h.update(a, "a2", 0)
	h.update(a, "a3", 0)
	h.delete(c)
	f := h.follows(as(owner), owner, *conn.PageInfo.EndCursor())
	f.wants("+b2", "+a3", "-c")
	h.update(b, "b3", 0)
	f.wants("+b3")
	// So is what was told within the minute of the cursor, as it is now.
	again := h.follows(as(owner), owner, f.cursor)
	again.wants("+a3", "-c", "+b3")
	h.update(a, "a4", 0)
	f.wants("+a4")
	again.wants("+a4")
}

func TestAFollowerMustReadAgain(t *testing.T) {
	h := town(t)
	owner := "u:acme:ben"
	h.note("a", principal.Public, owner+"=VIEWER")
	conn, err := h.svc.Library(t.Context(), as(owner), principal.ID(owner), library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	cursor := conn.Edges[0].Cursor()
	b := h.note("b", principal.Public)
	shared, err := h.share("u:acme:ann", b, owner)
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
		{"at once", 0, as(owner), owner, cursor, nil},
		{"within the hour", 59 * time.Minute, as(owner), owner, cursor, nil},
		{"beyond it", 63 * time.Minute, as(owner), owner, cursor, []string{"RESYNC"}},
		{"of a mutation, which has read no library", 0, as("u:acme:ann"), owner, shared.Edges[0].Cursor(), []string{"RESYNC"}},
		{"of another bucket", 0, as("u:acme:cleo"), owner, cursor, []string{"BAD_CURSOR"}},
		{"of another library", 0, as("u:acme:cleo"), "u:acme:cleo", cursor, []string{"BAD_CURSOR"}},
		{"no cursor", 0, as(owner), owner, "v99", []string{"BAD_CURSOR"}},
		{"nobody's", 0, as(owner), "u:acme:none", "", []string{"NOT_FOUND"}},
		{"of whom the viewer does not see", 0, as(owner), "u:acme:hid", "", []string{"NOT_FOUND"}},
		{"of an item", 0, as(owner), "c:acme:a", "", []string{"NOT_FOUND"}},
		{"malformed", 0, as(owner), "ben", "", []string{"BAD_USER_INPUT"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := h.in(c.after).Follow(t.Context(), c.v, c.owner, cursorOf(c.cursor))
			if err == nil {
				f.Close()
			}
			wantTold(t, err, c.want...)
		})
	}
}

// TestAFollowersRightsAreThoseOfTheMoment: whoever reads another bucket by now
// must read again, whoever may not see the owner any more is told no more.
func TestAFollowersRightsAreThoseOfTheMoment(t *testing.T) {
	h := town(t)
	h.mustSet(as("u:acme:cleo"), "g:acme:team", "u:acme:ben=MEMBER")
	leaves := h.follows(as("u:acme:ben"), "g:acme:team", "")
	joins := h.follows(as("u:beta:zed"), "g:acme:team", "")
	h.note("a", principal.Private, "g:acme:team=VIEWER")
	leaves.wants("+a")
	h.mustSet(as("u:acme:cleo"), "g:acme:team", "u:acme:ben=", "u:beta:zed=MEMBER")
	h.note("b", principal.Private, "g:acme:team=VIEWER")
	leaves.wants("![RESYNC]")
	joins.wants("![RESYNC]")
	sees := h.follows(as("u:beta:zed"), "u:acme:ben", "")
	if _, err := h.svc.UpdateUser(t.Context(), as("u:acme:ben"), principal.UpdateUser{ID: "u:acme:ben", Visibility: input.Some(ptr(principal.LoggedIn))}); err != nil {
		t.Fatal(err)
	}
	h.note("c", principal.Public, "u:acme:ben=VIEWER")
	sees.wants("![NOT_FOUND]")
}

// TestASlowFollowerIsCutOff: it is told so, can resume, and others do not
// notice.
func TestASlowFollowerIsCutOff(t *testing.T) {
	h := town(t)
	slow, fast := h.follows(as("u:acme:ben"), "u:acme:ben", ""), h.follows(as("u:acme:ben"), "u:acme:ben", "")
	for n := range 300 {
		h.note(fmt.Sprint("n", n), principal.Private, "u:acme:ben=VIEWER")
		fast.wants(fmt.Sprint("+n", n))
	}
	slow.wants("![SLOW_CONSUMER]")
	conn, err := h.svc.Library(t.Context(), as("u:acme:ben"), "u:acme:ben", library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	again := h.follows(as("u:acme:ben"), "u:acme:ben", conn.Edges[0].Cursor())
	for n := range 300 {
		again.wants(fmt.Sprint("+n", n))
	}
	// One item that changes all the time never fills the queue.
	id := h.note("hot", principal.Private, "u:acme:ben=VIEWER")
	for n := range 300 {
		h.update(id, fmt.Sprint("hot", n), 0)
	}
	again.wants("+hot299")
}

// TestAHotItemIsToldInItsPlace: updates whose move is deferred touch no
// library, and are told all the same.
func TestAHotItemIsToldInItsPlace(t *testing.T) {
	h := town(t)
	id := h.note("hot", principal.Private, "u:acme:ben=VIEWER")
	for n := range 31 {
		h.update(id, fmt.Sprint("hot", n), 0)
	}
	at := h.content(id).Position
	f := h.follows(as("u:acme:ben"), "u:acme:ben", "")
	h.update(id, "deferred", 0)
	if now := h.content(id); now.Position != at || now.LastModified == at {
		t.Fatal("the update was not deferred")
	}
	f.wants("+deferred")
	h.update(id, "once more", 0)
	f.wants("+once more")
	h.quiet()
	f.wants("+once more")
	if h.content(id).Position == at {
		t.Error("the item has not moved")
	}
	f.wantsNothing(h, "u:acme:ben")
}

// TestRepairsTellNothing: what is enforced once more as it stood is no news.
func TestRepairsTellNothing(t *testing.T) {
	h := town(t)
	id := h.note("a", principal.Private, "u:acme:ben=VIEWER")
	f := h.follows(as("u:acme:ben"), "u:acme:ben", "")
	entry := library.BucketEntry{Bucket: principal.Private, Entry: library.Entry{Position: h.content(id).Position, Content: id}}
	if err := h.svc.RepairEntry(t.Context(), "u:acme:ben", entry); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.svc.Rebuild(t.Context(), "u:acme:ben"); err != nil {
		t.Fatal(err)
	}
	f.wantsNothing(h, "u:acme:ben")
}

// stuck is a store in which one library cannot be written for a while.
type stuck struct {
	backend.Store
	mu    sync.Mutex
	owner principal.ID
}

func (s *stuck) hold(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner = principal.ID(owner)
}

func (s *stuck) Enforce(ctx context.Context, e *library.Enforcement) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(e.Rows, func(m library.Member) bool { return m.Principal == s.owner }) {
		return errDown
	}
	return s.Store.Enforce(ctx, e)
}
