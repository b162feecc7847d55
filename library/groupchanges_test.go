package library_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/principal"
)

func TestCreateGroup(t *testing.T) {
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
		{"a user", as("u:acme:ann"), valid, nil},
		{"an administrator that exists", admin("u:acme:ann"), valid, nil},
		{"a global administrator that exists, elsewhere", global("u:other:gus"), valid, nil},
		{"the name of a user", as("u:acme:ann"), with(func(in *principal.CreateGroup) { in.Name = "ann" }), nil},
		{"anonymous", as(""), valid, []string{"UNAUTHENTICATED"}},
		{"a token without a user", as("u:acme:eve"), valid, []string{"FORBIDDEN"}},
		{"an administrator without a user", admin("u:acme:eve"), valid, []string{"FORBIDDEN"}},
		{"a user of another tenant", as("u:other:gus"), valid, []string{"FORBIDDEN tenant"}},
		{"an administrator of another tenant", admin("u:other:gus"), valid, []string{"FORBIDDEN tenant"}},
		{"a name that is taken, by what it does not see", as("u:acme:ann"), with(func(in *principal.CreateGroup) { in.Name = "HIDDEN" }), []string{"TAKEN name"}},
		{"taken, but not to be told", as("u:other:gus"), with(func(in *principal.CreateGroup) { in.Name = "hidden" }), []string{"FORBIDDEN tenant"}},
		{"all faults at once", as("u:acme:ann"), principal.CreateGroup{Tenant: "-", Name: "a b", DisplayName: "a\nb"},
			[]string{"INVALID tenant", "INVALID name", "INVALID displayName", "INVALID visibility"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, nil)
			h.user("u:acme:ann", principal.Public)
			h.user("u:acme:bob", principal.Public)
			h.user("u:other:gus", principal.Private)
			h.group("g:acme:hidden", "u:acme:bob", principal.Private)
			got, err := h.svc.CreateGroup(t.Context(), c.viewer, c.in)
			wantTold(t, err, c.want...)
			if c.want != nil {
				if got != nil || h.header("g:acme:staff").State != commit.Absent {
					t.Fatalf("refused, but there is %+v, %+v", got, h.header("g:acme:staff"))
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
			if diff := cmp.Diff([]string{creator + "=MANAGER"}, h.members(string(want.ID))); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{string(want.ID) + "=MANAGER"}, h.memberships(creator)); diff != "" {
				t.Errorf("memberships of the creator (-want +got):\n%s", diff)
			}
			if built, err := h.store.Built(t.Context(), want.ID); err != nil || !built {
				t.Errorf("the new group's library counts as missing: %v", err)
			}
			role, err := h.svc.GroupRoleOf(t.Context(), c.viewer, want.ID)
			if err != nil || role != principal.GroupManager {
				t.Errorf("the creator is %q in the group, for the same request: %v", role, err)
			}
			h.wantSettled()
		})
	}
}

// TestWhoManagesAGroup asks of each viewer whether it may change the group, and
// sees that all mutations of groups judge alike.
func TestWhoManagesAGroup(t *testing.T) {
	h := newHouse(t, nil)
	for _, u := range []string{"u:acme:ann", "u:acme:bob", "u:acme:cat", "u:acme:dan", "u:other:eli", "u:other:fay"} {
		h.user(u, principal.Public)
	}
	// heads manage staff; the board, whose member dan is, is in heads.
	h.group("g:acme:staff", "u:acme:ann", principal.LoggedIn)
	h.group("g:acme:heads", "u:acme:ann", principal.Private)
	h.group("g:acme:board", "u:acme:ann", principal.Private)
	h.mustSet(as("u:acme:ann"), "g:acme:board", "u:acme:dan=MEMBER")
	h.mustSet(as("u:acme:ann"), "g:acme:heads", "g:acme:board=MEMBER", "u:other:eli=MEMBER")
	h.mustSet(as("u:acme:ann"), "g:acme:staff", "g:acme:heads=MANAGER", "u:acme:bob=MEMBER")
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		code   string // empty: it may
	}{
		{"its direct manager", as("u:acme:ann"), ""},
		{"a member of a group that manages it, in another tenant", as("u:other:eli"), ""},
		{"a member of a group in a group that manages it", as("u:acme:dan"), ""},
		{"an administrator", admin("u:acme:root"), ""},
		{"a global administrator", global("u:other:root"), ""},
		{"a plain member", as("u:acme:bob"), "FORBIDDEN"},
		{"a stranger that sees it", as("u:acme:cat"), "FORBIDDEN"},
		{"a stranger that does not see it", as("u:other:fay"), "NOT_FOUND"},
		{"an administrator of another tenant", admin("u:other:fay"), "NOT_FOUND"},
		{"anonymous", as(""), "UNAUTHENTICATED"},
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
			_, err := h.svc.UpdateGroup(t.Context(), again(), principal.UpdateGroup{ID: "G:acme:Staff", DisplayName: input.Some(ptr(c.name))})
			wantTold(t, err, want("id")...)
			if got := h.header("g:acme:staff").DisplayName; (got == c.name) != (c.code == "") {
				t.Errorf("the group is called %q now", got)
			}
			_, err = h.set(again(), "g:acme:staff", "u:acme:cat=MEMBER")
			wantTold(t, err, want("groupId")...)
			_, err = h.set(again(), "g:acme:staff", "u:acme:cat=")
			// The plain removal of somebody else is a manager's, too; its own is anyone's.
			if c.viewer.User == "u:acme:cat" {
				wantTold(t, err)
			} else {
				wantTold(t, err, want("groupId")...)
			}
		})
	}
}

func TestUpdateGroup(t *testing.T) {
	name := input.Some(ptr("Everybody"))
	for _, c := range []struct {
		name string
		in   principal.UpdateGroup
		want []string
	}{
		{"one field", principal.UpdateGroup{ID: "g:acme:staff", DisplayName: name}, nil},
		{"both", principal.UpdateGroup{ID: "g:acme:staff", DisplayName: name, Visibility: input.Some(ptr(principal.Private))}, nil},
		{"one that does not exist", principal.UpdateGroup{ID: "g:acme:nothing", DisplayName: name}, []string{"NOT_FOUND id"}},
		{"a user", principal.UpdateGroup{ID: "u:acme:ann", DisplayName: name}, []string{"INVALID id"}},
		{"nothing to change", principal.UpdateGroup{ID: "g:acme:staff"}, []string{"INVALID"}},
		{"nulls", principal.UpdateGroup{ID: "g:acme:staff", DisplayName: input.Some[*string](nil), Visibility: input.Some[*principal.Visibility](nil)},
			[]string{"INVALID displayName", "INVALID visibility"}},
		{"all faults", principal.UpdateGroup{ID: "staff", DisplayName: input.Some(ptr(" ")), IdempotencyKey: ptr("")},
			[]string{"INVALID id", "INVALID displayName", "INVALID idempotencyKey"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, nil)
			h.user("u:acme:ann", principal.Public)
			h.group("g:acme:staff", "u:acme:ann", principal.Public)
			got, err := h.svc.UpdateGroup(t.Context(), as("u:acme:ann"), c.in)
			wantTold(t, err, c.want...)
			stands := h.header("g:acme:staff")
			if c.want != nil {
				if got != nil || stands.Seq != 1 {
					t.Fatalf("refused, but answered %+v and stored %+v", got, stands)
				}
				return
			}
			if got.DisplayName != "Everybody" || stands.DisplayName != "Everybody" || stands.Managers != 1 {
				t.Errorf("answered %+v, stored %+v", got, stands)
			}
			if c.in.Visibility.Set != (stands.Visibility == principal.Private) {
				t.Errorf("stored %+v", stands)
			}
			if _, err := h.svc.UpdateGroup(t.Context(), as("u:acme:ann"), c.in); err != nil {
				t.Fatalf("the same again: %v", err)
			}
			if h.header("g:acme:staff").Seq != stands.Seq {
				t.Error("the same again touched the group")
			}
		})
	}
}
