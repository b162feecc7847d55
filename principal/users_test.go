package principal_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

func TestCreateUser_StoresAValidUser(t *testing.T) {
	valid := principal.CreateUser{Tenant: "acme", Name: "bob", DisplayName: "Bob", Email: "Bob@Example.com", Visibility: principal.Public}
	with := func(change func(*principal.CreateUser)) principal.CreateUser {
		in := valid
		change(&in)
		return in
	}
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		in     principal.CreateUser
		want   []string
	}{
		{"itself", domaintest.As("u:acme:bob"), valid, nil},
		{"itself, in upper case", domaintest.As("u:acme:bob"), with(func(in *principal.CreateUser) { in.Tenant, in.Name = "ACME", "BOB" }), nil},
		{"an administrator without a stored user", domaintest.Admin("u:acme:root"), valid, nil},
		{"a global administrator of another tenant", domaintest.Global("u:other:root"), valid, nil},
		{"PRIVATE", domaintest.As("u:acme:bob"), with(func(in *principal.CreateUser) { in.Visibility = principal.Private }), nil},
		{"anonymous", domaintest.As(""), valid, []string{"UNAUTHENTICATED"}},
		{"anonymous, and malformed", domaintest.As(""), principal.CreateUser{}, []string{"UNAUTHENTICATED"}},
		{"a token that names another and does not exist", domaintest.As("u:acme:eve"), valid, []string{"FORBIDDEN"}},
		{"a stored user that names another", domaintest.As("u:acme:ann"), valid, []string{"FORBIDDEN"}},
		{"an administrator of another tenant", domaintest.Admin("u:other:root"), valid, []string{"FORBIDDEN"}},
		{"a name that is taken", domaintest.Admin("u:acme:root"), with(func(in *principal.CreateUser) { in.Name = "Ann" }),
			[]string{"TAKEN name"}},
		{"itself a second time", domaintest.As("u:acme:ann"), with(func(in *principal.CreateUser) { in.Name = "ann" }), []string{"TAKEN name"}},
		{"taken, but not revealed", domaintest.As("u:acme:eve"), with(func(in *principal.CreateUser) { in.Name = "ann" }), []string{"FORBIDDEN"}},
		{"all faults at once", domaintest.As("u:acme:bob"), principal.CreateUser{Tenant: "a b", Name: "", DisplayName: " ",
			Email: "x", Visibility: 7, IdempotencyKey: domaintest.Ptr("")},
			[]string{"INVALID tenant", "INVALID name", "INVALID displayName", "INVALID email", "INVALID visibility", "INVALID idempotencyKey"}},
		{"shape before rights", domaintest.As("u:acme:eve"), with(func(in *principal.CreateUser) { in.Email = "x" }), []string{"INVALID email"}},
		{"a colon in the tenant", domaintest.As("u:acme:bob"), with(func(in *principal.CreateUser) { in.Tenant = "acme:bob" }),
			[]string{"INVALID tenant"}},
		{"a colon in the name", domaintest.As("u:acme:bob"), with(func(in *principal.CreateUser) { in.Name = "bob:x" }),
			[]string{"INVALID name"}},
		{"a name that is too long", domaintest.As("u:acme:bob"), with(func(in *principal.CreateUser) { in.Name = strings.Repeat("b", 129) }),
			[]string{"INVALID name"}},
		{"a tenant that is too long", domaintest.As("u:acme:bob"), with(func(in *principal.CreateUser) { in.Tenant = strings.Repeat("b", 33) }),
			[]string{"INVALID tenant"}},
		{"a long display name", domaintest.As("u:acme:bob"), with(func(in *principal.CreateUser) { in.DisplayName = strings.Repeat("b", 201) }),
			[]string{"INVALID displayName"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := domaintest.New(t, nil)
			h.User("u:acme:ann", principal.Public)
			got, err := h.People.CreateUser(t.Context(), c.viewer, c.in)
			domaintest.WantFaults(t, err, c.want...)
			if c.want != nil {
				if stored := h.Header("u:acme:bob"); got != nil || stored.State != commit.Absent {
					t.Fatalf("refused, but there is %+v, %+v", got, stored)
				}
				return
			}
			want := principal.Header{
				ID: "u:acme:bob", DisplayName: "Bob", Visibility: c.in.Visibility, Email: "bob@example.com", State: commit.Live, Seq: 1,
			}
			ignore := cmpopts.IgnoreFields(principal.Header{}, "MTS", "CreatedAt", "Writers")
			if diff := cmp.Diff(want, got.Header, ignore); diff != "" {
				t.Errorf("answered (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, h.Header("u:acme:bob"), ignore); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if got.CreatedAt == 0 || got.CreatedAt != h.Header("u:acme:bob").CreatedAt {
				t.Errorf("createdAt is answered as %s", got.CreatedAt)
			}
			if built, err := h.Store.Libraries.Built(t.Context(), "u:acme:bob", library.ByChange); err != nil || !built {
				t.Errorf("the new user's library counts as missing: %v", err)
			}
			h.WantNothingInFlight()
		})
	}
}

func TestMutations_TokenWithoutAUserIsRefused(t *testing.T) {
	h := domaintest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	h.Group("g:acme:staff", "u:acme:ann", principal.Public)
	eve := func() *principal.Viewer { return domaintest.As("u:acme:eve") }
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"createUser of another", func() error {
			_, err := h.People.CreateUser(t.Context(), eve(), principal.CreateUser{Tenant: "acme", Name: "x", DisplayName: "x",
				Email: "x@example.com", Visibility: principal.Public})
			return err
		}},
		{"updateUser of itself", func() error {
			_, err := h.People.UpdateUser(t.Context(), eve(), principal.UpdateUser{ID: "u:acme:eve", DisplayName: input.Some(domaintest.Ptr("x"))})
			return err
		}},
		{"updateUser of another", func() error {
			_, err := h.People.UpdateUser(t.Context(), eve(), principal.UpdateUser{ID: "u:acme:ann", DisplayName: input.Some(domaintest.Ptr("x"))})
			return err
		}},
		{"createGroup", func() error {
			_, err := h.People.CreateGroup(t.Context(), eve(), principal.CreateGroup{Tenant: "acme", Name: "x", DisplayName: "x",
				Visibility: principal.Public})
			return err
		}},
		{"createGroup as an administrator", func() error {
			_, err := h.People.CreateGroup(t.Context(), domaintest.Global("u:acme:eve"),
				principal.CreateGroup{Tenant: "acme", Name: "x", DisplayName: "x", Visibility: principal.Public})
			return err
		}},
		{"updateGroup", func() error {
			_, err := h.People.UpdateGroup(t.Context(), eve(), principal.UpdateGroup{ID: "g:acme:staff",
				DisplayName: input.Some(domaintest.Ptr("x"))})
			return err
		}},
		{"updateGroup as an administrator of another tenant", func() error {
			_, err := h.People.UpdateGroup(t.Context(), domaintest.Admin("u:other:eve"),
				principal.UpdateGroup{ID: "g:acme:staff", DisplayName: input.Some(domaintest.Ptr("x"))})
			return err
		}},
		{"setGroupMembers", func() error {
			_, err := h.Set(eve(), "g:acme:staff", "u:acme:eve=")
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.call()
			if fault.CodeOf(err) != fault.Forbidden {
				t.Fatalf("want FORBIDDEN, got %v", err)
			}
			if !strings.Contains(err.Error(), "eve does not exist yet") {
				t.Errorf("the message does not say why: %v", err)
			}
		})
	}
}

func TestUpdateUser_ChangesTheGivenFields(t *testing.T) {
	name := input.Some(domaintest.Ptr("Robert"))
	for _, c := range []struct {
		name   string
		viewer *principal.Viewer
		in     principal.UpdateUser
		want   []string
	}{
		{"itself", domaintest.As("u:acme:bob"), principal.UpdateUser{ID: "u:acme:bob", DisplayName: name}, nil},
		{"itself, in mixed case", domaintest.As("u:acme:bob"), principal.UpdateUser{ID: "U:ACME:Bob", DisplayName: name}, nil},
		{"all fields", domaintest.As("u:acme:bob"), principal.UpdateUser{ID: "u:acme:bob", DisplayName: name,
			Email: input.Some(domaintest.Ptr(" R@Example.org ")), Visibility: input.Some(domaintest.Ptr(principal.Private))}, nil},
		{"an administrator", domaintest.Admin("u:acme:root"), principal.UpdateUser{ID: "u:acme:bob", DisplayName: name}, nil},
		{"a global administrator", domaintest.Global("u:other:root"), principal.UpdateUser{ID: "u:acme:bob", DisplayName: name}, nil},
		{"an administrator, of a PRIVATE one", domaintest.Admin("u:acme:root"), principal.UpdateUser{ID: "u:acme:hid", DisplayName: name}, nil},
		{"anonymous", domaintest.As(""), principal.UpdateUser{ID: "u:acme:bob", DisplayName: name}, []string{"UNAUTHENTICATED"}},
		{"another one that it sees", domaintest.As("u:acme:ann"), principal.UpdateUser{ID: "u:acme:bob", DisplayName: name},
			[]string{"FORBIDDEN id"}},
		{"another one that it does not see", domaintest.As("u:acme:ann"), principal.UpdateUser{ID: "u:acme:hid", DisplayName: name},
			[]string{"NOT_FOUND id"}},
		{"one that does not exist", domaintest.As("u:acme:ann"), principal.UpdateUser{ID: "u:acme:nobody", DisplayName: name},
			[]string{"NOT_FOUND id"}},
		{"one that does not exist, by an administrator", domaintest.Admin("u:acme:root"),
			principal.UpdateUser{ID: "u:acme:nobody", DisplayName: name}, []string{"NOT_FOUND id"}},
		{"a group", domaintest.Admin("u:acme:root"), principal.UpdateUser{ID: "g:acme:bob", DisplayName: name}, []string{"INVALID id"}},
		{"a content", domaintest.Admin("u:acme:root"), principal.UpdateUser{ID: "c:acme:bob", DisplayName: name}, []string{"INVALID id"}},
		{"nothing to change", domaintest.As("u:acme:bob"), principal.UpdateUser{ID: "u:acme:bob"}, []string{"INVALID"}},
		{"nulls", domaintest.As("u:acme:bob"), principal.UpdateUser{ID: "u:acme:bob", DisplayName: input.Some[*string](nil),
			Email: input.Some[*string](nil), Visibility: input.Some[*principal.Visibility](nil)},
			[]string{"INVALID displayName", "INVALID visibility", "INVALID email"}},
		{"all faults", domaintest.As("u:acme:bob"), principal.UpdateUser{ID: "bob", DisplayName: input.Some(domaintest.Ptr("")),
			Email: input.Some(domaintest.Ptr("x")), Visibility: input.Some(domaintest.Ptr(principal.Visibility(9))),
			IdempotencyKey: domaintest.Ptr("")},
			[]string{"INVALID id", "INVALID displayName", "INVALID visibility", "INVALID email", "INVALID idempotencyKey"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := domaintest.New(t, nil)
			h.User("u:acme:ann", principal.Public)
			h.User("u:acme:bob", principal.Public)
			h.User("u:acme:hid", principal.Private)
			before := h.Header("u:acme:bob")
			got, err := h.People.UpdateUser(t.Context(), c.viewer, c.in)
			domaintest.WantFaults(t, err, c.want...)
			if c.want != nil {
				if diff := cmp.Diff(before, h.Header("u:acme:bob")); got != nil || diff != "" {
					t.Fatalf("refused, but answered %+v and changed:\n%s", got, diff)
				}
				return
			}
			stored := h.Header(string(got.ID))
			if got.DisplayName != "Robert" || stored.DisplayName != "Robert" || stored.Seq != 2 || stored.CreatedAt != got.CreatedAt {
				t.Errorf("answered %+v, stored %+v", got, stored)
			}
			if c.in.Email.Set && (stored.Email != "r@example.org" || stored.Visibility != principal.Private) {
				t.Errorf("stored %+v", stored)
			}
		})
	}
}

func TestUpdateUser_WithoutAChangeWritesNothing(t *testing.T) {
	h := domaintest.New(t, nil)
	h.User("u:acme:bob", principal.Public)
	before := h.Header("u:acme:bob")
	_, err := h.People.UpdateUser(t.Context(), domaintest.As("u:acme:bob"), principal.UpdateUser{
		ID: "u:acme:bob", DisplayName: input.Some(domaintest.Ptr("bob")),
		Email:      input.Some(domaintest.Ptr(strings.ToUpper(domaintest.EmailOf("u:acme:bob")))),
		Visibility: input.Some(domaintest.Ptr(principal.Public)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, h.Header("u:acme:bob")); diff != "" {
		t.Errorf("the header has changed:\n%s", diff)
	}
}

// TestEmail_ImportedUserMayHaveNone checks that an imported user may have no address.
func TestEmail_ImportedUserMayHaveNone(t *testing.T) {
	h := domaintest.New(t, nil)
	if _, err := h.People.Upkeep.ImportUser(t.Context(), principal.ImportUser{ID: "u:acme:ann", DisplayName: "ann",
		Visibility: principal.Public}); err != nil {
		t.Fatal(err)
	}
	u, err := h.People.ViewerUser(t.Context(), domaintest.As("u:acme:ann"))
	if err != nil {
		t.Fatal(err)
	}
	if email := h.People.Email(domaintest.As("u:acme:ann"), u); email != nil {
		t.Errorf("the address is %q, want none", *email)
	}
}
