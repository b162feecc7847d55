package library

import (
	"context"

	"carrel/core/cursor"
	"carrel/core/sched"
	"carrel/principal"
)

// Bounded returns an API whose queries fail with UNAVAILABLE if the store does not answer in
// time. Mutations have time limits of their own.
func Bounded(api API, rt sched.Runtime) API { return &bounded{api, rt} }

type bounded struct {
	API
	rt sched.Runtime
}

// Follow implements API. Only its start has a time limit: the next event may take any time.
func (b *bounded) Follow(ctx context.Context, v *principal.Viewer, owner string, after *string) (Subscription, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) (Subscription, error) { return b.API.Follow(ctx, v, owner, after) })
}

// ViewerUser implements API.
func (b *bounded) ViewerUser(ctx context.Context, v *principal.Viewer) (*principal.User, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) (*principal.User, error) { return b.API.ViewerUser(ctx, v) })
}

// Nodes implements API.
func (b *bounded) Nodes(ctx context.Context, v *principal.Viewer, ids []string) ([]Node, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) ([]Node, error) { return b.API.Nodes(ctx, v, ids) })
}

// Principals implements API.
func (b *bounded) Principals(ctx context.Context, v *principal.Viewer, ids []principal.ID) ([]principal.Principal, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) ([]principal.Principal, error) { return b.API.Principals(ctx, v, ids) })
}

// ContentByURL implements API.
func (b *bounded) ContentByURL(ctx context.Context, v *principal.Viewer, url string, tenant *string) (*Content, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) (*Content, error) { return b.API.ContentByURL(ctx, v, url, tenant) })
}

// Contents implements API.
func (b *bounded) Contents(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]*Content, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) ([]*Content, error) { return b.API.Contents(ctx, v, ids) })
}

// PermissionsOf implements API.
func (b *bounded) PermissionsOf(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]*Permissions, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) ([]*Permissions, error) { return b.API.PermissionsOf(ctx, v, ids) })
}

// GroupRoleOf implements API.
func (b *bounded) GroupRoleOf(ctx context.Context, v *principal.Viewer, group principal.ID) (principal.GroupRole, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) (principal.GroupRole, error) { return b.API.GroupRoleOf(ctx, v, group) })
}

// Library implements API.
func (b *bounded) Library(ctx context.Context, v *principal.Viewer, owner principal.ID, q LibraryQuery) (*LibraryConnection, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) (*LibraryConnection, error) { return b.API.Library(ctx, v, owner, q) })
}

// LibraryCount implements API.
func (b *bounded) LibraryCount(ctx context.Context, c *LibraryConnection) (Count, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) (Count, error) { return b.API.LibraryCount(ctx, c) })
}

// Members implements API.
func (b *bounded) Members(ctx context.Context, v *principal.Viewer, id ContentID, page cursor.PageArgs) (*ContentMemberConnection, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) (*ContentMemberConnection, error) { return b.API.Members(ctx, v, id, page) })
}

// GroupMembers implements API.
func (b *bounded) GroupMembers(ctx context.Context, v *principal.Viewer, group principal.ID, page cursor.PageArgs) (*principal.GroupMemberConnection, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) (*principal.GroupMemberConnection, error) {
		return b.API.GroupMembers(ctx, v, group, page)
	})
}

// Groups implements API.
func (b *bounded) Groups(ctx context.Context, v *principal.Viewer, user principal.ID, page cursor.PageArgs) (*principal.GroupConnection, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) (*principal.GroupConnection, error) { return b.API.Groups(ctx, v, user, page) })
}

// LatestContent implements API.
func (b *bounded) LatestContent(ctx context.Context, v *principal.Viewer, tenant string, page cursor.PageArgs) (*FeedConnection, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) (*FeedConnection, error) { return b.API.LatestContent(ctx, v, tenant, page) })
}

// FindPrincipals implements API.
func (b *bounded) FindPrincipals(ctx context.Context, v *principal.Viewer, q principal.Search) (*principal.Connection, error) {
	return sched.InTime(ctx, b.rt, func(ctx context.Context) (*principal.Connection, error) { return b.API.FindPrincipals(ctx, v, q) })
}
