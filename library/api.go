package library

import (
	"context"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/principal"
)

// Node is a result of the global query fields: *User, *Group or *Content. All of them belong to
// a tenant.
type Node interface{ Tenant() string }

// LibraryQuery describes the page of a library that a caller requests.
type LibraryQuery struct {
	cursor.PageArgs
	// Descending returns the newest entries first.
	Descending bool
	// IncludeShared adds the items outside of the viewer's bucket on which the viewer has a role.
	IncludeShared bool
	// Filter restricts the items that are shown; nil: none. Cursors are valid with any filter.
	Filter *LibraryFilter
	// The parts of the answer that are needed. Each costs reads, so callers that know the
	// selection leave out what it does not contain.
	NoEntries       bool // neither edges nor nodes nor page info: no slice is read
	OtherSide       bool // PageInfo also has the flag of the side that the walk comes from
	WithPermissions bool // LibraryEdge.Permissions is filled
}

// LibraryFilter restricts the items that a page of a library shows, and nothing else. An item
// must meet all conditions that are set.
type LibraryFilter struct {
	// Text contains words. Each must be the beginning of a word of the title or the description,
	// ignoring case and accents. A text without words is no condition.
	Text *string
	// An item must have one of the values of each list; nil: any value. An empty list is refused.
	Kinds        []ContentKind
	Visibilities []principal.Visibility
	// CreatedBy is the id of the user who created the item, if the viewer sees it.
	CreatedBy *string
	// Roles are roles of the library's owner on the item.
	Roles []ContentRole
}

// LibraryConnection is a page of a library.
type LibraryConnection struct {
	Edges    []*LibraryEdge
	PageInfo cursor.PageInfo
	// Bucket is the bucket that the viewer reads, also with includeShared.
	Bucket Bucket
	Owner  principal.ID
}

// Nodes returns the items of the edges.
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
	// Permissions are the viewer's; nil unless the query requested them.
	Permissions *Permissions

	SealedCursor cursor.Cursor
}

// Cursor returns the cursor of the edge, which is sealed on each call.
func (e *LibraryEdge) Cursor() string {
	return string(e.SealedCursor.AppendCursor(make([]byte, 0, cursor.Usual)))
}

// Permissions is what a viewer may do with an item.
type Permissions struct {
	Role      ContentRole // the strongest, direct or through groups
	CanShare  bool
	CanEdit   bool // title, description and link
	CanManage bool
}

// CanDelete reports whether the viewer may delete the item: managers may.
func (t *Permissions) CanDelete() bool { return t.CanManage }

// MaxCount is the largest number that is counted exactly.
const MaxCount = 10_000

// Count is a number of entries. Exact is false if it is a lower bound.
type Count struct {
	Value int
	Exact bool
}

// ContentMemberConnection is a page of the members of an item.
type ContentMemberConnection struct {
	Edges    []*ContentMemberEdge
	PageInfo cursor.PageInfo
	total    func(ctx context.Context) (*int, error)
}

// TotalCount returns the number of edges that the viewer may see, or nil if there are too many to
// count.
func (c *ContentMemberConnection) TotalCount(ctx context.Context) (*int, error) { return c.total(ctx) }

// Nodes returns the principals of the edges.
func (c *ContentMemberConnection) Nodes() []principal.Principal {
	return principal.NodesOf(c.Edges, func(e *ContentMemberEdge) principal.Principal { return e.Node })
}

// ContentMemberEdge is a member of an item.
type ContentMemberEdge struct {
	Node principal.Principal
	Role ContentRole
	seal func() string
}

// Cursor returns the cursor of the edge.
func (e *ContentMemberEdge) Cursor() string { return e.seal() }

// FanOut says how many libraries a change concerns, and whether all of them are updated.
type FanOut struct {
	Complete  bool
	Libraries int // that the change concerns
}

// ContentMemberChange sets the role of a principal on an item; nil removes it.
type ContentMemberChange struct {
	Principal string
	Role      *ContentRole
}

// CreateContent is the input of Service.CreateContent.
type CreateContent struct {
	Tenant      *string // nil: the viewer's own
	Name        *string // nil: generated
	Kind        ContentKind
	Title       string
	Description *string
	Link        *string
	Visibility  principal.Visibility
	ExpiresAt   *clock.Instant
	Members     []ContentMemberChange // 0..100; the creator is always a manager
	// URL names the item; nil: it has no name but its id. omitempty keeps the hash of inputs
	// without a URL as it was before the field existed.
	URL *string `json:",omitempty"`
	// Body is the first text of a NOTE, in Locale; nil: it has none yet.
	Body           *string `json:",omitempty"`
	Locale         *string `json:",omitempty"`
	IdempotencyKey *string

	url    string // the canonical form; "" without one
	locale string // the canonical form; "" without one
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

// ContentOutcome is the result of a mutation of an item.
type ContentOutcome struct {
	ID      ContentID
	Content *Content       // nil if the actor may not see it (any more)
	Edge    *LibraryEdge   // in the actor's own library; nil if the item is not in it
	Edges   []*LibraryEdge // of a share: one for each principal
	FanOut  FanOut
	// Answer is the Answer of the Edit that was decided for this request. Repeated reports that
	// an earlier call of the same request decided it.
	Answer   []byte
	Repeated bool
}

// RebuildOutcome is the result of a rebuild of a library.
type RebuildOutcome struct {
	Principal principal.Principal
	Restored  int
	Removed   int
}

// API lists the methods of the Service that its callers use, in one place; *repair.Service
// implements it. Ids are as the client sent them. In lists, an element that may not be seen is
// nil, at its index.
type API interface {
	// LatestContent lists the PUBLIC content of a tenant, the newest first by creation.
	LatestContent(ctx context.Context, v *principal.Viewer, tenant string, page cursor.PageArgs) (*FeedConnection, error)
	// ViewerUser returns the viewer's own stored user, nil if there is none.
	ViewerUser(ctx context.Context, v *principal.Viewer) (*principal.User, error)
	// Nodes returns nodes in the order of ids, which are at most MaxList; more are
	// BAD_USER_INPUT. A malformed id is nil, at its index.
	Nodes(ctx context.Context, v *principal.Viewer, ids []string) ([]Node, error)
	// Principals and Contents are like Nodes. Each takes checked ids of one type.
	Principals(ctx context.Context, v *principal.Viewer, ids []principal.ID) ([]principal.Principal, error)
	ContentByURL(ctx context.Context, v *principal.Viewer, url string, tenant *string) (*Content, error)
	Contents(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]*Content, error)
	// PermissionsOf returns the permissions on items that the viewer sees, in the order of ids.
	PermissionsOf(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]*Permissions, error)
	// Email returns nil if the viewer may not read it.
	Email(v *principal.Viewer, u *principal.User) *string
	// GroupRoleOf returns the viewer's strongest role in the group.
	GroupRoleOf(ctx context.Context, v *principal.Viewer, group principal.ID) (principal.GroupRole, error)

	// Library reads a page. Errors: BAD_USER_INPUT, BAD_CURSOR; UNAVAILABLE while a lost
	// library is being rebuilt.
	Library(ctx context.Context, v *principal.Viewer, owner principal.ID, q LibraryQuery) (*LibraryConnection, error)
	// Prefetch starts to read what Library is about to read in the same operation.
	Prefetch(ctx context.Context, v *principal.Viewer, owner principal.ID, q LibraryQuery)
	// Prefetches reports whether Prefetch does anything.
	Prefetches() bool
	LibraryCount(ctx context.Context, c *LibraryConnection) (Count, error)
	// Follow starts to follow a library, from now on or since the time that a cursor was read.
	// Errors: BAD_USER_INPUT, NOT_FOUND, BAD_CURSOR; RESYNC if the client must read the library
	// again.
	Follow(ctx context.Context, v *principal.Viewer, owner string, after *string) (Subscription, error)
	Members(ctx context.Context, v *principal.Viewer, id ContentID, page cursor.PageArgs) (*ContentMemberConnection, error)
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

	CreateContent(ctx context.Context, v *principal.Viewer, in CreateContent) (*ContentOutcome, error)
	UpdateContent(ctx context.Context, v *principal.Viewer, in UpdateContent) (*ContentOutcome, error)
	ShareContent(ctx context.Context, v *principal.Viewer, in ShareContent) (*ContentOutcome, error)
	SetContentMembers(ctx context.Context, v *principal.Viewer, in SetContentMembers) (*ContentOutcome, error)
	RemoveFromLibrary(ctx context.Context, v *principal.Viewer, in RemoveFromLibrary) (*ContentOutcome, error)
	DeleteContent(ctx context.Context, v *principal.Viewer, in DeleteContent) (*ContentOutcome, error)
	MoveContent(ctx context.Context, v *principal.Viewer, in MoveContent) (*ContentOutcome, error)
	// ShareContents and DeleteContents change several items, each by itself.
	ShareContents(ctx context.Context, v *principal.Viewer, in ShareContents) ([]BulkOutcome, error)
	DeleteContents(ctx context.Context, v *principal.Viewer, in DeleteContents) ([]BulkOutcome, error)
	RebuildLibrary(ctx context.Context, v *principal.Viewer, owner string) (*RebuildOutcome, error)
}
