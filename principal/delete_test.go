package principal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/commit"
	"carrel/domain/domaintest"
	"carrel/principal"
)

func deleteUser(h *domaintest.Fixture, v *principal.Viewer, id string) (*principal.Deletion, error) {
	return h.People.DeleteUser(h.T.Context(), v, principal.DeleteUser{ID: id})
}

func deleteGroup(h *domaintest.Fixture, v *principal.Viewer, id string) (*principal.Deletion, error) {
	return h.People.DeleteGroup(h.T.Context(), v, principal.DeleteGroup{ID: id})
}

// TestDeleteUser_InvalidRequestsAreRefused lists the cases in the order of the checks.
func TestDeleteUser_InvalidRequestsAreRefused(t *testing.T) {
	h := domaintest.Staff(t, nil)
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		id     string
		want   []string
	}{
		{"anonymous", &principal.Viewer{}, "u:acme:ann", []string{"UNAUTHENTICATED"}},
		{"malformed", domaintest.As("u:acme:ann"), "ann", []string{"INVALID id"}},
		{"a group", domaintest.As("u:acme:ann"), "g:acme:staff", []string{"INVALID id"}},
		{"a token without a user", domaintest.As("u:acme:ghost"), "u:acme:none", []string{"FORBIDDEN"}},
		{"a token for a user that does not exist", domaintest.As("u:acme:ghost"), "u:acme:ghost", []string{"FORBIDDEN"}},
		{"unknown", domaintest.As("u:acme:ann"), "u:acme:none", []string{"NOT_FOUND id"}},
		{"invisible", domaintest.As("u:acme:ann"), "u:acme:hid", []string{"NOT_FOUND id"}},
		{"another user", domaintest.As("u:acme:ann"), "u:acme:bob", []string{"FORBIDDEN id"}},
		{"an administrator of another tenant", &principal.Viewer{User: "u:other:pub", Admin: true}, "u:acme:bob", []string{"FORBIDDEN id"}},
		{"unknown to an administrator", domaintest.Root(), "u:acme:none", []string{"NOT_FOUND id"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := deleteUser(h, c.viewer, c.id)
			domaintest.WantFaults(t, err, c.want...)
			if d != nil {
				t.Errorf("deleted: %+v", d)
			}
		})
	}
	h.WantAudited()
}

// TestDeleteGroup_InvalidRequestsAreRefused lists the cases in the order of the checks.
func TestDeleteGroup_InvalidRequestsAreRefused(t *testing.T) {
	h := domaintest.Staff(t, nil)
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		id     string
		want   []string
	}{
		{"anonymous", &principal.Viewer{}, "g:acme:staff", []string{"UNAUTHENTICATED"}},
		{"a user", domaintest.As("u:acme:ann"), "u:acme:ann", []string{"INVALID id"}},
		{"a token without a user", domaintest.As("u:acme:ghost"), "g:acme:none", []string{"FORBIDDEN"}},
		{"unknown", domaintest.As("u:acme:ann"), "g:acme:none", []string{"NOT_FOUND id"}},
		{"invisible", domaintest.As("u:acme:ann"), "g:acme:secret", []string{"NOT_FOUND id"}},
		{"a member", domaintest.As("u:acme:bob"), "g:acme:staff", []string{"FORBIDDEN id"}},
		{"a manager of a member", domaintest.As("u:acme:cat"), "g:acme:staff", []string{"FORBIDDEN id"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := deleteGroup(h, c.viewer, c.id)
			domaintest.WantFaults(t, err, c.want...)
		})
	}
	h.WantAudited()
}

// TestDeleteUser_LeavesNothing checks that a deleted user has no memberships, no rows in the
// directory, and a header that contains only the deletion.
func TestDeleteUser_LeavesNothing(t *testing.T) {
	for name, viewer := range map[string]*principal.Viewer{"itself": domaintest.As("u:acme:ann"), "an administrator": domaintest.Root()} {
		t.Run(name, func(t *testing.T) {
			h := domaintest.Staff(t, nil)
			d, err := deleteUser(h, viewer, "u:acme:ann")
			if err != nil || d.ID != "u:acme:ann" {
				t.Fatalf("%+v, %v", d, err)
			}
			h.Quiet()
			if diff := cmp.Diff([]string{"g:acme:crew=MEMBER", "u:acme:bob=MEMBER"}, h.Members("g:acme:staff")); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			got := h.Header("u:acme:ann")
			want := principal.Header{ID: "u:acme:ann", State: commit.Deleted, Seq: got.Seq, MTS: got.MTS, Writers: got.Writers}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			h.WantFound(domaintest.As("u:acme:bob"), "ann")
			h.WantAudited()
		})
	}
}

// A deleted administrator changes nothing any more, and loses the rights of an administrator.
func TestDeleteUser_EndsTheRightsOfAnAdministrator(t *testing.T) {
	h := domaintest.Staff(t, nil)
	h.User("u:acme:adm", principal.Public)
	for _, v := range []*principal.Viewer{{User: "u:acme:adm", Admin: true}, {User: "u:acme:adm", GlobalAdmin: true},
		{User: "u:acme:none", Admin: true}} {
		if err := h.People.EndAdmin(t.Context(), v); err != nil || !v.Administers("acme") {
			t.Errorf("before: %t, %v", v.Administers("acme"), err)
		}
	}
	if _, err := deleteUser(h, domaintest.Root(), "u:acme:adm"); err != nil {
		t.Fatal(err)
	}
	for _, v := range []*principal.Viewer{{User: "u:acme:adm", Admin: true}, {User: "u:acme:adm", GlobalAdmin: true}} {
		_, err := deleteUser(h, v, "u:acme:bob")
		domaintest.WantFaults(t, err, "FORBIDDEN")
		_, err = h.People.CreateUser(t.Context(), v, principal.CreateUser{
			Tenant: "acme", Name: "new", DisplayName: "New", Email: "new@acme.example", Visibility: principal.Public,
		})
		domaintest.WantFaults(t, err, "FORBIDDEN")
		if err := h.People.EndAdmin(t.Context(), v); err != nil || v.Administers("acme") {
			t.Errorf("after: %t, %v", v.Administers("acme"), err)
		}
	}
}
