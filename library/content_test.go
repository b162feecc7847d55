package library_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/library"
)

// town is a house with people in two tenants: ann, ben and cleo of acme, dora
// its administrator, zed of beta, and a group of acme that cleo manages.
func town(t *testing.T) *house {
	h := newHouse(t, nil)
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:cleo", "u:acme:dora", "u:beta:zed"} {
		h.user(id, library.Public)
	}
	h.user("u:acme:hid", library.Private)
	h.group("g:acme:team", "u:acme:cleo", library.Public)
	return h
}

// note creates one named n by ann.
func (h *house) note(n string, visibility library.Visibility, members ...string) library.ContentID {
	h.t.Helper()
	out, err := h.svc.CreateContent(h.t.Context(), as("u:acme:ann"), library.CreateContent{
		Name: &n, Kind: library.Note, Title: n, Visibility: visibility, Members: roles(members...),
	})
	if err != nil {
		h.t.Fatalf("creating %s: %v", n, err)
	}
	return out.ID
}

// roles reads "u:acme:ben=EDITOR", "u:acme:ben=" to take it away.
func roles(changes ...string) []library.ContentMemberChange {
	var all []library.ContentMemberChange
	for _, c := range changes {
		id, name, _ := cutLast(c, '=')
		change := library.ContentMemberChange{Principal: id}
		if r, ok := library.ParseContentRole(name); ok {
			change.Role = &r
		}
		all = append(all, change)
	}
	return all
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == sep {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// titles are those of a library as v reads it, oldest first.
func (h *house) titles(v *library.Viewer, owner string) []string {
	h.t.Helper()
	conn, err := h.svc.Library(h.t.Context(), v, library.PrincipalID(owner), library.LibraryQuery{PageArgs: library.PageArgs{First: ptr(100)}})
	if err != nil {
		h.t.Fatalf("reading the library of %s: %v", owner, err)
	}
	var all []string
	for _, e := range conn.Edges {
		all = append(all, e.Node.Title)
	}
	return all
}

// wantTitles compares a library's titles.
func (h *house) wantTitles(v *library.Viewer, owner string, want ...string) {
	h.t.Helper()
	if diff := cmp.Diff(want, h.titles(v, owner)); diff != "" {
		h.t.Errorf("the library of %s as %s reads it (-want +got):\n%s", owner, v.User, diff)
	}
}

// quiet waits until nothing is in flight.
func (h *house) quiet() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 30*time.Second)
	defer cancel()
	if err := h.journal.Drain(ctx, h.svc); err != nil {
		h.t.Fatalf("draining: %v", err)
	}
}

// wantClean audits the whole store once nothing is in flight.
func (h *house) wantClean() {
	h.t.Helper()
	h.quiet()
	r, err := h.svc.Audit(h.t.Context())
	if err != nil {
		h.t.Fatalf("auditing: %v", err)
	}
	if !r.Clean() || r.Deferred != 0 {
		h.t.Errorf("the audit found: %+v", r)
	}
}

func (h *house) content(id library.ContentID) library.Header {
	h.t.Helper()
	rows, err := h.store.Read(h.t.Context(), id, library.ContentQuery{Serial: true})
	if err != nil {
		h.t.Fatalf("reading %s: %v", id, err)
	}
	return rows.Header
}

func TestCreateContent(t *testing.T) {
	h := town(t)
	link := "https://example.com/"
	good := library.CreateContent{Kind: library.Link, Title: "t", Link: &link, Visibility: library.Public}
	with := func(change func(*library.CreateContent)) library.CreateContent {
		in := good
		change(&in)
		return in
	}
	h.note("taken", library.Public)
	past := library.Instant(1)
	for _, c := range []struct {
		name string
		as   *library.Viewer
		in   library.CreateContent
		want []string
	}{
		{"by an anonymous viewer", &library.Viewer{}, good, []string{"UNAUTHENTICATED"}},
		{"by a token without a user", as("u:acme:new"), good, []string{"FORBIDDEN"}},
		{"by an administrator without a user", admin("u:acme:new"), good, []string{"FORBIDDEN"}},
		{"with all faults of shape at once", as("u:acme:ann"), library.CreateContent{
			Tenant: ptr("No"), Name: ptr("a/b"), Kind: library.Link, Title: " ", Description: ptr("\x00"), Visibility: library.Public,
			ExpiresAt: &past, Members: roles("c:acme:x=VIEWER", "u:acme:ben=", "u:acme:ben=VIEWER"),
		}, []string{"INVALID tenant", "INVALID name", "INVALID title", "INVALID description", "INVALID link", "INVALID expiresAt",
			"INVALID members.0.principalId", "INVALID members.1.role", "INVALID members.2.principalId"}},
		{"a note with a link", as("u:acme:ann"), with(func(in *library.CreateContent) { in.Kind = library.Note }), []string{"INVALID link"}},
		{"in another tenant", as("u:acme:ann"), with(func(in *library.CreateContent) { in.Tenant = ptr("beta") }), []string{"FORBIDDEN tenant"}},
		{"of a taken name", as("u:acme:ann"), with(func(in *library.CreateContent) { in.Name = ptr("taken") }), []string{"TAKEN name"}},
		{"with an unknown member", as("u:acme:ann"), with(func(in *library.CreateContent) {
			in.Members = roles("u:acme:ben=VIEWER", "u:acme:nobody=VIEWER", "u:acme:hid=VIEWER")
		}), []string{"NOT_FOUND members.1.principalId", "NOT_FOUND members.2.principalId"}},
		{"with too many members", as("u:acme:ann"), with(func(in *library.CreateContent) {
			in.Members = make([]library.ContentMemberChange, 101)
		}), []string{"TOO_MANY members"}},
		{"as it should be", as("u:acme:ann"), with(func(in *library.CreateContent) { in.Members = roles("u:acme:ben=EDITOR", "g:acme:team=VIEWER") }), nil},
		{"by a global administrator elsewhere", global("u:acme:dora"), with(func(in *library.CreateContent) { in.Tenant = ptr("beta") }), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := h.svc.CreateContent(t.Context(), c.as, c.in)
			wantTold(t, err, c.want...)
			if err != nil {
				return
			}
			if out.Edge == nil || out.Edge.Role != library.Manages || out.Content == nil || !out.FanOut.Complete {
				t.Errorf("the outcome: %+v", out)
			}
		})
	}
	h.wantTitles(as("u:acme:ben"), "u:acme:ben", "t")
	h.wantTitles(as("u:acme:cleo"), "g:acme:team", "t")
	h.wantClean()
}

func TestUpdateContent(t *testing.T) {
	h := town(t)
	id := h.note("a", library.Public, "u:acme:ben=EDITOR", "g:acme:team=MANAGER")
	h.note("b", library.Public, "u:acme:ben=VIEWER")
	secret := h.note("secret", library.Private)
	for _, c := range []struct {
		name string
		as   *library.Viewer
		in   library.UpdateContent
		want []string
	}{
		{"anonymous", &library.Viewer{}, library.UpdateContent{ID: string(id), Title: library.Some(ptr("x"))}, []string{"UNAUTHENTICATED"}},
		{"of nothing", as("u:acme:ann"), library.UpdateContent{ID: string(id)}, []string{"INVALID"}},
		{"with nulls", as("u:acme:ann"), library.UpdateContent{ID: "u:acme:ann", Title: library.Some[*string](nil), Link: library.Some[*string](nil), Visibility: library.Some[*library.Visibility](nil)},
			[]string{"INVALID id", "INVALID title", "INVALID link", "INVALID visibility"}},
		{"of an unknown item", as("u:acme:ann"), library.UpdateContent{ID: "c:acme:none", Title: library.Some(ptr("x"))}, []string{"NOT_FOUND id"}},
		{"of an item unseen", as("u:acme:ben"), library.UpdateContent{ID: string(secret), Title: library.Some(ptr("x"))}, []string{"NOT_FOUND id"}},
		{"by an editor", as("u:acme:ben"), library.UpdateContent{ID: string(id), Title: library.Some(ptr("x"))}, []string{"FORBIDDEN id"}},
		{"of another version", as("u:acme:ann"), library.UpdateContent{ID: string(id), Title: library.Some(ptr("a")), ExpectedVersion: ptr(7)}, []string{"CONFLICT expectedVersion"}},
		{"of a note's link", as("u:acme:ann"), library.UpdateContent{ID: string(id), Link: library.Some(ptr("https://e.com/"))}, []string{"INVALID link"}},
		{"to what it is", as("u:acme:ann"), library.UpdateContent{ID: string(id), Title: library.Some(ptr("a")), ExpectedVersion: ptr(1)}, nil},
		{"by a manager through a group", as("u:acme:cleo"), library.UpdateContent{ID: string(id), Title: library.Some(ptr("a2"))}, nil},
		{"by an administrator without a user", admin("u:acme:new"), library.UpdateContent{ID: string(id), Description: library.Some(ptr("d"))}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.svc.UpdateContent(t.Context(), c.as, c.in)
			wantTold(t, err, c.want...)
		})
	}
	if got := h.content(id); got.Version != 3 || got.LastModified != got.Position || got.LastModified != got.MTS {
		t.Errorf("after two changes: version %d, lastModified %d, position %d, mts %d", got.Version, got.LastModified, got.Position, got.MTS)
	}
	h.wantTitles(as("u:acme:ben"), "u:acme:ben", "b", "a2")
	h.wantClean()
}

func TestExpiryTouchesNeitherVersionNorPlace(t *testing.T) {
	h := town(t)
	id := h.note("a", library.Public)
	before := h.content(id)
	until := before.MTS.Add(time.Hour)
	if _, err := h.svc.UpdateContent(t.Context(), as("u:acme:ann"), library.UpdateContent{ID: string(id), ExpiresAt: library.Some(&until)}); err != nil {
		t.Fatal(err)
	}
	after := h.content(id)
	if after.ExpiresAt == nil || *after.ExpiresAt != until || after.Version != before.Version || after.LastModified != before.LastModified || after.Position != before.Position {
		t.Errorf("after setting expiresAt: %+v", after)
	}
	dues, err := h.store.DueUntil(t.Context(), until, 10)
	if err != nil || !slices.Contains(dues, library.Due{At: until, Content: id}) {
		t.Errorf("the hint is missing: %v, %v", dues, err)
	}
	if done, err := h.svc.Expire(t.Context(), library.Due{At: until, Content: id}); err != nil || done {
		t.Errorf("an hour early it was told done (%v, %v)", done, err)
	}
	if h.content(id).State != library.Live {
		t.Error("it expired an hour early")
	}
	if done, err := h.svc.Expire(t.Context(), library.Due{At: until - 1, Content: id}); err != nil || !done {
		t.Errorf("a stale hint must be dropped: %v, %v", done, err)
	}
	h.wantClean()
}

func TestVisibilityMovesItemsBetweenBuckets(t *testing.T) {
	h := town(t)
	id := h.note("a", library.Public, "u:acme:ben=VIEWER", "u:beta:zed=VIEWER")
	anonymous, sameTenant, other := &library.Viewer{}, as("u:acme:cleo"), as("u:beta:zed")
	for _, to := range []library.Visibility{library.LoggedIn, library.Private, library.Public, library.Private, library.LoggedIn} {
		if _, err := h.svc.UpdateContent(t.Context(), as("u:acme:ann"), library.UpdateContent{ID: string(id), Visibility: library.Some(&to)}); err != nil {
			t.Fatal(err)
		}
		see := func(yes bool) []string {
			if yes {
				return []string{"a"}
			}
			return nil
		}
		h.wantTitles(anonymous, "u:acme:ben", see(to == library.Public)...)
		h.wantTitles(sameTenant, "u:acme:ben", see(to != library.Private)...)
		h.wantTitles(other, "u:acme:ben", see(to == library.Public)...)
		h.wantTitles(other, "u:beta:zed", "a")
		h.wantTitles(as("u:acme:ben"), "u:acme:ben", "a")
		h.wantClean()
	}
}

func TestShareContent(t *testing.T) {
	h := town(t)
	open := string(h.note("open", library.Public))
	ours := string(h.note("ours", library.LoggedIn))
	secret := string(h.note("secret", library.Private, "u:acme:ben=EDITOR"))
	for _, c := range []struct {
		name string
		as   *library.Viewer
		in   library.ShareContent
		want []string
	}{
		{"anonymous", &library.Viewer{}, library.ShareContent{Content: open, Principals: []string{"u:acme:ben"}, Role: library.Viewing}, []string{"UNAUTHENTICATED"}},
		{"with nobody", as("u:acme:ann"), library.ShareContent{Content: "x", Role: library.Viewing}, []string{"INVALID contentId", "INVALID principalIds"}},
		{"with too many", as("u:acme:ann"), library.ShareContent{Content: open, Principals: make([]string, 101), Role: library.Viewing}, []string{"TOO_MANY principalIds"}},
		{"with the malformed and the unknown", as("u:acme:ann"), library.ShareContent{Content: open, Principals: []string{"u:acme:ben", "nonsense", "c:acme:open"}, Role: library.Viewing}, []string{"INVALID principalIds.1", "INVALID principalIds.2"}},
		{"with the unknown and the unseen", as("u:acme:ann"), library.ShareContent{Content: open, Principals: []string{"u:acme:nobody", "u:acme:ben", "u:acme:hid"}, Role: library.Viewing}, []string{"NOT_FOUND principalIds.0", "NOT_FOUND principalIds.2"}},
		{"of what is unseen", as("u:acme:cleo"), library.ShareContent{Content: secret, Principals: []string{"u:acme:cleo"}, Role: library.Viewing}, []string{"NOT_FOUND contentId"}},
		{"of a private item by its editor", as("u:acme:ben"), library.ShareContent{Content: secret, Principals: []string{"u:acme:cleo"}, Role: library.Viewing}, []string{"FORBIDDEN contentId"}},
		{"of more than sight by a reader", as("u:acme:ben"), library.ShareContent{Content: open, Principals: []string{"u:acme:cleo"}, Role: library.Editing}, []string{"FORBIDDEN role"}},
		{"of a LOGGEDIN item abroad by a reader", as("u:acme:ben"), library.ShareContent{Content: ours, Principals: []string{"u:acme:cleo", "u:beta:zed"}, Role: library.Viewing}, []string{"FORBIDDEN principalIds.1"}},
		{"with oneself, twice", as("u:beta:zed"), library.ShareContent{Content: open, Principals: []string{"u:beta:zed", "U:BETA:ZED"}, Role: library.Viewing}, nil},
		{"by a reader", as("u:acme:ben"), library.ShareContent{Content: ours, Principals: []string{"u:acme:cleo"}, Role: library.Viewing}, nil},
		{"abroad by a manager", as("u:acme:ann"), library.ShareContent{Content: secret, Principals: []string{"u:beta:zed", "g:acme:team"}, Role: library.Viewing}, nil},
		{"that would demote", as("u:acme:ann"), library.ShareContent{Content: secret, Principals: []string{"u:acme:ben"}, Role: library.Viewing}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := h.svc.ShareContent(t.Context(), c.as, c.in)
			wantTold(t, err, c.want...)
			if err == nil && (out.Content == nil || len(out.Edges) == 0) {
				t.Errorf("the outcome: %+v", out)
			}
		})
	}
	if row, err := h.store.Read(t.Context(), library.ContentID(secret), library.ContentQuery{Members: []library.PrincipalID{"u:acme:ben"}}); err != nil || row.Members[0].Role != library.Editing {
		t.Errorf("a share demoted: %+v, %v", row, err)
	}
	h.wantTitles(as("u:acme:cleo"), "g:acme:team", "secret")
	h.wantClean()
}

func TestShareThatChangesNothingWritesNothing(t *testing.T) {
	h := town(t)
	id := h.note("a", library.Public, "u:acme:ben=EDITOR")
	before := h.content(id)
	out, err := h.svc.ShareContent(t.Context(), as("u:acme:ann"), library.ShareContent{Content: string(id), Principals: []string{"u:acme:ben"}, Role: library.Viewing})
	if err != nil || out.FanOut != (library.FanOut{Complete: true}) {
		t.Errorf("the outcome: %+v, %v", out, err)
	}
	if after := h.content(id); after.Seq != before.Seq {
		t.Errorf("it wrote: seq %d, was %d", after.Seq, before.Seq)
	}
}

func TestSetContentMembers(t *testing.T) {
	h := town(t)
	id := string(h.note("a", library.Private, "u:acme:ben=EDITOR"))
	for _, c := range []struct {
		name    string
		as      *library.Viewer
		changes []library.ContentMemberChange
		want    []string
	}{
		{"none", as("u:acme:ann"), nil, []string{"INVALID members"}},
		{"one twice", as("u:acme:ann"), roles("u:acme:ben=VIEWER", "u:acme:ben=EDITOR"), []string{"INVALID members.1.principalId"}},
		{"by an editor", as("u:acme:ben"), roles("u:acme:cleo=VIEWER"), []string{"FORBIDDEN contentId"}},
		{"an unseen one", as("u:acme:ann"), roles("u:acme:hid=VIEWER"), []string{"NOT_FOUND members.0.principalId"}},
		{"the last manager out", as("u:acme:ann"), roles("u:acme:ann="), []string{"LAST_MANAGER"}},
		{"the last manager down", as("u:acme:ann"), roles("u:acme:ann=EDITOR"), []string{"LAST_MANAGER"}},
		{"one out who is not in", as("u:acme:ann"), roles("u:acme:cleo="), nil},
		{"a group in", as("u:acme:ann"), roles("g:acme:team=MANAGER"), nil},
		{"oneself out", as("u:acme:ben"), roles("u:acme:ben="), nil},
		{"the first manager out, the group stays", as("u:acme:cleo"), roles("u:acme:ann="), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.svc.SetContentMembers(t.Context(), c.as, library.SetContentMembers{Content: id, Members: c.changes})
			wantTold(t, err, c.want...)
		})
	}
	if _, err := h.svc.SetContentMembers(t.Context(), as("u:acme:ann"), library.SetContentMembers{Content: id, Members: roles("u:acme:ben=VIEWER")}); library.CodeOf(err) != library.NotFound {
		t.Errorf("a removed manager still sees the private item: %v", err)
	}
	h.wantTitles(as("u:acme:ann"), "u:acme:ann")
	h.wantClean()
}

func TestRemoveFromLibrary(t *testing.T) {
	h := town(t)
	h.user("u:acme:meg", library.Public)
	h.mustSet(as("u:acme:cleo"), "g:acme:team", "u:acme:meg=MEMBER")
	id := string(h.note("a", library.Public, "u:acme:ben=VIEWER", "g:acme:team=VIEWER"))
	remove := func(v *library.Viewer, p, c string) error {
		_, err := h.svc.RemoveFromLibrary(t.Context(), v, library.RemoveFromLibrary{Principal: p, Content: c})
		return err
	}
	wantTold(t, remove(&library.Viewer{}, "u:acme:ben", id), "UNAUTHENTICATED")
	wantTold(t, remove(as("u:acme:ben"), "x", "y"), "INVALID principalId", "INVALID contentId")
	wantTold(t, remove(as("u:acme:ben"), "u:acme:ben", "c:acme:none"), "NOT_FOUND contentId")
	wantTold(t, remove(as("u:acme:ann"), "u:acme:hid", id), "NOT_FOUND principalId")
	wantTold(t, remove(as("u:acme:ann"), "u:acme:ben", id), "FORBIDDEN principalId")
	wantTold(t, remove(as("u:acme:meg"), "g:acme:team", id), "FORBIDDEN principalId")
	wantTold(t, remove(as("u:acme:cleo"), "u:acme:cleo", id), "NOT_A_MEMBER contentId")
	wantTold(t, remove(as("u:acme:ann"), "u:acme:ann", id), "LAST_MANAGER")
	wantTold(t, remove(as("u:acme:ben"), "u:acme:ben", id))
	wantTold(t, remove(as("u:acme:cleo"), "g:acme:team", id))
	h.wantTitles(as("u:acme:ben"), "u:acme:ben")
	h.wantClean()
}

func TestDeleteContentIsFinal(t *testing.T) {
	h := town(t)
	id := h.note("a", library.Public, "u:acme:ben=VIEWER", "g:acme:team=VIEWER")
	del := func(v *library.Viewer, version *int) error {
		_, err := h.svc.DeleteContent(t.Context(), v, library.DeleteContent{ID: string(id), ExpectedVersion: version})
		return err
	}
	wantTold(t, del(as("u:acme:ben"), nil), "FORBIDDEN id")
	wantTold(t, del(as("u:acme:ann"), ptr(2)), "CONFLICT expectedVersion")
	wantTold(t, del(as("u:acme:ann"), ptr(1)))
	wantTold(t, del(as("u:acme:ann"), nil), "NOT_FOUND id")
	h.wantTitles(as("u:acme:ben"), "u:acme:ben")
	h.wantTitles(as("u:acme:cleo"), "g:acme:team")
	_, err := h.svc.CreateContent(t.Context(), as("u:acme:ann"), library.CreateContent{Name: ptr("a"), Kind: library.Note, Title: "again", Visibility: library.Public})
	wantTold(t, err, "TAKEN name")
	h.quiet()
	if got := h.content(id); got.State != library.Deleted || got.Title != "" || len(got.Unsettled) != 0 {
		t.Errorf("the mark that stays: %+v", got)
	}
	page, err := h.store.MembersPage(t.Context(), id, "", 10, true)
	if err != nil || len(page.Members) != 0 {
		t.Errorf("member rows stay: %+v, %v", page, err)
	}
	h.wantClean()
}

func TestIdempotencyKeys(t *testing.T) {
	h := town(t)
	create := func(v *library.Viewer, title string) (*library.ContentOutcome, error) {
		return h.svc.CreateContent(t.Context(), v, library.CreateContent{Kind: library.Note, Title: title, Visibility: library.Public, IdempotencyKey: ptr("k")})
	}
	first, err := create(as("u:acme:ann"), "t")
	if err != nil {
		t.Fatal(err)
	}
	again, err := create(as("u:acme:ann"), "t")
	if err != nil || again.ID != first.ID || again.FanOut.Libraries != 1 {
		t.Errorf("the repetition: %+v, %v", again, err)
	}
	if _, err := create(as("u:acme:ann"), "other"); library.ReasonOf(err) != library.ReasonIdempotencyMismatch {
		t.Errorf("another input: %v", err)
	}
	if theirs, err := create(as("u:acme:ben"), "other"); err != nil || theirs.ID == first.ID {
		t.Errorf("another viewer: %+v, %v", theirs, err)
	}
	update := func(title string) error {
		_, err := h.svc.UpdateContent(t.Context(), as("u:acme:ann"), library.UpdateContent{ID: string(first.ID), Title: library.Some(&title), IdempotencyKey: ptr("u")})
		return err
	}
	for range 2 {
		wantTold(t, update("new"))
	}
	wantTold(t, update("newer"), "IDEMPOTENCY_MISMATCH")
	if got := h.content(first.ID); got.Version != 2 {
		t.Errorf("repeated twice, changed to version %d", got.Version)
	}
	del := library.DeleteContent{ID: string(first.ID), IdempotencyKey: ptr("d")}
	for range 2 {
		if _, err := h.svc.DeleteContent(t.Context(), as("u:acme:ann"), del); err != nil {
			t.Errorf("deleting: %v", err)
		}
	}
	h.wantClean()
}

func TestRefusedCreationsAreNotKept(t *testing.T) {
	h := town(t)
	create := func(members ...string) error {
		_, err := h.svc.CreateContent(t.Context(), as("u:acme:ann"), library.CreateContent{
			Name: ptr("n"), Kind: library.Note, Title: "t", Visibility: library.Public, Members: roles(members...), IdempotencyKey: ptr("k"),
		})
		return err
	}
	wantTold(t, create("u:acme:nobody=VIEWER"), "NOT_FOUND members.0.principalId")
	wantTold(t, create("u:acme:ben=VIEWER"))
	h.wantTitles(as("u:acme:ben"), "u:acme:ben", "t")
}

func TestHotItemsDeferTheirMoves(t *testing.T) {
	h := town(t)
	id := h.note("hot", library.Public, "u:acme:ben=VIEWER")
	for n := range 40 {
		title := fmt.Sprintf("hot %d", n)
		out, err := h.svc.UpdateContent(t.Context(), as("u:acme:ann"), library.UpdateContent{ID: string(id), Title: library.Some(&title)})
		if err != nil || !out.FanOut.Complete {
			t.Fatalf("update %d: %+v, %v", n, out, err)
		}
		// The first 31 states are moves: the creation's place, then 30 moves.
		if deferred := n >= 30; deferred != (out.FanOut.Libraries == 0) {
			t.Errorf("update %d concerned %d libraries", n, out.FanOut.Libraries)
		}
	}
	got := h.content(id)
	if got.Version != 41 || got.Position >= got.LastModified || got.Moves != 30 {
		t.Errorf("before the move: version %d, position %d, lastModified %d, moves %d", got.Version, got.Position, got.LastModified, got.Moves)
	}
	if st := h.journal.Stats(); st.Deferred != 1 {
		t.Errorf("%d deferred moves, want the one that carries all", st.Deferred)
	}
	h.wantTitles(as("u:acme:ben"), "u:acme:ben", "hot 39")
	private := library.Private
	if out, err := h.svc.UpdateContent(t.Context(), as("u:acme:ann"), library.UpdateContent{ID: string(id), Visibility: library.Some(&private)}); err != nil || out.FanOut.Libraries != 2 {
		t.Errorf("a change of visibility at the unmoved position: %+v, %v", out, err)
	}
	h.wantTitles(&library.Viewer{}, "u:acme:ben")
	h.wantClean()
	if got := h.content(id); got.Position != got.LastModified {
		t.Errorf("after the move: position %d, lastModified %d", got.Position, got.LastModified)
	}
}

func TestConcurrentChangesOfOneItem(t *testing.T) {
	h := town(t)
	id := h.note("a", library.Public)
	for n := range 30 {
		h.user(fmt.Sprintf("u:acme:p%d", n), library.Public)
	}
	var wg sync.WaitGroup
	for n := range 30 {
		wg.Go(func() {
			p := fmt.Sprintf("u:acme:p%d", n)
			if _, err := h.svc.ShareContent(t.Context(), as(p), library.ShareContent{Content: string(id), Principals: []string{p}, Role: library.Viewing}); err != nil {
				t.Errorf("sharing with %s: %v", p, err)
			}
		})
		wg.Go(func() {
			title := fmt.Sprintf("a%d", n)
			if _, err := h.svc.UpdateContent(t.Context(), as("u:acme:ann"), library.UpdateContent{ID: string(id), Title: library.Some(&title)}); err != nil {
				t.Errorf("update %d: %v", n, err)
			}
		})
	}
	wg.Wait()
	if got := h.content(id); got.Version != 31 || got.Members != 31 {
		t.Errorf("version %d with %d members, want 31 with 31", got.Version, got.Members)
	}
	h.wantClean()
}

func TestRebuildLibrary(t *testing.T) {
	h := town(t)
	h.note("a", library.Public, "u:acme:ben=VIEWER")
	b := h.note("b", library.Private, "u:acme:ben=VIEWER")
	h.quiet()
	entries, err := h.store.PageLibrary(t.Context(), library.Slice{Owner: "u:acme:ben", Bucket: library.Private, Limit: 10, Newer: true})
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v", entries, err)
	}
	var lost []library.BucketEntry
	for _, e := range entries {
		lost = append(lost, library.BucketEntry{Bucket: library.Private, Entry: e})
	}
	if err := h.store.DropEntries(t.Context(), "u:acme:ben", lost); err != nil {
		t.Fatal(err)
	}
	rebuild := func(v *library.Viewer, p string) (*library.RebuildOutcome, error) {
		return h.svc.RebuildLibrary(t.Context(), v, p)
	}
	_, err = rebuild(&library.Viewer{}, "u:acme:ben")
	wantTold(t, err, "UNAUTHENTICATED")
	_, err = rebuild(as("u:acme:ben"), "u:acme:ben")
	wantTold(t, err, "FORBIDDEN principalId")
	_, err = rebuild(admin("u:acme:dora"), "u:acme:none")
	wantTold(t, err, "NOT_FOUND principalId")
	_, err = rebuild(admin("u:acme:dora"), string(b))
	wantTold(t, err, "INVALID principalId")
	out, err := rebuild(admin("u:acme:dora"), "u:acme:ben")
	wantTold(t, err)
	if out.Restored != 2 || out.Removed != 0 {
		t.Errorf("restored %d, removed %d; want 2 and 0", out.Restored, out.Removed)
	}
	h.wantTitles(as("u:acme:ben"), "u:acme:ben", "a", "b")
	h.wantClean()
}

// slowCommits holds back the first commit of an item until told to go on, and
// counts all of them.
type slowCommits struct {
	library.Store
	id      library.ContentID
	began   chan struct{}
	goOn    chan struct{}
	once    sync.Once
	mu      sync.Mutex
	commits int
}

func (s *slowCommits) Commit(ctx context.Context, c *library.ContentCommit) (library.Verdict, error) {
	if c.ID == s.id {
		s.mu.Lock()
		s.commits++
		s.mu.Unlock()
		s.once.Do(func() {
			close(s.began)
			<-s.goOn
		})
	}
	return s.Store.Commit(ctx, c)
}

func TestSharesThatWaitGoTogether(t *testing.T) {
	slow := &slowCommits{began: make(chan struct{}), goOn: make(chan struct{})}
	h := newHouse(t, func(s library.Store) library.Store { slow.Store = s; return slow })
	h.user("u:acme:ann", library.Public)
	const many = 20
	for n := range many {
		h.user(fmt.Sprintf("u:acme:p%d", n), library.Public)
	}
	id := h.note("a", library.Public)
	slow.id = id
	share := func(p string) (*library.ContentOutcome, error) {
		return h.svc.ShareContent(t.Context(), as(p), library.ShareContent{Content: string(id), Principals: []string{p}, Role: library.Viewing})
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
		_, err := h.svc.ShareContent(t.Context(), as("u:acme:p1"), library.ShareContent{Content: string(id), Principals: []string{"u:acme:p1"}, Role: library.Manages})
		wantTold(t, err, "FORBIDDEN role")
	})
	for h.svc.SharesWaiting(id) < many {
		runtime.Gosched()
		if t.Context().Err() != nil {
			return
		}
	}
	close(slow.goOn)
	wg.Wait()
	if got := h.content(id); got.Members != many+1 || slow.commits != 2 {
		t.Errorf("%d members by %d commits, want %d by 2", got.Members, slow.commits, many+1)
	}
	h.wantClean()
}
