package resolvers

import (
	"context"

	"carrel/core/cursor"
	"carrel/library"
	"carrel/principal"
)

// CreatedBy returns the creator, or nil if the viewer may not see the creator.
func (r contents) CreatedBy(ctx context.Context, c *library.Content) (*principal.User, error) {
	return creator(ctx, c)
}

// Members returns a page of the item's members.
func (r contents) Members(ctx context.Context, c *library.Content, first *int, after *string) (*library.ContentMemberConnection, error) {
	return r.Library.Members(ctx, viewer(ctx), c.ID, cursor.PageArgs{First: first, After: after})
}

// ViewerRole returns the viewer's role on the item, or nil if the viewer has none.
func (r contents) ViewerRole(ctx context.Context, c *library.Content) (*library.ContentRole, error) {
	s, err := permissions(ctx, c)
	if err != nil || s.Role == library.NoRole {
		return nil, err
	}
	return &s.Role, nil
}

// ViewerCanShare reports whether the viewer may share the item.
func (r contents) ViewerCanShare(ctx context.Context, c *library.Content) (bool, error) {
	s, err := permissions(ctx, c)
	return err == nil && s.CanShare, err
}

// ViewerCanEdit reports whether the viewer may change title, description and link.
func (r contents) ViewerCanEdit(ctx context.Context, c *library.Content) (bool, error) {
	s, err := permissions(ctx, c)
	return err == nil && s.CanEdit, err
}

// ViewerCanManage reports whether the viewer may change everything of the item.
func (r contents) ViewerCanManage(ctx context.Context, c *library.Content) (bool, error) {
	s, err := permissions(ctx, c)
	return err == nil && s.CanManage, err
}

// ViewerCanDelete reports whether the viewer may delete the item.
func (r contents) ViewerCanDelete(ctx context.Context, c *library.Content) (bool, error) {
	s, err := permissions(ctx, c)
	return err == nil && s.CanDelete(), err
}

// permissions returns the viewer's permissions on an item. It never returns nil without an error:
// if the item has just become invisible, the viewer has no permissions on it.
func permissions(ctx context.Context, c *library.Content) (*library.Permissions, error) {
	s, err := loaders(ctx).Permissions.Load(ctx, c.ID)
	if err == nil && s == nil {
		s = &library.Permissions{}
	}
	return s, err
}
