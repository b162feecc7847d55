package library_test

import (
	"slices"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

func TestCreateContent_ChecksInputAndRights(t *testing.T) {
	h := domaintest.Town(t)
	link := "https://example.com/"
	good := library.CreateContent{Kind: library.Link, Title: "t", Link: &link, Visibility: principal.Public}
	with := func(change func(*library.CreateContent)) library.CreateContent {
		in := good
		change(&in)
		return in
	}
	h.Note("taken", principal.Public)
	past := clock.Instant(1)
	for _, c := range []struct {
		name string
		as   *principal.Viewer
		in   library.CreateContent
		want []string
	}{
		{"by an anonymous viewer", &principal.Viewer{}, good, []string{"UNAUTHENTICATED"}},
		{"by a token without a user", domaintest.As("u:acme:new"), good, []string{"FORBIDDEN"}},
		{"by an administrator without a user", domaintest.Admin("u:acme:new"), good, []string{"FORBIDDEN"}},
		{"with all faults of shape at once", domaintest.As("u:acme:ann"), library.CreateContent{
			Tenant: domaintest.Ptr("No"), Name: domaintest.Ptr("a/b"), Kind: library.Link, Title: " ", Description: domaintest.Ptr("\x00"),
			Visibility: principal.Public,
			ExpiresAt:  &past, Members: domaintest.MemberChanges("c:acme:x=VIEWER", "u:acme:ben=", "u:acme:ben=VIEWER"),
		}, []string{"INVALID tenant", "INVALID name", "INVALID title", "INVALID description", "INVALID link", "INVALID expiresAt",
			"INVALID members.0.principalId", "INVALID members.1.role", "INVALID members.2.principalId"}},
		{"a note with a link", domaintest.As("u:acme:ann"), with(func(in *library.CreateContent) { in.Kind = library.Note }),
			[]string{"INVALID link"}},
		{"in another tenant", domaintest.As("u:acme:ann"), with(func(in *library.CreateContent) { in.Tenant = domaintest.Ptr("beta") }),
			[]string{"FORBIDDEN tenant"}},
		{"of a taken name", domaintest.As("u:acme:ann"), with(func(in *library.CreateContent) { in.Name = domaintest.Ptr("taken") }),
			[]string{"TAKEN name"}},
		{"with an unknown member", domaintest.As("u:acme:ann"), with(func(in *library.CreateContent) {
			in.Members = domaintest.MemberChanges("u:acme:ben=VIEWER", "u:acme:nobody=VIEWER", "u:acme:hid=VIEWER")
		}), []string{"NOT_FOUND members.1.principalId", "NOT_FOUND members.2.principalId"}},
		{"with too many members", domaintest.As("u:acme:ann"), with(func(in *library.CreateContent) {
			in.Members = make([]library.ContentMemberChange, 101)
		}), []string{"TOO_MANY members"}},
		{"with members", domaintest.As("u:acme:ann"), with(func(in *library.CreateContent) {
			in.Members = domaintest.MemberChanges("u:acme:ben=EDITOR", "g:acme:team=VIEWER")
		}), nil},
		{"by a global administrator elsewhere", domaintest.Global("u:acme:dora"),
			with(func(in *library.CreateContent) { in.Tenant = domaintest.Ptr("beta") }), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := h.Library.CreateContent(t.Context(), c.as, c.in)
			domaintest.WantFaults(t, err, c.want...)
			if err != nil {
				return
			}
			if out.Edge == nil || out.Edge.Role != library.Manages || out.Content == nil || !out.FanOut.Complete {
				t.Errorf("the outcome: %+v", out)
			}
		})
	}
	h.WantTitles(domaintest.As("u:acme:ben"), "u:acme:ben", "t")
	h.WantTitles(domaintest.As("u:acme:cleo"), "g:acme:team", "t")
	h.WantClean()
}

func TestUpdateContent_ChecksInputAndRights(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("a", principal.Public, "u:acme:ben=EDITOR", "u:acme:dora=VIEWER", "g:acme:team=MANAGER")
	h.Note("b", principal.Public, "u:acme:ben=VIEWER")
	grouped := h.Note("grouped", principal.Private, "g:acme:team=EDITOR")
	secret := h.Note("secret", principal.Private)
	for _, c := range []struct {
		name string
		as   *principal.Viewer
		in   library.UpdateContent
		want []string
	}{
		{"anonymous", &principal.Viewer{}, library.UpdateContent{ID: string(id), Title: input.Some(domaintest.Ptr("x"))},
			[]string{"UNAUTHENTICATED"}},
		{"of nothing", domaintest.As("u:acme:ann"), library.UpdateContent{ID: string(id)}, []string{"INVALID"}},
		{"with nulls", domaintest.As("u:acme:ann"), library.UpdateContent{ID: "u:acme:ann", Title: input.Some[*string](nil),
			Link: input.Some[*string](nil), Visibility: input.Some[*principal.Visibility](nil)},
			[]string{"INVALID id", "INVALID title", "INVALID link", "INVALID visibility"}},
		{"of an unknown item", domaintest.As("u:acme:ann"), library.UpdateContent{ID: "c:acme:none", Title: input.Some(domaintest.Ptr("x"))},
			[]string{"NOT_FOUND id"}},
		{"of an item unseen", domaintest.As("u:acme:ben"), library.UpdateContent{ID: string(secret), Title: input.Some(domaintest.Ptr("x"))},
			[]string{"NOT_FOUND id"}},
		{"by a viewer", domaintest.As("u:acme:dora"), library.UpdateContent{ID: string(id), Title: input.Some(domaintest.Ptr("x"))},
			[]string{"FORBIDDEN id"}},
		{"of visibility by a viewer", domaintest.As("u:acme:dora"), library.UpdateContent{ID: string(id),
			Visibility: input.Some(domaintest.Ptr(principal.Private))}, []string{"FORBIDDEN id"}},
		{"of visibility by an editor", domaintest.As("u:acme:ben"), library.UpdateContent{ID: string(id),
			Title: input.Some(domaintest.Ptr("x")), Visibility: input.Some(domaintest.Ptr(principal.Private))}, []string{"FORBIDDEN visibility"}},
		{"of expiry by an editor", domaintest.As("u:acme:ben"),
			library.UpdateContent{ID: string(id), ExpiresAt: input.Some[*clock.Instant](nil)}, []string{"FORBIDDEN expiresAt"}},
		{"of both by an editor", domaintest.As("u:acme:ben"), library.UpdateContent{ID: string(id),
			Visibility: input.Some(domaintest.Ptr(principal.Public)), ExpiresAt: input.Some[*clock.Instant](nil)},
			[]string{"FORBIDDEN visibility", "FORBIDDEN expiresAt"}},
		{"of another version by an editor", domaintest.As("u:acme:ben"), library.UpdateContent{ID: string(id),
			Title: input.Some(domaintest.Ptr("x")), ExpectedVersion: domaintest.Ptr(7)}, []string{"CONFLICT expectedVersion"}},
		{"by an editor", domaintest.As("u:acme:ben"), library.UpdateContent{ID: string(id), Title: input.Some(domaintest.Ptr("a1")),
			Description: input.Some(domaintest.Ptr("by an editor"))}, nil},
		{"by an editor through a group", domaintest.As("u:acme:cleo"), library.UpdateContent{ID: string(grouped),
			Title: input.Some(domaintest.Ptr("g"))}, nil},
		{"of another version", domaintest.As("u:acme:ann"), library.UpdateContent{ID: string(id), Title: input.Some(domaintest.Ptr("a")),
			ExpectedVersion: domaintest.Ptr(7)}, []string{"CONFLICT expectedVersion"}},
		{"of a note's link", domaintest.As("u:acme:ann"),
			library.UpdateContent{ID: string(id), Link: input.Some(domaintest.Ptr("https://e.com/"))}, []string{"INVALID link"}},
		{"to the present values", domaintest.As("u:acme:ann"), library.UpdateContent{ID: string(id),
			Title: input.Some(domaintest.Ptr("a1")), ExpectedVersion: domaintest.Ptr(2)}, nil},
		{"by a manager through a group", domaintest.As("u:acme:cleo"),
			library.UpdateContent{ID: string(id), Title: input.Some(domaintest.Ptr("a2"))}, nil},
		{"by an administrator without a user", domaintest.Admin("u:acme:new"),
			library.UpdateContent{ID: string(id), Description: input.Some(domaintest.Ptr("d"))}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Library.UpdateContent(t.Context(), c.as, c.in)
			domaintest.WantFaults(t, err, c.want...)
		})
	}
	if got := h.Content(id); got.Version != 4 || got.Visibility != principal.Public || got.LastModified != got.Position ||
		got.LastModified != got.MTS {
		t.Errorf("after three changes: version %d, lastModified %d, position %d, mts %d", got.Version, got.LastModified, got.Position, got.MTS)
	}
	h.WantTitles(domaintest.As("u:acme:ben"), "u:acme:ben", "b", "a2")
	h.WantClean()
}

func TestUpdateContent_ExpiryChangesNeitherVersionNorPosition(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("a", principal.Public)
	before := h.Content(id)
	until := before.MTS.Add(time.Hour)
	if _, err := h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"),
		library.UpdateContent{ID: string(id), ExpiresAt: input.Some(&until)}); err != nil {
		t.Fatal(err)
	}
	after := h.Content(id)
	if after.ExpiresAt == nil || *after.ExpiresAt != until || after.Version != before.Version ||
		after.LastModified != before.LastModified || after.Position != before.Position {
		t.Errorf("after setting expiresAt: %+v", after)
	}
	dues, err := h.Store.Journal.DueReminders(t.Context(), until, 10)
	if err != nil || !slices.Contains(dues, commit.Reminder{At: until, Kind: commit.Content, Key: string(id), MTS: after.MTS}) {
		t.Errorf("the reminder is missing: %v, %v", dues, err)
	}
	if done, err := h.Background().Expire(t.Context(), commit.Reminder{At: until, Kind: commit.Content, Key: string(id)}); err != nil || done {
		t.Errorf("an hour early it reported done (%v, %v)", done, err)
	}
	if h.Content(id).State != commit.Live {
		t.Error("it expired an hour early")
	}
	if done, err := h.Background().Expire(t.Context(), commit.Reminder{At: until - 1, Kind: commit.Content, Key: string(id)}); err != nil ||
		!done {
		t.Errorf("a stale reminder must be dropped: %v, %v", done, err)
	}
	h.WantClean()
}

func TestUpdateContent_VisibilityMovesTheItemBetweenBuckets(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("a", principal.Public, "u:acme:ben=VIEWER", "u:beta:zed=VIEWER")
	anonymous, sameTenant, other := &principal.Viewer{}, domaintest.As("u:acme:cleo"), domaintest.As("u:beta:zed")
	for _, to := range []principal.Visibility{principal.LoggedIn, principal.Private, principal.Public, principal.Private, principal.LoggedIn} {
		if _, err := h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"),
			library.UpdateContent{ID: string(id), Visibility: input.Some(&to)}); err != nil {
			t.Fatal(err)
		}
		see := func(yes bool) []string {
			if yes {
				return []string{"a"}
			}
			return nil
		}
		h.WantTitles(anonymous, "u:acme:ben", see(to == principal.Public)...)
		h.WantTitles(sameTenant, "u:acme:ben", see(to != principal.Private)...)
		h.WantTitles(other, "u:acme:ben", see(to == principal.Public)...)
		h.WantTitles(other, "u:beta:zed", "a")
		h.WantTitles(domaintest.As("u:acme:ben"), "u:acme:ben", "a")
		h.WantClean()
	}
}

func TestRemoveFromLibrary_ChecksInputAndRights(t *testing.T) {
	h := domaintest.Town(t)
	h.User("u:acme:meg", principal.Public)
	h.MustSet(domaintest.As("u:acme:cleo"), "g:acme:team", "u:acme:meg=MEMBER")
	id := string(h.Note("a", principal.Public, "u:acme:ben=VIEWER", "g:acme:team=VIEWER"))
	remove := func(v *principal.Viewer, p, c string) error {
		_, err := h.Library.RemoveFromLibrary(t.Context(), v, library.RemoveFromLibrary{Principal: p, Content: c})
		return err
	}
	domaintest.WantFaults(t, remove(&principal.Viewer{}, "u:acme:ben", id), "UNAUTHENTICATED")
	domaintest.WantFaults(t, remove(domaintest.As("u:acme:ben"), "x", "y"), "INVALID principalId", "INVALID contentId")
	domaintest.WantFaults(t, remove(domaintest.As("u:acme:ben"), "u:acme:ben", "c:acme:none"), "NOT_FOUND contentId")
	domaintest.WantFaults(t, remove(domaintest.As("u:acme:ann"), "u:acme:hid", id), "NOT_FOUND principalId")
	domaintest.WantFaults(t, remove(domaintest.As("u:acme:ann"), "u:acme:ben", id), "FORBIDDEN principalId")
	domaintest.WantFaults(t, remove(domaintest.As("u:acme:meg"), "g:acme:team", id), "FORBIDDEN principalId")
	domaintest.WantFaults(t, remove(domaintest.As("u:acme:cleo"), "u:acme:cleo", id), "NOT_A_MEMBER contentId")
	domaintest.WantFaults(t, remove(domaintest.As("u:acme:ann"), "u:acme:ann", id), "LAST_MANAGER")
	domaintest.WantFaults(t, remove(domaintest.As("u:acme:ben"), "u:acme:ben", id))
	domaintest.WantFaults(t, remove(domaintest.As("u:acme:cleo"), "g:acme:team", id))
	h.WantTitles(domaintest.As("u:acme:ben"), "u:acme:ben")
	h.WantClean()
}

func TestDeleteContent_IsFinal(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("a", principal.Public, "u:acme:ben=VIEWER", "g:acme:team=VIEWER")
	del := func(v *principal.Viewer, version *int) error {
		_, err := h.Library.DeleteContent(t.Context(), v, library.DeleteContent{ID: string(id), ExpectedVersion: version})
		return err
	}
	domaintest.WantFaults(t, del(domaintest.As("u:acme:ben"), nil), "FORBIDDEN id")
	domaintest.WantFaults(t, del(domaintest.As("u:acme:ann"), domaintest.Ptr(2)), "CONFLICT expectedVersion")
	domaintest.WantFaults(t, del(domaintest.As("u:acme:ann"), domaintest.Ptr(1)))
	domaintest.WantFaults(t, del(domaintest.As("u:acme:ann"), nil), "NOT_FOUND id")
	h.WantTitles(domaintest.As("u:acme:ben"), "u:acme:ben")
	h.WantTitles(domaintest.As("u:acme:cleo"), "g:acme:team")
	_, err := h.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"),
		library.CreateContent{Name: domaintest.Ptr("a"), Kind: library.Note, Title: "again", Visibility: principal.Public})
	domaintest.WantFaults(t, err, "TAKEN name")
	h.Quiet()
	if got := h.Content(id); got.State != commit.Deleted || got.Title != "" || len(got.Unsettled) != 0 {
		t.Errorf("the mark that stays: %+v", got)
	}
	page, err := h.Store.Contents.MembersPage(t.Context(), id, "", 10, true)
	if err != nil || len(page.Members) != 0 {
		t.Errorf("member rows stay: %+v, %v", page, err)
	}
	h.WantClean()
}
