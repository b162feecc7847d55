package domaintest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/cursor"
	"carrel/domain"
	"carrel/principal"
)

// Town returns a Fixture with users of two tenants: ann, ben, cleo and dora of acme, hid
// of acme, who is PRIVATE, zed of beta; and the group team of acme, which cleo manages.
func Town(t *testing.T) *Fixture {
	h := New(t, nil)
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:cleo", "u:acme:dora", "u:beta:zed"} {
		h.User(id, principal.Public)
	}
	h.User("u:acme:hid", principal.Private)
	h.Group("g:acme:team", "u:acme:cleo", principal.Public)
	return h
}

// Staff returns a Fixture with the group staff of tenant acme, and other users and groups.
// The manager of staff is ann, its members are bob and the group crew, which cat manages.
func Staff(t *testing.T, wrap func(*domain.Store)) *Fixture {
	h := New(t, wrap)
	for _, u := range []string{"u:acme:ann", "u:acme:bob", "u:acme:cat", "u:acme:dan"} {
		h.User(u, principal.Public)
	}
	h.User("u:acme:hid", principal.Private)
	h.User("u:other:far", principal.LoggedIn)
	h.User("u:other:pub", principal.Public)
	h.Group("g:acme:crew", "u:acme:cat", principal.Public)
	h.Group("g:acme:secret", "u:acme:dan", principal.Private)
	h.Group("g:acme:staff", "u:acme:ann", principal.Public)
	h.MustSet(As("u:acme:ann"), "g:acme:staff", "u:acme:bob=MEMBER", "g:acme:crew=MEMBER")
	return h
}

// EmailOf returns an e-mail address that no other user of a test has.
func EmailOf(p principal.ID) string {
	sum := sha256.Sum256([]byte(p))
	return fmt.Sprintf("%x@example.com", sum[:8])
}

// UserNamed creates a user with a display name, as that user.
func (h *Fixture) UserNamed(id, name string, visibility principal.Visibility) {
	h.T.Helper()
	p := principal.ID(id)
	_, err := h.People.CreateUser(h.T.Context(), As(id), principal.CreateUser{
		Tenant: p.Tenant(), Name: p.Name(), DisplayName: name, Email: EmailOf(p), Visibility: visibility,
	})
	h.must(err, "creating %s", id)
}

// User creates a user, as that user, with its name as the display name.
func (h *Fixture) User(id string, visibility principal.Visibility) {
	h.T.Helper()
	h.UserNamed(id, principal.ID(id).Name(), visibility)
}

// Group creates a group as a user, who manages it afterwards.
func (h *Fixture) Group(id, creator string, visibility principal.Visibility) {
	h.T.Helper()
	p := principal.ID(id)
	_, err := h.People.CreateGroup(h.T.Context(), As(creator), principal.CreateGroup{
		Tenant: p.Tenant(), Name: p.Name(), DisplayName: p.Name(), Visibility: visibility,
	})
	h.must(err, "creating %s", id)
}

// Set changes members of a group as v: "u:acme:ann=MANAGER", or "u:acme:bob=" to remove bob.
func (h *Fixture) Set(v *principal.Viewer, group string, changes ...string) (*principal.Group, error) {
	in := principal.SetGroupMembers{Group: group}
	for _, c := range changes {
		in.Members = append(in.Members, GroupMemberChange(c))
	}
	return h.People.SetGroupMembers(h.T.Context(), v, in)
}

// GroupMemberChange parses one change in the format of Set.
func GroupMemberChange(s string) principal.GroupMemberChange {
	id, role, _ := strings.Cut(s, "=")
	c := principal.GroupMemberChange{Principal: id}
	if r, ok := principal.ParseGroupRole(role); ok {
		c.Role = &r
	}
	return c
}

// MustSet calls Set and fails the test if the change is refused.
func (h *Fixture) MustSet(v *principal.Viewer, group string, changes ...string) {
	h.T.Helper()
	_, err := h.Set(v, group, changes...)
	h.must(err, "setting %v in %s", changes, group)
}

// Members reads the members of a group from its own partition, in order of id, and checks
// that the header counts them correctly.
func (h *Fixture) Members(group string) []string {
	h.T.Helper()
	rows, err := h.Store.Principals.GroupMembersPage(h.T.Context(), principal.ID(group), "", 1000, true)
	h.must(err, "reading the members of %s", group)
	var all []string
	managers, members := 0, 0
	for _, m := range rows.Members {
		if !m.Active() {
			all = append(all, string(m.Principal)+" leaving")
			continue
		}
		members++
		if m.Role == principal.GroupManager {
			managers++
		}
		all = append(all, fmt.Sprintf("%s=%s", m.Principal, m.Role))
	}
	if rows.Header.Members != members || rows.Header.Managers != managers {
		h.T.Errorf("the header of %s counts %d members and %d managers, there are %d and %d",
			group, rows.Header.Members, rows.Header.Managers, members, managers)
	}
	return all
}

// Memberships reads the groups of a principal from the reverse index.
func (h *Fixture) Memberships(p string) []string {
	h.T.Helper()
	ms, err := h.Store.Principals.Memberships(h.T.Context(), principal.ID(p), "", 1000)
	h.must(err, "reading the memberships of %s", p)
	var all []string
	for _, m := range ms {
		all = append(all, fmt.Sprintf("%s=%s", m.Group, m.Role))
	}
	return all
}

// Header reads the header of a user or a group.
func (h *Fixture) Header(id string) principal.Header {
	h.T.Helper()
	rows, err := h.Store.Principals.ReadPrincipal(h.T.Context(), principal.ID(id), principal.Query{Serial: true})
	h.must(err, "reading %s", id)
	return rows.Header
}

// Find returns the ids of the principals that v finds by a prefix, in order.
func (h *Fixture) Find(v *principal.Viewer, tenant, prefix string) []string {
	h.T.Helper()
	c, err := h.People.FindPrincipals(h.T.Context(), v, principal.Search{Tenant: tenant, Prefix: &prefix})
	h.must(err, "finding %q", prefix)
	var ids []string
	for _, p := range c.Nodes() {
		ids = append(ids, string(p.PrincipalID()))
	}
	return ids
}

// WantFound compares the principals that v finds by a prefix in tenant acme. An id without a colon
// is the name of a user.
func (h *Fixture) WantFound(v *principal.Viewer, prefix string, want ...string) {
	h.T.Helper()
	for i, w := range want {
		if !strings.Contains(w, ":") {
			want[i] = "u:acme:" + w
		}
	}
	if diff := cmp.Diff(want, h.Find(v, "acme", prefix)); diff != "" {
		h.T.Errorf("%q (-want +got):\n%s", prefix, diff)
	}
}

// Search returns a function that reads a page of the principals with a prefix.
func Search(svc *domain.Services, tenant string, prefix *string) func(ctx context.Context, v *principal.Viewer,
	args cursor.PageArgs) (*principal.Connection, error) {
	return func(ctx context.Context, v *principal.Viewer, args cursor.PageArgs) (*principal.Connection, error) {
		return svc.People.FindPrincipals(ctx, v, principal.Search{PageArgs: args, Tenant: tenant, Prefix: prefix})
	}
}

// WalkFound reads all pages of the principals with a prefix, and checks the flags of each page.
func (h *Fixture) WalkFound(viewer func() *principal.Viewer, prefix string, size int) []principal.ID {
	h.T.Helper()
	var all []principal.ID
	var from *string
	for range 100 {
		c, err := Search(h.Services, "acme", &prefix)(h.T.Context(), viewer(), cursor.PageArgs{First: &size, After: from})
		if err != nil {
			h.T.Fatal(err)
		}
		if c.PageInfo.HasPreviousPage != (len(all) > 0) {
			h.T.Errorf("hasPreviousPage is %t after %d", c.PageInfo.HasPreviousPage, len(all))
		}
		for _, e := range c.Edges {
			if slices.Contains(all, e.Node.PrincipalID()) {
				h.T.Errorf("%s is listed twice", e.Node.PrincipalID())
			}
			all = append(all, e.Node.PrincipalID())
		}
		if !c.PageInfo.HasNextPage {
			return all
		}
		if len(c.Edges) != size {
			h.T.Errorf("a page of %d has %d and says that there are more", size, len(c.Edges))
		}
		from = c.PageInfo.EndCursor()
	}
	h.T.Fatal("the walk does not end")
	return nil
}
