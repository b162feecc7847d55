package nemesis

import (
	"context"
	"slices"
	"testing"

	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/principal"
)

var groups = subject{table: "principal", prefix: "g:acme:", make: createGroup, look: (*fixture).lookAtGroup,
	before: seen{Version: 1, Title: "before", Visibility: principal.Public, Members: []string{string(first), string(owner)}}}

// groupOperations are mutations of groups. They are decided in another table, and are
// applied to the list of groups of each member and to the directory of names.
var groupOperations = []operation{
	{name: "create a group", of: &groups, steps: []step{stepRead, stepList, stepDecide, stepApply}, do: makeGroup,
		creates: true, joins: true, changes: func(s *seen) { s.Members = []string{string(owner)} }},
	{name: "add a member", of: &groups, steps: []step{stepRead, stepList, stepDecide, stepApply}, joins: true,
		do: func(ctx context.Context, s *services, id string, key *string) error {
			return setMember(ctx, s, id, second, principal.GroupMember, key)
		}, changes: func(s *seen) { s.Members = []string{string(first), string(owner), string(second)} }},
	{name: "take a member out", of: &groups, steps: []step{stepList, stepDecide, stepApply, stepCleanUp},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			return setMember(ctx, s, id, first, principal.NotInGroup, key)
		}, changes: func(s *seen) { s.Members = []string{string(owner)} }},
	{name: "hide", of: &groups, steps: []step{stepRead, stepList, stepDecide, stepApply},
		do: func(ctx context.Context, s *services, id string, key *string) error {
			private := principal.Private
			_, err := s.People.UpdateGroup(ctx, ownerViewer(), principal.UpdateGroup{ID: id, Visibility: input.Some(&private), IdempotencyKey: key})
			return err
		}, changes: func(s *seen) { s.Visibility = principal.Private }},
}

func makeGroup(ctx context.Context, s *services, id string, key *string) error {
	group := principal.ID(id)
	_, err := s.People.CreateGroup(ctx, ownerViewer(), principal.CreateGroup{Tenant: group.Tenant(), Name: group.Name(), DisplayName: "before",
		Visibility: principal.Public, IdempotencyKey: key})
	return err
}

// createGroup creates a group with two members.
func createGroup(ctx context.Context, s *services, id string, key *string) error {
	if err := makeGroup(ctx, s, id, key); err != nil {
		return err
	}
	return setMember(ctx, s, id, first, principal.GroupMember, nil)
}

func setMember(ctx context.Context, s *services, group string, member principal.ID, role principal.GroupRole, key *string) error {
	change := principal.GroupMemberChange{Principal: string(member)}
	if role != principal.NotInGroup {
		change.Role = &role
	}
	_, err := s.People.SetGroupMembers(ctx, ownerViewer(),
		principal.SetGroupMembers{Group: group, Members: []principal.GroupMemberChange{change}, IdempotencyKey: key})
	return err
}

// lookAtGroup reads a group from its own rows, and from those of its members.
func (r *fixture) lookAtGroup(t *testing.T, name string) seen {
	t.Helper()
	v, id := ownerViewer(), principal.ID(name)
	found, err := r.healthy.service.People.Principals(t.Context(), v, []principal.ID{id})
	if err != nil {
		t.Fatal(err)
	}
	if found[0] == nil {
		return seen{}
	}
	members, err := r.healthy.service.People.GroupMembers(t.Context(), v, id, cursor.PageArgs{})
	if err != nil {
		t.Fatal(err)
	}
	h := found[0].Head()
	s := seen{Version: 1, Title: h.DisplayName, Visibility: h.Visibility}
	for _, m := range members.Edges {
		s.Members = append(s.Members, string(m.Node.PrincipalID()))
	}
	slices.Sort(s.Members)
	return s
}
