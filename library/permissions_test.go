package library_test

import (
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// TestPermissions_FollowTheTableOfVisibility checks the complete table of docs/visibility.md: the
// viewer, the item's visibility, the item's tenant.
func TestPermissions_FollowTheTableOfVisibility(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "u:acme:bob", "u:other:eve", "u:other:sam", "g:acme:team", "g:other:outer")
	r.Join("g:acme:team", true, domaintest.GroupMember("u:other:sam", principal.GroupMember))
	r.Join("g:other:outer", true, domaintest.GroupMember("g:acme:team", principal.GroupMember))
	gone := library.Member{Principal: "u:acme:bob", Role: library.Manages, Leaving: true}
	for _, tenant := range []string{"acme", "other"} {
		for _, vis := range []principal.Visibility{principal.Public, principal.LoggedIn, principal.Private} {
			id := library.ContentID(fmt.Sprintf("c:%s:%s", tenant, vis))
			r.Item(id, 10, vis, domaintest.ContentMember("u:acme:ann", library.Viewing),
				domaintest.ContentMember("g:other:outer", library.Viewing), gone)
		}
	}
	sam := func() *principal.Viewer { return &principal.Viewer{User: "u:other:sam"} }
	ghost := func() *principal.Viewer { return &principal.Viewer{User: "u:acme:ghost"} }
	const yes, no = true, false
	for _, c := range []struct {
		name        string
		viewer      func() *principal.Viewer
		acme, other [3]bool // PUBLIC, LOGGEDIN, PRIVATE
	}{
		{"anonymous", domaintest.Anonymous, [3]bool{yes, no, no}, [3]bool{yes, no, no}},
		{"same tenant, was a member once", domaintest.Bob, [3]bool{yes, yes, no}, [3]bool{yes, no, no}},
		{"a token without a user", ghost, [3]bool{yes, yes, no}, [3]bool{yes, no, no}},
		{"other tenant", domaintest.Eve, [3]bool{yes, no, no}, [3]bool{yes, yes, no}},
		{"direct role", domaintest.Ann, [3]bool{yes, yes, yes}, [3]bool{yes, yes, yes}},
		{"role through groups of groups", sam, [3]bool{yes, yes, yes}, [3]bool{yes, yes, yes}},
		{"administrator of acme", domaintest.Root, [3]bool{yes, yes, yes}, [3]bool{yes, no, no}},
		{"administrator of other", domaintest.OtherRoot, [3]bool{yes, no, no}, [3]bool{yes, yes, yes}},
		{"global administrator", domaintest.Globe, [3]bool{yes, yes, yes}, [3]bool{yes, yes, yes}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for tenant, want := range map[string][3]bool{"acme": c.acme, "other": c.other} {
				for i, vis := range []principal.Visibility{principal.Public, principal.LoggedIn, principal.Private} {
					id := library.ContentID(fmt.Sprintf("c:%s:%s", tenant, vis))
					cs, err := r.Library.Contents(t.Context(), c.viewer(), []library.ContentID{id})
					if err != nil || (cs[0] != nil) != want[i] {
						t.Errorf("%s: %v, %v; want seen: %v", id, cs, err, want[i])
					}
					ss, err := r.Library.PermissionsOf(t.Context(), c.viewer(), []library.ContentID{id})
					if err != nil || (ss[0] != nil) != want[i] {
						t.Errorf("permissions on %s: %v, %v; want one: %v", id, ss, err, want[i])
					}
				}
			}
		})
	}
}

func TestPermissions_DeletedAndExpiredItemsAreHidden(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "g:acme:team")
	r.Join("g:acme:team", true, domaintest.GroupMember("u:acme:ann", principal.GroupMember))
	manager, group := domaintest.ContentMember("u:acme:ann", library.Manages), domaintest.ContentMember("g:acme:team", library.Manages)
	soon := domaintest.RowsStart + 1
	now := domaintest.RowsStart
	for id, change := range map[library.ContentID]func(h *library.Header){
		"c:acme:deleted": func(h *library.Header) { h.State = commit.Deleted },
		"c:acme:void":    func(h *library.Header) { h.State = commit.Void },
		"c:acme:expired": func(h *library.Header) { h.ExpiresAt = &now },
		"c:acme:expires": func(h *library.Header) { h.ExpiresAt = &soon },
	} {
		r.Item(id, 10, principal.Public, manager, group)
		r.Change(id, change)
	}
	ids := []library.ContentID{"c:acme:deleted", "c:acme:void", "c:acme:expired", "c:acme:absent", "c:acme:expires"}
	for _, c := range []struct {
		name string
		now  clock.Instant
		last bool
	}{
		{"a microsecond before", domaintest.RowsStart, true},
		{"at the instant", soon, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.T = t
			r.Clock.Wall.Store(int64(c.now))
			for _, v := range []*principal.Viewer{domaintest.Ann(), domaintest.Globe(), domaintest.Root(), domaintest.Anonymous()} {
				cs, err := r.Library.Contents(t.Context(), v, ids)
				r.Must(err)
				ss, err := r.Library.PermissionsOf(t.Context(), v, ids)
				r.Must(err)
				for i := range ids {
					want := c.last && i == 4
					if (cs[i] != nil) != want || (ss[i] != nil) != want {
						t.Errorf("%s for %q: %v, %v; want seen: %v", ids[i], v.User, cs[i], ss[i], want)
					}
				}
			}
			want := []string{}
			if c.last {
				want = append(want, "expires")
			}
			r.WantNames(r.Read(domaintest.Ann(), "u:acme:ann", library.LibraryQuery{}), want...)
		})
	}
}

func TestPermissions_DependOnRoleAndVisibility(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "u:acme:bob", "u:other:eve", "g:acme:managers")
	r.Join("g:acme:managers", true, domaintest.GroupMember("u:other:eve", principal.GroupMember))
	members := []library.Member{
		domaintest.ContentMember("u:acme:ann", library.Manages), domaintest.ContentMember("u:acme:bob", library.Editing),
		domaintest.ContentMember("u:other:eve", library.Viewing), domaintest.ContentMember("g:acme:managers", library.Manages),
		domaintest.ContentMember("u:acme:gone", library.Editing),
	}
	r.Item("c:acme:public", 10, principal.Public, members...)
	r.Item("c:acme:private", 10, principal.Private, members...)
	ids := []library.ContentID{"c:acme:private", "c:acme:public"}
	role := func(r library.ContentRole, share, manage bool) *library.Permissions {
		return &library.Permissions{Role: r, CanShare: share, CanEdit: manage || r >= library.Editing, CanManage: manage}
	}
	for _, c := range []struct {
		name            string
		viewer          *principal.Viewer
		private, public *library.Permissions
	}{
		{"manager", domaintest.Ann(), role(library.Manages, true, true), role(library.Manages, true, true)},
		{"editor", domaintest.Bob(), role(library.Editing, false, false), role(library.Editing, true, false)},
		{"viewer who manages through a group", domaintest.Eve(), role(library.Manages, true, true), role(library.Manages, true, true)},
		{"anonymous", domaintest.Anonymous(), nil, role(library.NoRole, false, false)},
		{"no role", &principal.Viewer{User: "u:acme:ghost"}, nil, role(library.NoRole, false, false)},
		{"editor whose user does not exist", &principal.Viewer{User: "u:acme:gone"}, &library.Permissions{Role: library.Editing},
			&library.Permissions{Role: library.Editing}},
		{"administrator", domaintest.Root(), role(library.NoRole, true, true), role(library.NoRole, true, true)},
		{"administrator of another tenant, not stored", domaintest.OtherRoot(), nil, role(library.NoRole, false, false)},
		{"stored administrator of another tenant", &principal.Viewer{User: "u:other:eve", Admin: true},
			role(library.Manages, true, true), role(library.Manages, true, true)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := r.Library.PermissionsOf(t.Context(), c.viewer, ids)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []*library.Permissions{c.private, c.public} {
				if (got[i] == nil) != (want == nil) || want != nil && *got[i] != *want {
					t.Errorf("%s: %+v, want %+v", ids[i], got[i], want)
				}
			}
		})
	}
}

// TestPermissions_RolesThroughManyGroupsAreFound: the viewer is in more groups than one call of the
// store accepts.
func TestPermissions_RolesThroughManyGroupsAreFound(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann")
	r.Item("c:acme:secret", 10, principal.Private,
		domaintest.ContentMember("g:acme:g249", library.Viewing), domaintest.ContentMember("g:acme:g120", library.Editing),
		domaintest.ContentMember("g:acme:g130", library.Viewing))
	for i := range 250 {
		g := principal.ID(fmt.Sprintf("g:acme:g%03d", i))
		r.Principal(g, principal.Public)
		r.Join(g, true, domaintest.GroupMember("u:acme:ann", principal.GroupMember))
	}
	got, err := r.Library.PermissionsOf(t.Context(), domaintest.Ann(), []library.ContentID{"c:acme:secret"})
	if err != nil || got[0] == nil || got[0].Role != library.Editing {
		t.Errorf("%+v, %v", got, err)
	}
}
