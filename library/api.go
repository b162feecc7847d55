package library

import (
	"context"
	"sync"

	"carrel/core/clock"
	"carrel/core/sched"
)

// Optional tells an input field that was left out from one that was given. For
// fields that can be null, T is a pointer.
type Optional[T any] struct {
	Set   bool
	Value T
}

// Some is an input field that was given.
func Some[T any](v T) Optional[T] { return Optional[T]{true, v} }

// Viewer is who asks: anonymous (the zero User), a user, an administrator of
// the user's tenant, or a global administrator. It serves one request; what
// was resolved of its groups, and the principals that it was shown, are kept
// for as long as that.
type Viewer struct {
	User        PrincipalID
	Admin       bool
	GlobalAdmin bool

	memo  groupMemo
	shown principalMemo
	ahead prefetches
	// resolved is what resolving groups has cost in this request. bill, where it
	// is set, is counted instead.
	resolved meter
	bill     *meter
}

// billed is the meter on which resolving groups for the viewer is counted.
func (v *Viewer) billed() *meter {
	if v.bill != nil {
		return v.bill
	}
	return &v.resolved
}

// Resolved tells what resolving groups has cost in this request: the rounds of
// reads, and the groups that were read.
func (v *Viewer) Resolved() (rounds, groups int) {
	return int(v.resolved.rounds.Load()), int(v.resolved.groups.Load())
}

// groupMemo keeps the groups that a viewer is in, once resolved.
type groupMemo struct {
	mu     sync.Mutex
	known  bool
	groups *closure
	// busy is shut while somebody resolves them; nil otherwise.
	busy sched.Latch
}

// SignedIn tells whether the viewer is known by name.
func (v *Viewer) SignedIn() bool { return v.User != "" }

// Administers tells whether the viewer is an administrator of the tenant.
func (v *Viewer) Administers(tenant string) bool {
	return v.GlobalAdmin || v.Admin && v.User.Tenant() == tenant
}

// Node is what the global query fields answer: *User, *Group or *Content. All
// of them belong to a tenant.
type Node interface{ Tenant() string }

// PageArgs are the arguments of a connection, as the client gave them.
type PageArgs struct {
	First  *int
	After  *string
	Last   *int
	Before *string
}

// Page sizes, for every connection; the cost estimate uses the same.
const (
	DefaultPageSize = 20
	MaxPageSize     = 100
)

// MaxList is the most ids, share targets or members that one call may name:
// the longest IN list that a store is asked for.
const MaxList = 100

// LibraryQuery asks for a page of a library.
type LibraryQuery struct {
	PageArgs
	// Descending is newest first.
	Descending    bool
	IncludeShared bool
	// What the answer needs beside the entries. Each costs reads, so callers
	// that can see the selection leave out what is not in it.
	NoEntries    bool // neither edges nor nodes nor page info: no slice is read
	OtherSide    bool // the flag of the side that the walk does not go to
	WithStanding bool // LibraryEdge.Standing is filled
}

// PageInfo tells of a page of any connection.
type PageInfo struct {
	HasNextPage     bool
	HasPreviousPage bool

	start, end func() string
}

// StartCursor is the cursor of the first edge. A page without edges has the
// place that it was requested from, nil if it was requested without a cursor. If
// the read budget cut the page short, it has the first entry scanned.
func (p *PageInfo) StartCursor() *string { return cursorOrNil(p.start) }

// EndCursor is the cursor of the last edge, with the same rules. If the read
// budget cut the page short, it is the last entry scanned.
func (p *PageInfo) EndCursor() *string { return cursorOrNil(p.end) }

func cursorOrNil(seal func() string) *string {
	if seal == nil {
		return nil
	}
	c := seal()
	return &c
}

// LibraryConnection is a page of a library.
type LibraryConnection struct {
	Edges    []*LibraryEdge
	PageInfo PageInfo
	// Bucket is the one that the viewer reads, also with includeShared.
	Bucket Bucket
	Owner  PrincipalID
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
	// Standing is the viewer's, where the query asked for it.
	Standing *Standing

	seal func() string
}

// Cursor is the place of the edge; sealed when asked for.
func (e *LibraryEdge) Cursor() string { return e.seal() }

// Standing is what a viewer may do with an item.
type Standing struct {
	Role      ContentRole // the strongest, direct or through groups
	CanShare  bool
	CanEdit   bool // title, description and link
	CanManage bool
}

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
	PageInfo PageInfo
}

// Nodes are the principals of the edges.
func (c *ContentMemberConnection) Nodes() []Principal {
	return nodesOf(c.Edges, func(e *ContentMemberEdge) Principal { return e.Node })
}

// ContentMemberEdge is a member of an item.
type ContentMemberEdge struct {
	Node Principal
	Role ContentRole
	seal func() string
}

// Cursor is the place of the edge.
func (e *ContentMemberEdge) Cursor() string { return e.seal() }

// GroupMemberConnection is a page of the members of a group.
type GroupMemberConnection struct {
	Edges    []*GroupMemberEdge
	PageInfo PageInfo
}

// Nodes are the principals of the edges.
func (c *GroupMemberConnection) Nodes() []Principal {
	return nodesOf(c.Edges, func(e *GroupMemberEdge) Principal { return e.Node })
}

// GroupMemberEdge is a member of a group.
type GroupMemberEdge struct {
	Node Principal
	Role GroupRole
	seal func() string
}

// Cursor is the place of the edge.
func (e *GroupMemberEdge) Cursor() string { return e.seal() }

// GroupConnection is a page of the groups of a user.
type GroupConnection struct {
	Edges    []*GroupEdge
	PageInfo PageInfo
}

// Nodes are the groups of the edges.
func (c *GroupConnection) Nodes() []*Group {
	return nodesOf(c.Edges, func(e *GroupEdge) *Group { return e.Node })
}

// GroupEdge is a group that a user is a direct member of.
type GroupEdge struct {
	Node *Group
	Role GroupRole
	seal func() string
}

// Cursor is the place of the edge.
func (e *GroupEdge) Cursor() string { return e.seal() }

func nodesOf[E, N any](edges []E, node func(E) N) []N {
	nodes := make([]N, len(edges))
	for i, e := range edges {
		nodes[i] = node(e)
	}
	return nodes
}

// FanOut tells how far a change has got into the libraries.
type FanOut struct {
	Complete  bool
	Libraries int // that the change concerns
}

// CreateUser is the input of Service.CreateUser.
type CreateUser struct {
	Tenant, Name, DisplayName, Email string
	Visibility                       Visibility
	IdempotencyKey                   *string
}

// UpdateUser is the input of Service.UpdateUser. None of the fields takes null.
type UpdateUser struct {
	ID             string
	DisplayName    Optional[*string]
	Email          Optional[*string]
	Visibility     Optional[*Visibility]
	IdempotencyKey *string
}

// CreateGroup is the input of Service.CreateGroup.
type CreateGroup struct {
	Tenant, Name, DisplayName string
	Visibility                Visibility
	IdempotencyKey            *string
}

// UpdateGroup is the input of Service.UpdateGroup. None of the fields takes null.
type UpdateGroup struct {
	ID             string
	DisplayName    Optional[*string]
	Visibility     Optional[*Visibility]
	IdempotencyKey *string
}

// GroupMemberChange gives a principal a role in a group; nil takes it out.
type GroupMemberChange struct {
	Principal string
	Role      *GroupRole
}

// SetGroupMembers is the input of Service.SetGroupMembers.
type SetGroupMembers struct {
	Group          string
	Members        []GroupMemberChange // 1..100
	IdempotencyKey *string
}

// ContentMemberChange gives a principal a role on an item; nil takes it away.
type ContentMemberChange struct {
	Principal string
	Role      *ContentRole
}

// CreateContent is the input of Service.CreateContent.
type CreateContent struct {
	Tenant         *string // the viewer's own when nil
	Name           *string // generated when nil
	Kind           ContentKind
	Title          string
	Description    *string
	Link           *string
	Visibility     Visibility
	ExpiresAt      *clock.Instant
	Members        []ContentMemberChange // 0..100; the creator is always a manager
	IdempotencyKey *string
}

// UpdateContent is the input of Service.UpdateContent.
type UpdateContent struct {
	ID              string
	Title           Optional[*string]
	Description     Optional[*string] // null clears it
	Link            Optional[*string]
	Visibility      Optional[*Visibility]
	ExpiresAt       Optional[*clock.Instant] // null clears it
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
}

// RebuildOutcome is what a rebuild of a library did.
type RebuildOutcome struct {
	Principal Principal
	Restored  int
	Removed   int
}

// API is the Service as its callers use it; *Service implements it. It stands
// here to be read in one piece. All ids are as the client gave them. What may
// not be seen is nil in answers, in the place where it was asked for.
type API interface {
	// ViewerUser is the viewer's own stored user, nil where there is none.
	ViewerUser(ctx context.Context, v *Viewer) (*User, error)
	// Nodes answers in the order of ids; at most MaxList, else BAD_USER_INPUT.
	// A malformed id is nil in its place.
	Nodes(ctx context.Context, v *Viewer, ids []string) ([]Node, error)
	// Principals and Contents are the typed forms of it, by checked ids.
	Principals(ctx context.Context, v *Viewer, ids []PrincipalID) ([]Principal, error)
	Contents(ctx context.Context, v *Viewer, ids []ContentID) ([]*Content, error)
	// Standings answers for items that the viewer sees, in the order of ids.
	Standings(ctx context.Context, v *Viewer, ids []ContentID) ([]*Standing, error)
	// Email is nil for those who may not read it.
	Email(v *Viewer, u *User) *string
	// GroupRoleOf is the viewer's strongest role in the group.
	GroupRoleOf(ctx context.Context, v *Viewer, group PrincipalID) (GroupRole, error)

	// Library reads a page. BAD_USER_INPUT, BAD_CURSOR; UNAVAILABLE while a lost
	// library is being rebuilt.
	Library(ctx context.Context, v *Viewer, owner PrincipalID, q LibraryQuery) (*LibraryConnection, error)
	// Prefetch begins what Library will be asked for in the same operation.
	Prefetch(ctx context.Context, v *Viewer, owner PrincipalID, q LibraryQuery)
	// Prefetches reports whether Prefetch does anything.
	Prefetches() bool
	LibraryCount(ctx context.Context, c *LibraryConnection) (Count, error)
	// Follow begins to follow a library, from now on or since a cursor of it was
	// read. BAD_USER_INPUT, NOT_FOUND, BAD_CURSOR; RESYNC where it must be read again.
	Follow(ctx context.Context, v *Viewer, principal string, after *string) (*Following, error)
	Members(ctx context.Context, v *Viewer, id ContentID, page PageArgs) (*ContentMemberConnection, error)
	GroupMembers(ctx context.Context, v *Viewer, group PrincipalID, page PageArgs) (*GroupMemberConnection, error)
	Groups(ctx context.Context, v *Viewer, user PrincipalID, page PageArgs) (*GroupConnection, error)

	// FindPrincipals looks users and groups of the viewer's tenant up.
	// UNAUTHENTICATED, FORBIDDEN, BAD_USER_INPUT, BAD_CURSOR; UNAVAILABLE while the directory of an older store is being made.
	FindPrincipals(ctx context.Context, v *Viewer, q PrincipalSearch) (*PrincipalConnection, error)

	CreateUser(ctx context.Context, v *Viewer, in CreateUser) (*User, error)
	UpdateUser(ctx context.Context, v *Viewer, in UpdateUser) (*User, error)
	CreateGroup(ctx context.Context, v *Viewer, in CreateGroup) (*Group, error)
	UpdateGroup(ctx context.Context, v *Viewer, in UpdateGroup) (*Group, error)
	SetGroupMembers(ctx context.Context, v *Viewer, in SetGroupMembers) (*Group, error)

	CreateContent(ctx context.Context, v *Viewer, in CreateContent) (*ContentOutcome, error)
	UpdateContent(ctx context.Context, v *Viewer, in UpdateContent) (*ContentOutcome, error)
	ShareContent(ctx context.Context, v *Viewer, in ShareContent) (*ContentOutcome, error)
	SetContentMembers(ctx context.Context, v *Viewer, in SetContentMembers) (*ContentOutcome, error)
	RemoveFromLibrary(ctx context.Context, v *Viewer, in RemoveFromLibrary) (*ContentOutcome, error)
	DeleteContent(ctx context.Context, v *Viewer, in DeleteContent) (*ContentOutcome, error)
	RebuildLibrary(ctx context.Context, v *Viewer, principal string) (*RebuildOutcome, error)
}
