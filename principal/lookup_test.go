package principal_test

import (
	"testing"

	"carrel/domain/domaintest"
	"carrel/principal"
)

func TestLookup_FollowsTheVisibilityRules(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:other:sam", "g:acme:inner")
	for _, vis := range []principal.Visibility{principal.Public, principal.LoggedIn, principal.Private} {
		r.Principal(principal.UserID("acme", vis.String()), vis)
		r.Principal(principal.GroupID("acme", vis.String()), vis)
		r.Join(principal.GroupID("acme", vis.String()), true, domaintest.GroupMember("g:acme:inner", principal.GroupMember))
	}
	r.Join("g:acme:inner", true, domaintest.GroupMember("u:other:sam", principal.GroupMember))
	const yes, no = true, false
	for _, c := range []struct {
		name          string
		viewer        *principal.Viewer
		users, groups [3]bool // PUBLIC, LOGGEDIN, PRIVATE
	}{
		{"anonymous", domaintest.Anonymous(), [3]bool{yes, no, no}, [3]bool{yes, no, no}},
		{"same tenant", domaintest.Bob(), [3]bool{yes, yes, no}, [3]bool{yes, yes, no}},
		{"other tenant", domaintest.Eve(), [3]bool{yes, no, no}, [3]bool{yes, no, no}},
		{"indirect member from another tenant", &principal.Viewer{User: "u:other:sam"}, [3]bool{yes, no, no}, [3]bool{yes, yes, yes}},
		{"itself", &principal.Viewer{User: "u:acme:private"}, [3]bool{yes, yes, yes}, [3]bool{yes, yes, no}},
		{"administrator", domaintest.Root(), [3]bool{yes, yes, yes}, [3]bool{yes, yes, yes}},
		{"administrator of another tenant", domaintest.OtherRoot(), [3]bool{yes, no, no}, [3]bool{yes, no, no}},
		{"global administrator", domaintest.Globe(), [3]bool{yes, yes, yes}, [3]bool{yes, yes, yes}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, vis := range []principal.Visibility{principal.Public, principal.LoggedIn, principal.Private} {
				ids := []principal.ID{principal.UserID("acme", vis.String()), principal.GroupID("acme", vis.String())}
				ps, err := r.People.Principals(t.Context(), c.viewer, ids)
				if err != nil {
					t.Fatal(err)
				}
				if (ps[0] != nil) != c.users[i] || (ps[1] != nil) != c.groups[i] {
					t.Errorf("%s: user %v, group %v; want seen: %v, %v", vis, ps[0], ps[1], c.users[i], c.groups[i])
				}
			}
		})
	}
}

func TestLookup_OnlyTheUserAndAdministratorsSeeTheEmail(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "u:acme:bob")
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		stored bool
		email  bool // of ann
	}{
		{"ann", domaintest.Ann(), true, true},
		{"another user", domaintest.Bob(), true, false},
		{"anonymous", domaintest.Anonymous(), false, false},
		{"a token without a user", &principal.Viewer{User: "u:acme:ghost"}, false, false},
		{"administrator", domaintest.Root(), false, true},
		{"administrator of another tenant", domaintest.OtherRoot(), false, false},
		{"global administrator", domaintest.Globe(), false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := r.People.ViewerUser(t.Context(), c.viewer)
			if err != nil || (u != nil) != c.stored || u != nil && u.ID != c.viewer.User {
				t.Errorf("the viewer is %v, %v", u, err)
			}
			ps, err := r.People.Principals(t.Context(), c.viewer, []principal.ID{"u:acme:ann"})
			if err != nil {
				t.Fatal(err)
			}
			email := r.People.Email(c.viewer, ps[0].(*principal.User))
			if (email != nil) != c.email || email != nil && *email != "ann@example.org" {
				t.Errorf("the address is %v", email)
			}
		})
	}
}
