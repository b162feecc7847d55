package resolvers

import (
	"context"

	"carrel/core/cursor"
	"carrel/graph"
	"carrel/library"
	"carrel/principal"
)

// Email returns the user's email address, or nil if the viewer may not read it.
func (r users) Email(ctx context.Context, u *principal.User) (*string, error) {
	return r.Root.People.Email(viewer(ctx), u), nil
}

// Library returns a page of the user's library. Its arguments are in the PageRequest of the field.
func (r users) Library(ctx context.Context, u *principal.User, _ *int, _ *string, _ *int, _ *string, _ *graph.LibraryOrder,
	_ *bool, _ *library.LibraryFilter) (*library.LibraryConnection, error) {
	return r.page(ctx, u.ID)
}

// Groups returns a page of the groups that the user is a member of.
func (r users) Groups(ctx context.Context, u *principal.User, first *int, after *string) (*principal.GroupConnection, error) {
	return orEmpty(r.Root.People.Groups(ctx, viewer(ctx), u.ID, cursor.PageArgs{First: first, After: after}))
}

// Library returns a page of the group's library. Its arguments are in the PageRequest of the field.
func (r groups) Library(ctx context.Context, g *principal.Group, _ *int, _ *string, _ *int, _ *string, _ *graph.LibraryOrder,
	_ *bool, _ *library.LibraryFilter) (*library.LibraryConnection, error) {
	return r.page(ctx, g.ID)
}

// Members returns a page of the group's members.
func (r groups) Members(ctx context.Context, g *principal.Group, first *int, after *string) (*principal.GroupMemberConnection, error) {
	return orEmpty(r.Root.People.GroupMembers(ctx, viewer(ctx), g.ID, cursor.PageArgs{First: first, After: after}))
}

// ViewerRole returns the viewer's role in the group, or nil if the viewer is not a member.
func (r groups) ViewerRole(ctx context.Context, g *principal.Group) (*principal.GroupRole, error) {
	role, err := r.Root.People.GroupRoleOf(ctx, viewer(ctx), g.ID)
	if err != nil || role == principal.NotInGroup {
		return nil, err
	}
	return &role, nil
}
