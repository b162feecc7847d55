package principal

import (
	"testing"

	"carrel/core/commit"
)

// TestAccessTo_FollowsTheVisibilityRules checks the rules of docs/visibility.md for users and
// groups, and what is read before the answer.
func TestAccessTo_FollowsTheVisibilityRules(t *testing.T) {
	const user, group = ID("u:acme:ann"), ID("g:acme:team")
	anonymous, same, far := &Viewer{}, &Viewer{User: "u:acme:ben"}, &Viewer{User: "u:far:fay"}
	admin, global := &Viewer{User: "u:acme:adm", Admin: true}, &Viewer{User: "u:far:glo", GlobalAdmin: true}
	for _, c := range []struct {
		name       string
		v          *Viewer
		id         ID
		visibility Visibility
		want       Access // of the principal
		missing    Access // if it does not exist
	}{
		{"anonymous", anonymous, user, Public, Granted, Denied},
		{"anonymous", anonymous, group, LoggedIn, Denied, Denied},
		{"of the tenant", same, user, LoggedIn, Granted, Denied},
		{"of the tenant", same, user, Private, Denied, Denied},
		{"the user", &Viewer{User: user}, user, Private, Granted, Denied},
		{"of the tenant", same, group, LoggedIn, Granted, DeniedAfterGroups},
		{"of the tenant", same, group, Private, IfMember, DeniedAfterGroups},
		{"of another tenant", far, user, LoggedIn, Denied, Denied},
		{"of another tenant", far, group, LoggedIn, IfMember, DeniedAfterGroups},
		{"of another tenant", far, group, Public, Granted, DeniedAfterGroups},
		{"administrator", admin, user, Private, Granted, Denied},
		{"administrator", admin, group, Private, Granted, Denied},
		{"global administrator", global, group, Private, Granted, Denied},
	} {
		t.Run(c.name+", "+string(c.id)+", "+c.visibility.String(), func(t *testing.T) {
			if got := accessTo(c.v, c.id, &Header{ID: c.id, Visibility: c.visibility, State: commit.Live}); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
			for _, state := range []commit.State{commit.Absent, commit.Void, commit.Deleted} {
				if got := accessTo(c.v, c.id, &Header{Visibility: c.visibility, State: state}); got != c.missing {
					t.Errorf("in state %d: %d, want %d", state, got, c.missing)
				}
			}
		})
	}
}
