package library_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// town is a house with people in two tenants: ann, ben and cleo of acme, dora
// its administrator, zed of beta, and a group of acme that cleo manages.
func town(t *testing.T) *house {
	h := newHouse(t, nil)
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:cleo", "u:acme:dora", "u:beta:zed"} {
		h.user(id, principal.Public)
	}
	h.user("u:acme:hid", principal.Private)
	h.group("g:acme:team", "u:acme:cleo", principal.Public)
	return h
}

// note creates one named n by ann.
func (h *house) note(n string, visibility principal.Visibility, members ...string) library.ContentID {
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
func (h *house) titles(v *principal.Viewer, owner string) []string {
	h.t.Helper()
	conn, err := h.svc.Library(h.t.Context(), v, principal.ID(owner), library.LibraryQuery{PageArgs: cursor.PageArgs{First: ptr(100)}})
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
func (h *house) wantTitles(v *principal.Viewer, owner string, want ...string) {
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
	good := library.CreateContent{Kind: library.Link, Title: "t", Link: &link, Visibility: principal.Public}
	with := func(change func(*library.CreateContent)) library.CreateContent {
		in := good
		change(&in)
		return in
	}
	h.note("taken", principal.Public)
	past := clock.Instant(1)
	for _, c := range []struct {
		name string
		as   *principal.Viewer
		in   library.CreateContent
		want []string
	}{
		{"by an anonymous viewer", &principal.Viewer{}, good, []string{"UNAUTHENTICATED"}},
		{"by a token without a user", as("u:acme:new"), good, []string{"FORBIDDEN"}},
		{"by an administrator without a user", admin("u:acme:new"), good, []string{"FORBIDDEN"}},
		{"with all faults of shape at once", as("u:acme:ann"), library.CreateContent{
			Tenant: ptr("No"), Name: ptr("a/b"), Kind: library.Link, Title: " ", Description: ptr("\x00"), Visibility: principal.Public,
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
	id := h.note("a", principal.Public, "u:acme:ben=EDITOR", "u:acme:dora=VIEWER", "g:acme:team=MANAGER")
	h.note("b", principal.Public, "u:acme:ben=VIEWER")
	grouped := h.note("grouped", principal.Private, "g:acme:team=EDITOR")
	secret := h.note("secret", principal.Private)
	for _, c := range []struct {
		name string
		as   *principal.Viewer
		in   library.UpdateContent
		want []string
	}{
		{"anonymous", &principal.Viewer{}, library.UpdateContent{ID: string(id), Title: input.Some(ptr("x"))}, []string{"UNAUTHENTICATED"}},
		{"of nothing", as("u:acme:ann"), library.UpdateContent{ID: string(id)}, []string{"INVALID"}},
		{"with nulls", as("u:acme:ann"), library.UpdateContent{ID: "u:acme:ann", Title: input.Some[*string](nil), Link: input.Some[*string](nil), Visibility: input.Some[*principal.Visibility](nil)},
			[]string{"INVALID id", "INVALID title", "INVALID link", "INVALID visibility"}},
		{"of an unknown item", as("u:acme:ann"), library.UpdateContent{ID: "c:acme:none", Title: input.Some(ptr("x"))}, []string{"NOT_FOUND id"}},
		{"of an item unseen", as("u:acme:ben"), library.UpdateContent{ID: string(secret), Title: input.Some(ptr("x"))}, []string{"NOT_FOUND id"}},
		{"by a viewer", as("u:acme:dora"), library.UpdateContent{ID: string(id), Title: input.Some(ptr("x"))}, []string{"FORBIDDEN id"}},
		{"of visibility by a viewer", as("u:acme:dora"), library.UpdateContent{ID: string(id), Visibility: input.Some(ptr(principal.Private))}, []string{"FORBIDDEN id"}},
		{"of visibility by an editor", as("u:acme:ben"), library.UpdateContent{ID: string(id), Title: input.Some(ptr("x")), Visibility: input.Some(ptr(principal.Private))}, []string{"FORBIDDEN visibility"}},
		{"of expiry by an editor", as("u:acme:ben"), library.UpdateContent{ID: string(id), ExpiresAt: input.Some[*clock.Instant](nil)}, []string{"FORBIDDEN expiresAt"}},
		{"of both by an editor", as("u:acme:ben"), library.UpdateContent{ID: string(id), Visibility: input.Some(ptr(principal.Public)), ExpiresAt: input.Some[*clock.Instant](nil)},
			[]string{"FORBIDDEN visibility", "FORBIDDEN expiresAt"}},
		{"of another version by an editor", as("u:acme:ben"), library.UpdateContent{ID: string(id), Title: input.Some(ptr("x")), ExpectedVersion: ptr(7)}, []string{"CONFLICT expectedVersion"}},
		{"by an editor", as("u:acme:ben"), library.UpdateContent{ID: string(id), Title: input.Some(ptr("a1")), Description: input.Some(ptr("by an editor"))}, nil},
		{"back by an editor through a group", as("u:acme:cleo"), library.UpdateContent{ID: string(grouped), Title: input.Some(ptr("g"))}, nil},
		{"of another version", as("u:acme:ann"), library.UpdateContent{ID: string(id), Title: input.Some(ptr("a")), ExpectedVersion: ptr(7)}, []string{"CONFLICT expectedVersion"}},
		{"of a note's link", as("u:acme:ann"), library.UpdateContent{ID: string(id), Link: input.Some(ptr("https://e.com/"))}, []string{"INVALID link"}},
		{"to what it is", as("u:acme:ann"), library.UpdateContent{ID: string(id), Title: input.Some(ptr("a1")), ExpectedVersion: ptr(2)}, nil},
		{"by a manager through a group", as("u:acme:cleo"), library.UpdateContent{ID: string(id), Title: input.Some(ptr("a2"))}, nil},
		{"by an administrator without a user", admin("u:acme:new"), library.UpdateContent{ID: string(id), Description: input.Some(ptr("d"))}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.svc.UpdateContent(t.Context(), c.as, c.in)
			wantTold(t, err, c.want...)
		})
	}
	if got := h.content(id); got.Version != 4 || got.Visibility != principal.Public || got.LastModified != got.Position || got.LastModified != got.MTS {
		t.Errorf("after three changes: version %d, lastModified %d, position %d, mts %d", got.Version, got.LastModified, got.Position, got.MTS)
	}
	h.wantTitles(as("u:acme:ben"), "u:acme:ben", "b", "a2")
	h.wantClean()
}

func TestExpiryTouchesNeitherVersionNorPlace(t *testing.T) {
	h := town(t)
	id := h.note("a", principal.Public)
	before := h.content(id)
	until := before.MTS.Add(time.Hour)
	if _, err := h.svc.UpdateContent(t.Context(), as("u:acme:ann"), library.UpdateContent{ID: string(id), ExpiresAt: input.Some(&until)}); err != nil {
		t.Fatal(err)
	}
	after := h.content(id)
	if after.ExpiresAt == nil || *after.ExpiresAt != until || after.Version != before.Version || after.LastModified != before.LastModified || after.Position != before.Position {
		t.Errorf("after setting expiresAt: %+v", after)
	}
	dues, err := h.store.DueUntil(t.Context(), until, 10)
	if err != nil || !slices.Contains(dues, commit.Due{At: until, Kind: commit.Content, Key: string(id), MTS: after.MTS}) {
		t.Errorf("the hint is missing: %v, %v", dues, err)
	}
	if done, err := h.svc.Expire(t.Context(), commit.Due{At: until, Kind: commit.Content, Key: string(id)}); err != nil || done {
		t.Errorf("an hour early it was told done (%v, %v)", done, err)
	}
	if h.content(id).State != commit.Live {
		t.Error("it expired an hour early")
	}
	if done, err := h.svc.Expire(t.Context(), commit.Due{At: until - 1, Kind: commit.Content, Key: string(id)}); err != nil || !done {
		t.Errorf("a stale hint must be dropped: %v, %v", done, err)
	}
	h.wantClean()
}

func TestVisibilityMovesItemsBetweenBuckets(t *testing.T) {
	h := town(t)
	id := h.note("a", principal.Public, "u:acme:ben=VIEWER", "u:beta:zed=VIEWER")
	anonymous, sameTenant, other := &principal.Viewer{}, as("u:acme:cleo"), as("u:beta:zed")
	for _, to := range []principal.Visibility{principal.LoggedIn, principal.Private, principal.Public, principal.Private, principal.LoggedIn} {
		if _, err := h.svc.UpdateContent(t.Context(), as("u:acme:ann"), library.UpdateContent{ID: string(id), Visibility: input.Some(&to)}); err != nil {
			t.Fatal(err)
		}
		see := func(yes bool) []string {
			if yes {
				return []string{"a"}
			}
			return nil
		}
		h.wantTitles(anonymous, "u:acme:ben", see(to == principal.Public)...)
		h.wantTitles(sameTenant, "u:acme:ben", see(to != principal.Private)...)
		h.wantTitles(other, "u:acme:ben", see(to == principal.Public)...)
		h.wantTitles(other, "u:beta:zed", "a")
		h.wantTitles(as("u:acme:ben"), "u:acme:ben", "a")
		h.wantClean()
	}
}

func TestRemoveFromLibrary(t *testing.T) {
	h := town(t)
	h.user("u:acme:meg", principal.Public)
	h.mustSet(as("u:acme:cleo"), "g:acme:team", "u:acme:meg=MEMBER")
	id := string(h.note("a", principal.Public, "u:acme:ben=VIEWER", "g:acme:team=VIEWER"))
	remove := func(v *principal.Viewer, p, c string) error {
		_, err := h.svc.RemoveFromLibrary(t.Context(), v, library.RemoveFromLibrary{Principal: p, Content: c})
		return err
	}
	wantTold(t, remove(&principal.Viewer{}, "u:acme:ben", id), "UNAUTHENTICATED")
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
	id := h.note("a", principal.Public, "u:acme:ben=VIEWER", "g:acme:team=VIEWER")
	del := func(v *principal.Viewer, version *int) error {
		_, err := h.svc.DeleteContent(t.Context(), v, library.DeleteContent{ID: string(id), ExpectedVersion: version})
		return err
	}
	wantTold(t, del(as("u:acme:ben"), nil), "FORBIDDEN id")
	wantTold(t, del(as("u:acme:ann"), ptr(2)), "CONFLICT expectedVersion")
	wantTold(t, del(as("u:acme:ann"), ptr(1)))
	wantTold(t, del(as("u:acme:ann"), nil), "NOT_FOUND id")
	h.wantTitles(as("u:acme:ben"), "u:acme:ben")
	h.wantTitles(as("u:acme:cleo"), "g:acme:team")
	_, err := h.svc.CreateContent(t.Context(), as("u:acme:ann"), library.CreateContent{Name: ptr("a"), Kind: library.Note, Title: "again", Visibility: principal.Public})
	wantTold(t, err, "TAKEN name")
	h.quiet()
	if got := h.content(id); got.State != commit.Deleted || got.Title != "" || len(got.Unsettled) != 0 {
		t.Errorf("the mark that stays: %+v", got)
	}
	page, err := h.store.MembersPage(t.Context(), id, "", 10, true)
	if err != nil || len(page.Members) != 0 {
		t.Errorf("member rows stay: %+v, %v", page, err)
	}
	h.wantClean()
}

func TestRebuildLibrary(t *testing.T) {
	h := town(t)
	h.note("a", principal.Public, "u:acme:ben=VIEWER")
	b := h.note("b", principal.Private, "u:acme:ben=VIEWER")
	h.quiet()
	entries, err := h.store.PageLibrary(t.Context(), library.Slice{Owner: "u:acme:ben", Bucket: principal.Private, Limit: 10, Newer: true})
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v", entries, err)
	}
	var lost []library.BucketEntry
	for _, e := range entries {
		lost = append(lost, library.BucketEntry{Bucket: principal.Private, Entry: e})
	}
	if err := h.store.DropEntries(t.Context(), "u:acme:ben", lost); err != nil {
		t.Fatal(err)
	}
	rebuild := func(v *principal.Viewer, p string) (*library.RebuildOutcome, error) {
		return h.svc.RebuildLibrary(t.Context(), v, p)
	}
	_, err = rebuild(&principal.Viewer{}, "u:acme:ben")
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
