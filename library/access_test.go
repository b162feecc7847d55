package library

import (
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// TestAccessTo_FollowsTheVisibilityRules checks the rules of docs/visibility.md for an item of
// tenant acme, and what is read before the answer.
func TestAccessTo_FollowsTheVisibilityRules(t *testing.T) {
	const (
		now      = clock.Instant(100)
		public   = principal.Public
		loggedIn = principal.LoggedIn
		private  = principal.Private
	)
	none, viewing := Member{}, Member{Seq: 3, Role: Viewing}
	leaving := Member{Seq: 3, Role: Viewing, Leaving: true}
	anonymous, ann, far := &principal.Viewer{}, &principal.Viewer{User: "u:acme:ann"}, &principal.Viewer{User: "u:far:fay"}
	admin, farAdmin := &principal.Viewer{User: "u:acme:adm", Admin: true}, &principal.Viewer{User: "u:far:adm", Admin: true}
	global, tool := &principal.Viewer{User: "u:far:glo", GlobalAdmin: true}, &principal.Viewer{GlobalAdmin: true}
	for _, c := range []struct {
		name       string
		v          *principal.Viewer
		visibility principal.Visibility
		own        Member
		want       principal.Access // of the item
		byRole     principal.Access // if only roles count
		missing    principal.Access // if it does not exist
	}{
		{"anonymous", anonymous, public, none, principal.Granted, principal.Denied, principal.Denied},
		{"anonymous", anonymous, loggedIn, none, principal.Denied, principal.Denied, principal.Denied},
		{"anonymous", anonymous, private, none, principal.Denied, principal.Denied, principal.Denied},
		{"of the tenant", ann, public, none, principal.Granted, principal.IfMember, principal.DeniedAfterGroups},
		{"of the tenant", ann, loggedIn, none, principal.Granted, principal.IfMember, principal.DeniedAfterGroups},
		{"of the tenant", ann, private, none, principal.IfMember, principal.IfMember, principal.DeniedAfterGroups},
		{"with a role", ann, private, viewing, principal.UnlessDeleted, principal.UnlessDeleted, principal.DeniedAfterGroups},
		{"with a role that was taken away", ann, private, leaving, principal.IfMember, principal.IfMember, principal.DeniedAfterGroups},
		{"of another tenant", far, public, none, principal.Granted, principal.IfMember, principal.DeniedAfterGroups},
		{"of another tenant", far, loggedIn, none, principal.IfMember, principal.IfMember, principal.DeniedAfterGroups},
		{"of another tenant with a role", far, private, viewing, principal.UnlessDeleted, principal.UnlessDeleted, principal.DeniedAfterGroups},
		{"administrator", admin, private, none, principal.Granted, principal.IfMember, principal.Denied},
		{"administrator of another tenant", farAdmin, loggedIn, none, principal.IfMember, principal.IfMember, principal.DeniedAfterGroups},
		{"global administrator", global, private, none, principal.Granted, principal.IfMember, principal.Denied},
		{"global administrator who is no user", tool, private, none, principal.Granted, principal.Denied, principal.Denied},
	} {
		t.Run(c.name+", "+c.visibility.String(), func(t *testing.T) {
			want := func(h Header, roleOnly bool, want principal.Access) {
				t.Helper()
				if got := accessTo(c.v, "c:acme:a", &h, c.own, roleOnly, now); got != want {
					t.Errorf("role only %v, state %d: %d, want %d", roleOnly, h.State, got, want)
				}
			}
			past, future := now, now+1
			there := Header{Content: Content{ID: "c:acme:a", Visibility: c.visibility, ExpiresAt: &future}, State: commit.Live}
			want(there, false, c.want)
			want(there, true, c.byRole)
			for _, gone := range []Header{
				{}, {Content: there.Content, State: commit.Deleted}, {Content: there.Content, State: commit.Void},
				{Content: Content{ID: "c:acme:a", Visibility: c.visibility, ExpiresAt: &past}, State: commit.Live},
			} {
				want(gone, false, c.missing)
			}
		})
	}
}

// TestReadingAccessTo_DependsOnBucketAndIncludeShared checks that a library shows an item that is
// in the bucket to viewers who may see it through the bucket or, with includeShared, through a
// role.
func TestReadingAccessTo_DependsOnBucketAndIncludeShared(t *testing.T) {
	const now = clock.Instant(100)
	in, out := Member{Seq: 1, Role: Viewing}, Member{Seq: 1, Leaving: true}
	reading := func(v *principal.Viewer, bucket Bucket, asOwner, shared bool) *Reading {
		r := &Reading{v: v, Owner: "g:acme:team", Bucket: bucket, Source: bucket, AsOwner: asOwner,
			Members: []principal.ID{"g:acme:team", v.User}}
		if shared {
			r.Source = principal.Private
		}
		return r
	}
	ann, fay := &principal.Viewer{User: "u:acme:ann"}, &principal.Viewer{User: "u:far:fay"}
	adm, farAdm := &principal.Viewer{User: "u:acme:adm", Admin: true}, &principal.Viewer{User: "u:far:adm", Admin: true}
	for _, c := range []struct {
		name       string
		r          *Reading
		id         ContentID
		visibility principal.Visibility
		owner, own Member
		want       principal.Access
	}{
		{"a member of the group", reading(fay, principal.Private, true, false), "c:acme:a", principal.Private, in, Member{}, principal.Granted},
		{"an item that has left the library", reading(fay, principal.Private, true, false), "c:acme:a", principal.Public,
			out, in, principal.Denied},
		{"an administrator", reading(adm, principal.Private, false, false), "c:acme:a", principal.Private, in, Member{}, principal.Granted},
		{"an administrator, an item of another tenant", reading(adm, principal.Private, false, false), "c:far:a",
			principal.LoggedIn, in, Member{}, principal.IfMember},
		{"an administrator, a PUBLIC item of another tenant", reading(adm, principal.Private, false, false), "c:far:a",
			principal.Public, in, Member{}, principal.Granted},
		{"of the tenant", reading(ann, principal.LoggedIn, false, false), "c:acme:a", principal.LoggedIn, in, Member{}, principal.Granted},
		{"of the tenant, a role without includeShared", reading(ann, principal.LoggedIn, false, false), "c:acme:a",
			principal.Private, in, in, principal.Denied},
		{"of the tenant, a role", reading(ann, principal.LoggedIn, false, true), "c:acme:a", principal.Private, in, in, principal.UnlessDeleted},
		{"of the tenant, perhaps a role through groups", reading(ann, principal.LoggedIn, false, true), "c:acme:a",
			principal.Private, in, Member{}, principal.IfMember},
		{"of another tenant, an item of its own tenant, by visibility alone", reading(fay, principal.Public, false, true),
			"c:far:a", principal.LoggedIn, in, Member{}, principal.IfMember},
		{"an administrator of another tenant, an item of its own tenant", reading(farAdm, principal.Public, false, true),
			"c:far:a", principal.Private, in, Member{}, principal.IfMember},
		{"of another tenant, a PUBLIC item", reading(fay, principal.Public, false, false), "c:acme:a", principal.Public, in,
			Member{}, principal.Granted},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := &ContentRows{Members: []Member{c.owner, c.own}}
			rows.Header = Header{Content: Content{ID: c.id, Visibility: c.visibility}, State: commit.Live}
			if got := c.r.access(rows, now); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
			at := now
			rows.Header.ExpiresAt = &at
			if got := c.r.access(rows, now); got != principal.Denied {
				t.Errorf("once expired: %d, want Denied", got)
			}
		})
	}
}
