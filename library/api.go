package library

import (
	"encoding/base32"
	"fmt"

	"carrel/core/clock"
	"carrel/core/collation"
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
	Order Order
	// Descending returns the newest entries first, or those with the greatest titles.
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
	return cursor.NodesOf(c.Edges, func(e *LibraryEdge) *Content { return e.Node })
}

// Bytes returns the length of the texts of the items, which were read whether they are selected or not.
func (c *LibraryConnection) Bytes() (n int) {
	for _, e := range c.Edges {
		n += e.Node.Bytes()
	}
	return n
}

// LibraryEdge is an item in a library.
type LibraryEdge struct {
	Node *Content
	// Role is the library owner's role on the item.
	Role ContentRole
	// Permissions are the viewer's; nil unless the query requested them.
	Permissions *Permissions
	// Position and OrderTitle are the item's places in the orders (Header).
	Position   clock.Instant
	OrderTitle string
	// TitleKey is the key of OrderTitle; "" if it is unknown.
	TitleKey collation.Key

	SealedCursor cursor.Cursor
}

// SortKey returns a text by which the edges of a library compare, byte by byte, as in an order.
func (e *LibraryEdge) SortKey(field Order) string {
	if field == ByTitle {
		key := e.TitleKey
		if key == "" {
			key = collation.Of(e.OrderTitle)
		}
		return sortKeyTitle.EncodeToString([]byte(key)) + "-" + string(e.Node.ID)
	}
	return fmt.Sprintf("%016x-%s", uint64(e.Position)^(1<<63), e.Node.ID)
}

// sortKeyTitle keeps the order of what it encodes, and "-" sorts before all of its characters.
var sortKeyTitle = base32.HexEncoding.WithPadding(base32.NoPadding)

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

// ContentMemberConnection is a page of the members of an item, and ContentMemberEdge one of its edges.
type (
	ContentMemberConnection = principal.RoleConnection[principal.Principal, ContentRole]
	ContentMemberEdge       = principal.RoleEdge[principal.Principal, ContentRole]
)

// FanOut says how many libraries a change concerns, and whether all of them are updated.
type FanOut struct {
	Complete  bool
	Libraries int // that the change concerns
}

// ContentMemberChange changes the role of a principal on an item.
type ContentMemberChange = principal.RoleChange[ContentRole]

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
