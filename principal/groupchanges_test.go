package principal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

func TestCreateGroup_CreatorBecomesItsManager(t *testing.T) {
	valid := principal.CreateGroup{Tenant: "acme", Name: "Staff", DisplayName: "All of us", Visibility: principal.Private}
	with := func(change func(*principal.CreateGroup)) principal.CreateGroup {
		in := valid
		change(&in)
		return in
	}
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		in     principal.CreateGroup
		want   []string
	}{
		{"a user", domaintest.As("u:acme:ann"), valid, nil},
		{"an administrator that exists", domaintest.Admin("u:acme:ann"), valid, nil},
		{"a global administrator that exists, of another tenant", domaintest.Global("u:other:gus"), valid, nil},
		{"the name of a user", domaintest.As("u:acme:ann"), with(func(in *principal.CreateGroup) { in.Name = "ann" }), nil},
		{"anonymous", domaintest.As(""), valid, []string{"UNAUTHENTICATED"}},
		{"a token without a user", domaintest.As("u:acme:eve"), valid, []string{"FORBIDDEN"}},
		{"an administrator without a user", domaintest.Admin("u:acme:eve"), valid, []string{"FORBIDDEN"}},
		{"a user of another tenant", domaintest.As("u:other:gus"), valid, []string{"FORBIDDEN tenant"}},
		{"an administrator of another tenant", domaintest.Admin("u:other:gus"), valid, []string{"FORBIDDEN tenant"}},
		{"a name that is taken by a hidden group", domaintest.As("u:acme:ann"), with(func(in *principal.CreateGroup) { in.Name = "HIDDEN" }),
			[]string{"TAKEN name"}},
		{"taken, but not revealed", domaintest.As("u:other:gus"), with(func(in *principal.CreateGroup) { in.Name = "hidden" }),
			[]string{"FORBIDDEN tenant"}},
		{"all faults at once", domaintest.As("u:acme:ann"), principal.CreateGroup{Tenant: "-", Name: "a b", DisplayName: "a\nb"},
			[]string{"INVALID tenant", "INVALID name", "INVALID displayName", "INVALID visibility"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := domaintest.New(t, nil)
			h.User("u:acme:ann", principal.Public)
			h.User("u:acme:bob", principal.Public)
			h.User("u:other:gus", principal.Private)
			h.Group("g:acme:hidden", "u:acme:bob", principal.Private)
			got, err := h.People.CreateGroup(t.Context(), c.viewer, c.in)
			domaintest.WantFaults(t, err, c.want...)
			if c.want != nil {
				if got != nil || h.Header("g:acme:staff").State != commit.Absent {
					t.Fatalf("refused, but there is %+v, %+v", got, h.Header("g:acme:staff"))
				}
				return
			}
			want := principal.Header{
				ID: principal.GroupID("acme", c.in.Name), DisplayName: "All of us", Visibility: principal.Private,
				State: commit.Live, Seq: 1, Managers: 1, Members: 1,
			}
			ignore := cmpopts.IgnoreFields(principal.Header{}, "MTS", "CreatedAt", "Writers")
			if diff := cmp.Diff(want, got.Header, ignore); diff != "" {
				t.Errorf("answered (-want +got):\n%s", diff)
			}
			creator := string(c.viewer.User)
			if diff := cmp.Diff([]string{creator + "=MANAGER"}, h.Members(string(want.ID))); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{string(want.ID) + "=MANAGER"}, h.Memberships(creator)); diff != "" {
				t.Errorf("memberships of the creator (-want +got):\n%s", diff)
			}
			if built, err := h.Store.Libraries.Built(t.Context(), want.ID, library.ByChange); err != nil || !built {
				t.Errorf("the new group's library counts as missing: %v", err)
			}
			role, err := h.People.GroupRoleOf(t.Context(), c.viewer, want.ID)
			if err != nil || role != principal.GroupManager {
				t.Errorf("the creator is %q in the group, for the same request: %v", role, err)
			}
			h.WantNothingInFlight()
		})
	}
}

// TestGroups_OnlyManagersAndAdministratorsMayChangeThem checks for each viewer whether it may
// change the group, and that all mutations of groups decide alike.
func TestGroups_OnlyManagersAndAdministratorsMayChangeThem(t *testing.T) {
	h := domaintest.New(t, nil)
	for _, u := range []string{"u:acme:ann", "u:acme:bob", "u:acme:cat", "u:acme:dan", "u:other:eli", "u:other:fay"} {
		h.User(u, principal.Public)
	}
	// heads manage staff; the board, whose member dan is, is in heads.
	h.Group("g:acme:staff", "u:acme:ann", principal.LoggedIn)
	h.Group("g:acme:heads", "u:acme:ann", principal.Private)
	h.Group("g:acme:board", "u:acme:ann", principal.Private)
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:board", "u:acme:dan=MEMBER")
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:heads", "g:acme:board=MEMBER", "u:other:eli=MEMBER")
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:staff", "g:acme:heads=MANAGER", "u:acme:bob=MEMBER")
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		code   string // empty: it may
	}{
		{"its direct manager", domaintest.As("u:acme:ann"), ""},
		{"a member of a group that manages it, in another tenant", domaintest.As("u:other:eli"), ""},
		{"a member of a group in a group that manages it", domaintest.As("u:acme:dan"), ""},
		{"an administrator", domaintest.Admin("u:acme:root"), ""},
		{"a global administrator", domaintest.Global("u:other:root"), ""},
		{"a plain member", domaintest.As("u:acme:bob"), "FORBIDDEN"},
		{"a stranger that sees it", domaintest.As("u:acme:cat"), "FORBIDDEN"},
		{"a stranger that does not see it", domaintest.As("u:other:fay"), "NOT_FOUND"},
		{"an administrator of another tenant", domaintest.Admin("u:other:fay"), "NOT_FOUND"},
		{"anonymous", domaintest.As(""), "UNAUTHENTICATED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			again := func() *principal.Viewer {
				return &principal.Viewer{User: c.viewer.User, Admin: c.viewer.Admin, GlobalAdmin: c.viewer.GlobalAdmin}
			}
			want := func(path string) []string {
				switch c.code {
				case "":
					return nil
				case "UNAUTHENTICATED":
					return []string{c.code}
				}
				return []string{c.code + " " + path}
			}
			_, err := h.People.UpdateGroup(t.Context(), again(), principal.UpdateGroup{ID: "G:acme:Staff",
				DisplayName: input.Some(domaintest.Ptr(c.name))})
			domaintest.WantFaults(t, err, want("id")...)
			if got := h.Header("g:acme:staff").DisplayName; (got == c.name) != (c.code == "") {
				t.Errorf("the group has the name %q now", got)
			}
			_, err = h.Set(again(), "g:acme:staff", "u:acme:cat=MEMBER")
			domaintest.WantFaults(t, err, want("groupId")...)
			_, err = h.Set(again(), "g:acme:staff", "u:acme:cat=")
			// Only a manager may remove somebody else; anyone may remove itself.
			if c.viewer.User == "u:acme:cat" {
				domaintest.WantFaults(t, err)
			} else {
				domaintest.WantFaults(t, err, want("groupId")...)
			}
		})
	}
}

func TestUpdateGroup_ChangesTheGivenFields(t *testing.T) {
	name := input.Some(domaintest.Ptr("Everybody"))
	for _, c := range []struct {
		name string
		in   principal.UpdateGroup
		want []string
	}{
		{"one field", principal.UpdateGroup{ID: "g:acme:staff", DisplayName: name}, nil},
		{"both", principal.UpdateGroup{ID: "g:acme:staff", DisplayName: name, Visibility: input.Some(domaintest.Ptr(principal.Private))}, nil},
		{"one that does not exist", principal.UpdateGroup{ID: "g:acme:nothing", DisplayName: name}, []string{"NOT_FOUND id"}},
		{"a user", principal.UpdateGroup{ID: "u:acme:ann", DisplayName: name}, []string{"INVALID id"}},
		{"nothing to change", principal.UpdateGroup{ID: "g:acme:staff"}, []string{"INVALID"}},
		{"nulls", principal.UpdateGroup{ID: "g:acme:staff", DisplayName: input.Some[*string](nil),
			Visibility: input.Some[*principal.Visibility](nil)},
			[]string{"INVALID displayName", "INVALID visibility"}},
		{"all faults", principal.UpdateGroup{ID: "staff", DisplayName: input.Some(domaintest.Ptr(" ")), IdempotencyKey: domaintest.Ptr("")},
			[]string{"INVALID id", "INVALID displayName", "INVALID idempotencyKey"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := domaintest.New(t, nil)
			h.User("u:acme:ann", principal.Public)
			h.Group("g:acme:staff", "u:acme:ann", principal.Public)
			got, err := h.People.UpdateGroup(t.Context(), domaintest.As("u:acme:ann"), c.in)
			domaintest.WantFaults(t, err, c.want...)
			stored := h.Header("g:acme:staff")
			if c.want != nil {
				if got != nil || stored.Seq != 1 {
					t.Fatalf("refused, but answered %+v and stored %+v", got, stored)
				}
				return
			}
			if got.DisplayName != "Everybody" || stored.DisplayName != "Everybody" || stored.Managers != 1 {
				t.Errorf("answered %+v, stored %+v", got, stored)
			}
			if c.in.Visibility.Set != (stored.Visibility == principal.Private) {
				t.Errorf("stored %+v", stored)
			}
			if _, err := h.People.UpdateGroup(t.Context(), domaintest.As("u:acme:ann"), c.in); err != nil {
				t.Fatalf("the same again: %v", err)
			}
			if h.Header("g:acme:staff").Seq != stored.Seq {
				t.Error("the same again changed the group")
			}
		})
	}
}
