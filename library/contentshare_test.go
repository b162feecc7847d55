package library_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

func TestShareContent_ChecksInputAndRights(t *testing.T) {
	h := domaintest.Town(t)
	open := string(h.Note("open", principal.Public))
	ours := string(h.Note("ours", principal.LoggedIn))
	secret := string(h.Note("secret", principal.Private, "u:acme:ben=EDITOR"))
	for _, c := range []struct {
		name string
		as   *principal.Viewer
		in   library.ShareContent
		want []string
	}{
		{"anonymous", &principal.Viewer{}, library.ShareContent{Content: open, Principals: []string{"u:acme:ben"}, Role: library.Viewing},
			[]string{"UNAUTHENTICATED"}},
		{"with nobody", domaintest.As("u:acme:ann"), library.ShareContent{Content: "x", Role: library.Viewing},
			[]string{"INVALID contentId", "INVALID principalIds"}},
		{"with too many", domaintest.As("u:acme:ann"), library.ShareContent{Content: open, Principals: make([]string, 101),
			Role: library.Viewing}, []string{"TOO_MANY principalIds"}},
		{"with the malformed and the unknown", domaintest.As("u:acme:ann"), library.ShareContent{Content: open,
			Principals: []string{"u:acme:ben", "nonsense", "c:acme:open"}, Role: library.Viewing},
			[]string{"INVALID principalIds.1", "INVALID principalIds.2"}},
		{"with the unknown and the unseen", domaintest.As("u:acme:ann"), library.ShareContent{Content: open,
			Principals: []string{"u:acme:nobody", "u:acme:ben", "u:acme:hid"}, Role: library.Viewing},
			[]string{"NOT_FOUND principalIds.0", "NOT_FOUND principalIds.2"}},
		{"of what is unseen", domaintest.As("u:acme:cleo"), library.ShareContent{Content: secret, Principals: []string{"u:acme:cleo"},
			Role: library.Viewing}, []string{"NOT_FOUND contentId"}},
		{"of a private item by its editor", domaintest.As("u:acme:ben"), library.ShareContent{Content: secret,
			Principals: []string{"u:acme:cleo"}, Role: library.Viewing}, []string{"FORBIDDEN contentId"}},
		{"of more than viewing by a reader", domaintest.As("u:acme:ben"), library.ShareContent{Content: open,
			Principals: []string{"u:acme:cleo"}, Role: library.Editing}, []string{"FORBIDDEN role"}},
		{"of a LOGGEDIN item with another tenant by a reader", domaintest.As("u:acme:ben"), library.ShareContent{Content: ours,
			Principals: []string{"u:acme:cleo", "u:beta:zed"}, Role: library.Viewing}, []string{"FORBIDDEN principalIds.1"}},
		{"with oneself, twice", domaintest.As("u:beta:zed"),
			library.ShareContent{Content: open, Principals: []string{"u:beta:zed", "U:BETA:ZED"}, Role: library.Viewing}, nil},
		{"by a reader", domaintest.As("u:acme:ben"), library.ShareContent{Content: ours, Principals: []string{"u:acme:cleo"},
			Role: library.Viewing}, nil},
		{"with another tenant by a manager", domaintest.As("u:acme:ann"),
			library.ShareContent{Content: secret, Principals: []string{"u:beta:zed", "g:acme:team"}, Role: library.Viewing}, nil},
		{"that would demote", domaintest.As("u:acme:ann"), library.ShareContent{Content: secret, Principals: []string{"u:acme:ben"},
			Role: library.Viewing}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := h.Library.ShareContent(t.Context(), c.as, c.in)
			domaintest.WantFaults(t, err, c.want...)
			if err == nil && (out.Content == nil || len(out.Edges) == 0) {
				t.Errorf("the outcome: %+v", out)
			}
		})
	}
	if row, err := h.Store.Contents.Read(t.Context(), library.ContentID(secret),
		library.ContentQuery{Members: []principal.ID{"u:acme:ben"}}); err != nil || row.Members[0].Role != library.Editing {
		t.Errorf("a share demoted: %+v, %v", row, err)
	}
	h.WantTitles(domaintest.As("u:acme:cleo"), "g:acme:team", "secret")
	h.WantClean()
}

func TestShareContent_WithoutAChangeWritesNothing(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("a", principal.Public, "u:acme:ben=EDITOR")
	before := h.Content(id)
	out, err := h.Library.ShareContent(t.Context(), domaintest.As("u:acme:ann"),
		library.ShareContent{Content: string(id), Principals: []string{"u:acme:ben"}, Role: library.Viewing})
	if err != nil || out.FanOut != (library.FanOut{Complete: true}) {
		t.Errorf("the outcome: %+v, %v", out, err)
	}
	if after := h.Content(id); after.Seq != before.Seq {
		t.Errorf("it wrote: seq %d, was %d", after.Seq, before.Seq)
	}
}

func TestSetContentMembers_ChecksInputAndRights(t *testing.T) {
	h := domaintest.Town(t)
	id := string(h.Note("a", principal.Private, "u:acme:ben=EDITOR"))
	for _, c := range []struct {
		name    string
		as      *principal.Viewer
		changes []library.ContentMemberChange
		want    []string
	}{
		{"none", domaintest.As("u:acme:ann"), nil, []string{"INVALID members"}},
		{"one twice", domaintest.As("u:acme:ann"), domaintest.MemberChanges("u:acme:ben=VIEWER", "u:acme:ben=EDITOR"),
			[]string{"INVALID members.1.principalId"}},
		{"by an editor", domaintest.As("u:acme:ben"), domaintest.MemberChanges("u:acme:cleo=VIEWER"), []string{"FORBIDDEN contentId"}},
		{"an unseen one", domaintest.As("u:acme:ann"), domaintest.MemberChanges("u:acme:hid=VIEWER"),
			[]string{"NOT_FOUND members.0.principalId"}},
		{"removing the last manager", domaintest.As("u:acme:ann"), domaintest.MemberChanges("u:acme:ann="), []string{"LAST_MANAGER"}},
		{"demoting the last manager", domaintest.As("u:acme:ann"), domaintest.MemberChanges("u:acme:ann=EDITOR"), []string{"LAST_MANAGER"}},
		{"removing somebody who is no member", domaintest.As("u:acme:ann"), domaintest.MemberChanges("u:acme:cleo="), nil},
		{"adding a group", domaintest.As("u:acme:ann"), domaintest.MemberChanges("g:acme:team=MANAGER"), nil},
		{"removing oneself", domaintest.As("u:acme:ben"), domaintest.MemberChanges("u:acme:ben="), nil},
		{"removing a manager, while a group is manager", domaintest.As("u:acme:cleo"), domaintest.MemberChanges("u:acme:ann="), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Library.SetContentMembers(t.Context(), c.as, library.SetContentMembers{Content: id, Members: c.changes})
			domaintest.WantFaults(t, err, c.want...)
		})
	}
	if _, err := h.Library.SetContentMembers(t.Context(), domaintest.As("u:acme:ann"),
		library.SetContentMembers{Content: id, Members: domaintest.MemberChanges("u:acme:ben=VIEWER")}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a removed manager still sees the private item: %v", err)
	}
	h.WantTitles(domaintest.As("u:acme:ann"), "u:acme:ann")
	h.WantClean()
}

// slowCommits delays the first commit of an item until it is released, and counts all of them.
type slowCommits struct {
	library.ContentStore
	id      library.ContentID
	began   chan struct{}
	goOn    chan struct{}
	once    sync.Once
	mu      sync.Mutex
	commits int
}

func (s *slowCommits) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	if c.ID == s.id {
		s.mu.Lock()
		s.commits++
		s.mu.Unlock()
		s.once.Do(func() {
			close(s.began)
			<-s.goOn
		})
	}
	return s.ContentStore.Commit(ctx, c)
}

// patient is the real runtime without deadlines: what the test delays does not time out,
// however slow the machine is.
type patient struct{ *sched.Real }

func (patient) Deadline(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return ctx, func() {}
}

func TestShareContent_WaitingSharesAreOneCommit(t *testing.T) {
	slow := &slowCommits{began: make(chan struct{}), goOn: make(chan struct{})}
	h := domaintest.New(t, func(s *domain.Store) { slow.ContentStore, s.Contents = s.Contents, slow })
	h.Services = domaintest.Open(t, domain.Config{Store: h.Store, Runtime: patient{h.Runtime}, Journal: h.Journal,
		Names: &domaintest.CountingNames{}})
	h.User("u:acme:ann", principal.Public)
	const many = 20
	for n := range many {
		h.User(fmt.Sprintf("u:acme:p%d", n), principal.Public)
	}
	id := h.Note("a", principal.Public)
	slow.id = id
	share := func(p string) (*library.ContentOutcome, error) {
		return h.Library.ShareContent(t.Context(), domaintest.As(p), library.ShareContent{Content: string(id),
			Principals: []string{p}, Role: library.Viewing})
	}
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = share("u:acme:p0") })
	<-slow.began
	for n := 1; n < many; n++ {
		wg.Go(func() {
			out, err := share(fmt.Sprintf("u:acme:p%d", n))
			if err != nil || out.Edge == nil || out.FanOut.Libraries != 1 {
				t.Errorf("share %d: %+v, %v", n, out, err)
			}
		})
	}
	wg.Go(func() {
		_, err := h.Library.ShareContent(t.Context(), domaintest.As("u:acme:p1"), library.ShareContent{Content: string(id),
			Principals: []string{"u:acme:p1"}, Role: library.Manages})
		domaintest.WantFaults(t, err, "FORBIDDEN role")
	})
	for h.Library.SharesWaiting(id) < many {
		runtime.Gosched()
		if t.Context().Err() != nil {
			return
		}
	}
	close(slow.goOn)
	wg.Wait()
	if got := h.Content(id); got.Members != many+1 || slow.commits != 2 {
		t.Errorf("%d members by %d commits, want %d by 2", got.Members, slow.commits, many+1)
	}
	h.WantClean()
}

func TestShareContent_ReaderMayNotShareALoggedInItemWithAGroup(t *testing.T) {
	h := domaintest.Town(t)
	id := string(h.Note("ours", principal.LoggedIn))
	h.MustSet(domaintest.As("u:acme:cleo"), "g:acme:team", "u:beta:zed=MEMBER")
	share := func(v *principal.Viewer) error {
		_, err := h.Library.ShareContent(t.Context(), v, library.ShareContent{Content: id, Principals: []string{"g:acme:team"},
			Role: library.Viewing})
		return err
	}
	domaintest.WantFaults(t, share(domaintest.As("u:acme:cleo")), "FORBIDDEN principalIds.0")
	if cs, err := h.Library.Contents(t.Context(), domaintest.As("u:beta:zed"), []library.ContentID{library.ContentID(id)}); err != nil ||
		cs[0] != nil {
		t.Errorf("one of another tenant sees it through the group: %+v, %v", cs, err)
	}
	domaintest.WantFaults(t, share(domaintest.As("u:acme:ann")))
	domaintest.WantFaults(t, share(domaintest.As("u:acme:cleo"))) // the group has a role, so it sees the item anyway
}

// TestShareContent_ReaderSharesAPublicItemWithAGroup: everybody sees a PUBLIC item anyway.
func TestShareContent_ReaderSharesAPublicItemWithAGroup(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("open", principal.Public)
	_, err := h.Share("u:beta:zed", id, "g:acme:team")
	domaintest.WantFaults(t, err)
	h.WantTitles(&principal.Viewer{}, "g:acme:team", "open")
}

func TestMembers_ManagersSeeAll(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("a", principal.Public)
	if _, err := h.Library.ShareContent(t.Context(), domaintest.As("u:acme:hid"),
		library.ShareContent{Content: string(id), Principals: []string{"u:acme:hid"}, Role: library.Viewing}); err != nil {
		t.Fatal(err)
	}
	members := func(v *principal.Viewer) int {
		c, err := h.Library.Members(t.Context(), v, id, cursor.PageArgs{})
		if err != nil {
			t.Fatal(err)
		}
		return len(c.Edges)
	}
	if n := members(domaintest.As("u:acme:ben")); n != 1 {
		t.Errorf("a reader is shown %d members, want the one that is not PRIVATE", n)
	}
	if n := members(domaintest.As("u:acme:ann")); n != 2 {
		t.Errorf("the manager is shown %d members, want both", n)
	}
}

// TestUpdate_EditorsDoNotCountTheMembers: the number of libraries that a change concerns, by which it is also priced,
// would tell how many members somebody does not see.
func TestUpdate_EditorsDoNotCountTheMembers(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("open", principal.Public, "g:acme:team=VIEWER", "u:acme:cleo=VIEWER", "u:acme:ben=EDITOR")
	change := func(user, title, key string) int {
		out, err := h.Library.UpdateContent(t.Context(), domaintest.As(user),
			library.UpdateContent{ID: string(id), Title: input.Some(&title), IdempotencyKey: &key})
		if err != nil {
			t.Fatal(err)
		}
		return out.FanOut.Libraries
	}
	edit := func(user string) int {
		title := "revised by " + user
		m, err := h.People.BeginAsActor(domaintest.As(user), "acme", commit.Call{Name: "edit", Input: user})
		if err != nil {
			t.Fatal(err)
		}
		out, err := h.Library.ChangeItem(t.Context(), domaintest.As(user), library.ItemChange{Mutation: m, ID: id, Path: "id",
			Rows: func(*library.Header) []library.RowKey { return nil },
			Plan: func(context.Context, *library.ItemReading) (*library.Edit, error) {
				return &library.Edit{Visible: true, Title: &title}, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		return out.FanOut.Libraries
	}
	for range 2 { // the second is a repetition
		if n := change("u:acme:ann", "by ann", "1234567890123456789012"); n != 4 {
			t.Errorf("the manager's change concerns %d libraries, want 4", n)
		}
		if n := change("u:acme:ben", "by ben", "1234567890123456789012"); n != 1 {
			t.Errorf("the editor's change concerns %d libraries, want 1", n)
		}
	}
	if manager, editor := edit("u:acme:ann"), edit("u:acme:ben"); manager != 4 || editor != 1 {
		t.Errorf("edits of the text concern %d and %d libraries, want 4 and 1", manager, editor)
	}
}
