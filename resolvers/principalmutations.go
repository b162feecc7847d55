package resolvers

import (
	"context"

	"carrel/graph"
	"carrel/library"
	"carrel/principal"
)

// CreateUser creates a user.
func (m mutations) CreateUser(ctx context.Context, in graph.CreateUserInput) (*graph.CreateUserPayload, error) {
	user, err := m.People.CreateUser(ctx, m.begin(ctx), principal.CreateUser{
		Tenant: in.Tenant, Name: in.Name, DisplayName: in.DisplayName, Email: in.Email,
		Visibility: given(in.Visibility), IdempotencyKey: in.IdempotencyKey,
	})
	faults, err := userErrors(ctx, err)
	return &graph.CreateUserPayload{User: user, UserErrors: faults, ClientMutationID: in.ClientMutationID}, err
}

// UpdateUser changes a user.
func (m mutations) UpdateUser(ctx context.Context, in graph.UpdateUserInput) (*graph.UpdateUserPayload, error) {
	user, err := m.People.UpdateUser(ctx, m.begin(ctx), principal.UpdateUser{
		ID: in.ID, DisplayName: optional(in.DisplayName), Email: optional(in.Email),
		Visibility: optional(in.Visibility), IdempotencyKey: in.IdempotencyKey,
	})
	faults, err := userErrors(ctx, err)
	return &graph.UpdateUserPayload{User: user, UserErrors: faults, ClientMutationID: in.ClientMutationID}, err
}

// CreateGroup creates a group.
func (m mutations) CreateGroup(ctx context.Context, in graph.CreateGroupInput) (*graph.CreateGroupPayload, error) {
	group, err := m.People.CreateGroup(ctx, m.begin(ctx), principal.CreateGroup{
		Tenant: in.Tenant, Name: in.Name, DisplayName: in.DisplayName,
		Visibility: given(in.Visibility), IdempotencyKey: in.IdempotencyKey,
	})
	faults, err := userErrors(ctx, err)
	return &graph.CreateGroupPayload{Group: group, UserErrors: faults, ClientMutationID: in.ClientMutationID}, err
}

// UpdateGroup changes a group.
func (m mutations) UpdateGroup(ctx context.Context, in graph.UpdateGroupInput) (*graph.UpdateGroupPayload, error) {
	group, err := m.People.UpdateGroup(ctx, m.begin(ctx), principal.UpdateGroup{
		ID: in.ID, DisplayName: optional(in.DisplayName),
		Visibility: optional(in.Visibility), IdempotencyKey: in.IdempotencyKey,
	})
	faults, err := userErrors(ctx, err)
	return &graph.UpdateGroupPayload{Group: group, UserErrors: faults, ClientMutationID: in.ClientMutationID}, err
}

// SetGroupMembers changes the members of a group.
func (m mutations) SetGroupMembers(ctx context.Context, in graph.SetGroupMembersInput) (*graph.SetGroupMembersPayload, error) {
	group, err := m.People.SetGroupMembers(ctx, m.begin(ctx), principal.SetGroupMembers{
		Group: in.GroupID, Members: in.Members, IdempotencyKey: in.IdempotencyKey,
	})
	faults, err := userErrors(ctx, err)
	return &graph.SetGroupMembersPayload{Group: group, UserErrors: faults, ClientMutationID: in.ClientMutationID}, err
}

// DeleteUser deletes a user permanently.
func (m mutations) DeleteUser(ctx context.Context, in graph.DeleteUserInput) (*graph.DeleteUserPayload, error) {
	deletion, err := m.People.DeleteUser(ctx, m.begin(ctx), principal.DeleteUser{ID: in.ID, IdempotencyKey: in.IdempotencyKey})
	faults, err := userErrors(ctx, err)
	payload := &graph.DeleteUserPayload{UserErrors: faults, ClientMutationID: in.ClientMutationID}
	payload.DeletedUserID, payload.FanOut = deleted(ctx, deletion)
	return payload, err
}

// DeleteGroup deletes a group permanently.
func (m mutations) DeleteGroup(ctx context.Context, in graph.DeleteGroupInput) (*graph.DeleteGroupPayload, error) {
	deletion, err := m.People.DeleteGroup(ctx, m.begin(ctx), principal.DeleteGroup{ID: in.ID, IdempotencyKey: in.IdempotencyKey})
	faults, err := userErrors(ctx, err)
	payload := &graph.DeleteGroupPayload{UserErrors: faults, ClientMutationID: in.ClientMutationID}
	payload.DeletedGroupID, payload.FanOut = deleted(ctx, deletion)
	return payload, err
}

// deleted returns the payload fields of a deletion, which concerns one library. They are nil if d
// is nil.
func deleted(ctx context.Context, d *principal.Deletion) (*principal.ID, *library.FanOut) {
	if d == nil {
		return nil, nil
	}
	concerns(ctx, 1)
	return &d.ID, &library.FanOut{Complete: d.Complete, Libraries: 1}
}

// RebuildLibrary restores a library from the record of what was shared.
func (m mutations) RebuildLibrary(ctx context.Context, in graph.RebuildLibraryInput) (*graph.RebuildLibraryPayload, error) {
	out, err := m.Repair.RebuildLibrary(ctx, m.begin(ctx), in.PrincipalID)
	faults, err := userErrors(ctx, err)
	payload := &graph.RebuildLibraryPayload{UserErrors: faults, ClientMutationID: in.ClientMutationID}
	if out != nil {
		payload.Principal, payload.Restored, payload.Removed = out.Principal, &out.Restored, &out.Removed
	}
	return payload, err
}
