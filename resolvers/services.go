package resolvers

import (
	"context"

	"carrel/core/cursor"
	"carrel/lease"
	"carrel/library"
	"carrel/library/follow"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
	"carrel/repair"
)

// Services are the Services of the domains.
type Services struct {
	People  People
	Library Items
	Listing Listing
	Feed    *follow.Service
	Repair  *repair.Service
	Notes   *note.Service
	Pastes  *paste.Service
	Leases  *lease.Service
}

// People is what the resolvers call of principal.Service.
type People interface {
	// ViewerUser returns the viewer's own stored user, nil if there is none.
	ViewerUser(ctx context.Context, v *principal.Viewer) (*principal.User, error)
	// Principals returns principals in the order of ids, nil for one that the viewer may not see.
	Principals(ctx context.Context, v *principal.Viewer, ids []principal.ID) ([]principal.Principal, error)
	// Email returns nil if the viewer may not read it.
	Email(v *principal.Viewer, u *principal.User) *string
	// GroupRoleOf returns the viewer's strongest role in the group.
	GroupRoleOf(ctx context.Context, v *principal.Viewer, group principal.ID) (principal.GroupRole, error)
	GroupMembers(ctx context.Context, v *principal.Viewer, group principal.ID, page cursor.PageArgs) (*principal.GroupMemberConnection, error)
	Groups(ctx context.Context, v *principal.Viewer, user principal.ID, page cursor.PageArgs) (*principal.GroupConnection, error)
	// FindPrincipals searches the users and groups of the viewer's tenant. Errors:
	// UNAUTHENTICATED, FORBIDDEN, BAD_USER_INPUT, BAD_CURSOR.
	FindPrincipals(ctx context.Context, v *principal.Viewer, q principal.Search) (*principal.Connection, error)

	CreateUser(ctx context.Context, v *principal.Viewer, in principal.CreateUser) (*principal.User, error)
	UpdateUser(ctx context.Context, v *principal.Viewer, in principal.UpdateUser) (*principal.User, error)
	CreateGroup(ctx context.Context, v *principal.Viewer, in principal.CreateGroup) (*principal.Group, error)
	UpdateGroup(ctx context.Context, v *principal.Viewer, in principal.UpdateGroup) (*principal.Group, error)
	SetGroupMembers(ctx context.Context, v *principal.Viewer, in principal.SetGroupMembers) (*principal.Group, error)
	DeleteUser(ctx context.Context, v *principal.Viewer, in principal.DeleteUser) (*principal.Deletion, error)
	DeleteGroup(ctx context.Context, v *principal.Viewer, in principal.DeleteGroup) (*principal.Deletion, error)
}

// Items is what the resolvers call of library.Service.
type Items interface {
	// LatestContent lists the PUBLIC content of a tenant, the newest first by creation.
	LatestContent(ctx context.Context, v *principal.Viewer, tenant string, page cursor.PageArgs) (*library.FeedConnection, error)
	// Nodes returns nodes in the order of ids, which are at most MaxList; more are
	// BAD_USER_INPUT. A malformed id is nil, at its index.
	Nodes(ctx context.Context, v *principal.Viewer, ids []string) ([]library.Node, error)
	ContentByURL(ctx context.Context, v *principal.Viewer, url string, tenant *string) (*library.Content, error)
	// Contents returns items in the order of ids, nil for one that the viewer may not see.
	Contents(ctx context.Context, v *principal.Viewer, ids []library.ContentID) ([]*library.Content, error)
	// PermissionsOf returns the permissions on items that the viewer sees, in the order of ids.
	PermissionsOf(ctx context.Context, v *principal.Viewer, ids []library.ContentID) ([]*library.Permissions, error)
	Members(ctx context.Context, v *principal.Viewer, id library.ContentID, page cursor.PageArgs) (*library.ContentMemberConnection, error)

	CreateContent(ctx context.Context, v *principal.Viewer, in library.CreateContent) (*library.ContentOutcome, error)
	UpdateContent(ctx context.Context, v *principal.Viewer, in library.UpdateContent) (*library.ContentOutcome, error)
	ShareContent(ctx context.Context, v *principal.Viewer, in library.ShareContent) (*library.ContentOutcome, error)
	SetContentMembers(ctx context.Context, v *principal.Viewer, in library.SetContentMembers) (*library.ContentOutcome, error)
	RemoveFromLibrary(ctx context.Context, v *principal.Viewer, in library.RemoveFromLibrary) (*library.ContentOutcome, error)
	DeleteContent(ctx context.Context, v *principal.Viewer, in library.DeleteContent) (*library.ContentOutcome, error)
	MoveContent(ctx context.Context, v *principal.Viewer, in library.MoveContent) (*library.ContentOutcome, error)
	// ShareContents and DeleteContents change several items, each by itself.
	ShareContents(ctx context.Context, v *principal.Viewer, in library.ShareContents) ([]library.BulkOutcome, error)
	DeleteContents(ctx context.Context, v *principal.Viewer, in library.DeleteContents) ([]library.BulkOutcome, error)
}

// Listing is what the resolvers call of listing.Service.
type Listing interface {
	// Library reads a page. Errors: BAD_USER_INPUT, BAD_CURSOR; UNAVAILABLE while a lost
	// library is being rebuilt.
	Library(ctx context.Context, v *principal.Viewer, owner principal.ID, q library.LibraryQuery) (*library.LibraryConnection, error)
	// Begin begins to read a page, and returns the function that returns it as Library does.
	Begin(ctx context.Context, v *principal.Viewer, owner principal.ID,
		q library.LibraryQuery) func(context.Context) (*library.LibraryConnection, error)
	LibraryCount(ctx context.Context, c *library.LibraryConnection) (library.Count, error)
}
