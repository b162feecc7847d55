package library

import (
	"context"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/principal"
)

// Node is what the global query fields answer: *User, *Group or *Content. All
// of them belong to a tenant.
type Node interface{ Tenant() string }

// LibraryQuery asks for a page of a library.
type LibraryQuery struct {
	cursor.PageArgs
	// Descending is newest first.
	Descending    bool
	IncludeShared bool
	// Filter narrows what is shown; nil: nothing does. Cursors serve with any filter.
	Filter *LibraryFilter
	// What the answer needs beside the entries. Each costs reads, so callers
	// that can see the selection leave out what is not in it.
	NoEntries       bool // neither edges nor nodes nor page info: no slice is read
	OtherSide       bool // the flag of the side that the walk does not go to
	WithPermissions bool // LibraryEdge.Permissions is filled
}

// LibraryConnection is a page of a library.
type LibraryConnection struct {
	Edges    []*LibraryEdge
	PageInfo cursor.PageInfo
	// Bucket is the one that the viewer reads, also with includeShared.
	Bucket Bucket
	Owner  principal.ID
}

// Nodes are the items of the edges.
func (c *LibraryConnection) Nodes() []*Content {
	nodes := make([]*Content, len(c.Edges))
	for i, e := range c.Edges {
		nodes[i] = e.Node
	}
	return nodes
}

// LibraryEdge is an item in a library.
type LibraryEdge struct {
	Node *Content
	// Role is the library owner's role on the item.
	Role ContentRole
	// Permissions is the viewer's, where the query asked for it.
	Permissions *Permissions

	Place cursor.Cursor
}

// Cursor is the place of the edge; sealed when asked for.
func (e *LibraryEdge) Cursor() string {
	return string(e.Place.AppendCursor(make([]byte, 0, cursor.Usual)))
}

// Permissions is what a viewer may do with an item.
type Permissions struct {
	Role      ContentRole // the strongest, direct or through groups
	CanShare  bool
	CanEdit   bool // title, description and link
	CanManage bool
}

// CanDelete reports whether the viewer may delete the item: whoever manages it may.
func (t *Permissions) CanDelete() bool { return t.CanManage }

// MaxCount is how far counts are exact.
const MaxCount = 10_000

// Count is a number of entries; Exact is false where it is "at least".
type Count struct {
	Value int
	Exact bool
}

// ContentMemberConnection is a page of the members of an item.
type ContentMemberConnection struct {
	Edges    []*ContentMemberEdge
	PageInfo cursor.PageInfo
}

// Nodes are the principals of the edges.
func (c *ContentMemberConnection) Nodes() []principal.Principal {
	return principal.NodesOf(c.Edges, func(e *ContentMemberEdge) principal.Principal { return e.Node })
}

// ContentMemberEdge is a member of an item.
type ContentMemberEdge struct {
	Node principal.Principal
	Role ContentRole
	seal func() string
}

// Cursor is the place of the edge.
func (e *ContentMemberEdge) Cursor() string { return e.seal() }

// FanOut tells how far a change has got into the libraries.
type FanOut struct {
	Complete  bool
	Libraries int // that the change concerns
}

// ContentMemberChange gives a principal a role on an item; nil takes it away.
type ContentMemberChange struct {
	Principal string
	Role      *ContentRole
}

// CreateContent is the input of Service.CreateContent.
type CreateContent struct {
	Tenant      *string // the viewer's own when nil
	Name        *string // generated when nil
	Kind        ContentKind
	Title       string
	Description *string
	Link        *string
	Visibility  principal.Visibility
	ExpiresAt   *clock.Instant
	Members     []ContentMemberChange // 0..100; the creator is always a manager
	// URL names the item; nil: it has no name but its id. Inputs without one keep the hash
	// that they had before there was this field.
	URL *string `json:",omitempty"`
	// Body is the first text of a Note, in Locale; nil: it has none yet.
	Body           *string `json:",omitempty"`
	Locale         *string `json:",omitempty"`
	IdempotencyKey *string

	url    string // the canonical form; "" without one
	locale string // likewise
}

// UpdateContent is the input of Service.UpdateContent.
type UpdateContent struct {
	ID              string
	Title           input.Optional[*string]
	Description     input.Optional[*string] // null clears it
	Link            input.Optional[*string]
	Visibility      input.Optional[*principal.Visibility]
	ExpiresAt       input.Optional[*clock.Instant] // null clears it
	ExpectedVersion *int
	IdempotencyKey  *string
}

// ShareContent is the input of Service.ShareContent.
type ShareContent struct {
	Content        string
	Principals     []string // 1..100; duplicates count once
	Role           ContentRole
	IdempotencyKey *string
}

// SetContentMembers is the input of Service.SetContentMembers.
type SetContentMembers struct {
	Content        string
	Members        []ContentMemberChange // 1..100
	IdempotencyKey *string
}

// RemoveFromLibrary is the input of Service.RemoveFromLibrary.
type RemoveFromLibrary struct {
	Principal, Content string
	IdempotencyKey     *string
}

// DeleteContent is the input of Service.DeleteContent.
type DeleteContent struct {
	ID              string
	ExpectedVersion *int
	IdempotencyKey  *string
}

// ContentOutcome is what a mutation of an item answers.
type ContentOutcome struct {
	ID      ContentID
	Content *Content       // nil where the actor may not see it (any more)
	Edge    *LibraryEdge   // in the actor's own library; nil where it holds none
	Edges   []*LibraryEdge // of a share: one a principal
	FanOut  FanOut
	// Answer is that of the Edit that was decided for this request. Repeated reports that
	// it was decided by an earlier call of the same request.
	Answer   []byte
	Repeated bool
}

// RebuildOutcome is what a rebuild of a library did.
type RebuildOutcome struct {
	Principal principal.Principal
	Restored  int
	Removed   int
}

// API is the Service as its callers use it; *repair.Service implements it. It stands
// here to be read in one piece. All ids are as the client gave them. What may
// not be seen is nil in answers, in the place where it was asked for.
type API interface {
	// LatestContent lists the PUBLIC content of a tenant, the newest first by creation.
	LatestContent(ctx context.Context, v *principal.Viewer, tenant string, page cursor.PageArgs) (*FeedConnection, error)
	// ViewerUser is the viewer's own stored user, nil where there is none.
	ViewerUser(ctx context.Context, v *principal.Viewer) (*principal.User, error)
	// Nodes answers in the order of ids; at most MaxList, else BAD_USER_INPUT.
	// A malformed id is nil in its place.
	Nodes(ctx context.Context, v *principal.Viewer, ids []string) ([]Node, error)
	// Principals and Contents are the typed forms of it, by checked ids.
	Principals(ctx context.Context, v *principal.Viewer, ids []principal.ID) ([]principal.Principal, error)
	ContentByURL(ctx context.Context, v *principal.Viewer, url string, tenant *string) (*Content, error)
	Contents(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]*Content, error)
	// PermissionsOf answers for items that the viewer sees, in the order of ids.
	PermissionsOf(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]*Permissions, error)
	// Email is nil for those who may not read it.
	Email(v *principal.Viewer, u *principal.User) *string
	// GroupRoleOf is the viewer's strongest role in the group.
	GroupRoleOf(ctx context.Context, v *principal.Viewer, group principal.ID) (principal.GroupRole, error)

	// Library reads a page. BAD_USER_INPUT, BAD_CURSOR; UNAVAILABLE while a lost
	// library is being rebuilt.
	Library(ctx context.Context, v *principal.Viewer, owner principal.ID, q LibraryQuery) (*LibraryConnection, error)
	// Prefetch begins what Library will be asked for in the same operation.
	Prefetch(ctx context.Context, v *principal.Viewer, owner principal.ID, q LibraryQuery)
	// Prefetches reports whether Prefetch does anything.
	Prefetches() bool
	LibraryCount(ctx context.Context, c *LibraryConnection) (Count, error)
	// Follow begins to follow a library, from now on or since a cursor of it was
	// read. BAD_USER_INPUT, NOT_FOUND, BAD_CURSOR; RESYNC where it must be read again.
	Follow(ctx context.Context, v *principal.Viewer, owner string, after *string) (Following, error)
	Members(ctx context.Context, v *principal.Viewer, id ContentID, page cursor.PageArgs) (*ContentMemberConnection, error)
	GroupMembers(ctx context.Context, v *principal.Viewer, group principal.ID, page cursor.PageArgs) (*principal.GroupMemberConnection, error)
	Groups(ctx context.Context, v *principal.Viewer, user principal.ID, page cursor.PageArgs) (*principal.GroupConnection, error)

	// FindPrincipals looks users and groups of the viewer's tenant up.
	// UNAUTHENTICATED, FORBIDDEN, BAD_USER_INPUT, BAD_CURSOR; UNAVAILABLE while the directory of an older store is being made.
	FindPrincipals(ctx context.Context, v *principal.Viewer, q principal.Search) (*principal.Connection, error)

	CreateUser(ctx context.Context, v *principal.Viewer, in principal.CreateUser) (*principal.User, error)
	UpdateUser(ctx context.Context, v *principal.Viewer, in principal.UpdateUser) (*principal.User, error)
	CreateGroup(ctx context.Context, v *principal.Viewer, in principal.CreateGroup) (*principal.Group, error)
	UpdateGroup(ctx context.Context, v *principal.Viewer, in principal.UpdateGroup) (*principal.Group, error)
	SetGroupMembers(ctx context.Context, v *principal.Viewer, in principal.SetGroupMembers) (*principal.Group, error)

	CreateContent(ctx context.Context, v *principal.Viewer, in CreateContent) (*ContentOutcome, error)
	UpdateContent(ctx context.Context, v *principal.Viewer, in UpdateContent) (*ContentOutcome, error)
	ShareContent(ctx context.Context, v *principal.Viewer, in ShareContent) (*ContentOutcome, error)
	SetContentMembers(ctx context.Context, v *principal.Viewer, in SetContentMembers) (*ContentOutcome, error)
	RemoveFromLibrary(ctx context.Context, v *principal.Viewer, in RemoveFromLibrary) (*ContentOutcome, error)
	DeleteContent(ctx context.Context, v *principal.Viewer, in DeleteContent) (*ContentOutcome, error)
	MoveContent(ctx context.Context, v *principal.Viewer, in MoveContent) (*ContentOutcome, error)
	RebuildLibrary(ctx context.Context, v *principal.Viewer, owner string) (*RebuildOutcome, error)
}
