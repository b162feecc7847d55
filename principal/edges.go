package principal

import (
	"context"

	"carrel/core/cursor"
)

// GroupMemberConnection is a page of the members of a group.
type GroupMemberConnection struct {
	Edges    []*GroupMemberEdge
	PageInfo cursor.PageInfo
	total    func(ctx context.Context) (*int, error)
}

// TotalCount returns the number of edges that the viewer may see, or nil if there are too many to
// count.
func (c *GroupMemberConnection) TotalCount(ctx context.Context) (*int, error) { return c.total(ctx) }

// Nodes returns the principals of the edges.
func (c *GroupMemberConnection) Nodes() []Principal {
	return NodesOf(c.Edges, func(e *GroupMemberEdge) Principal { return e.Node })
}

// GroupMemberEdge is a member of a group.
type GroupMemberEdge struct {
	Node Principal
	Role GroupRole
	seal func() string
}

// Cursor returns the cursor of the edge.
func (e *GroupMemberEdge) Cursor() string { return e.seal() }

// GroupConnection is a page of the groups of a user.
type GroupConnection struct {
	Edges    []*GroupEdge
	PageInfo cursor.PageInfo
	total    func(ctx context.Context) (*int, error)
}

// TotalCount returns the number of edges that the viewer may see, or nil if there are too many to
// count.
func (c *GroupConnection) TotalCount(ctx context.Context) (*int, error) { return c.total(ctx) }

// Nodes returns the groups of the edges.
func (c *GroupConnection) Nodes() []*Group {
	return NodesOf(c.Edges, func(e *GroupEdge) *Group { return e.Node })
}

// GroupEdge is a group that a user is a direct member of.
type GroupEdge struct {
	Node *Group
	Role GroupRole
	seal func() string
}

// Cursor returns the cursor of the edge.
func (e *GroupEdge) Cursor() string { return e.seal() }

// NodesOf returns the nodes of edges, in their order.
func NodesOf[E, N any](edges []E, node func(E) N) []N {
	nodes := make([]N, len(edges))
	for i, e := range edges {
		nodes[i] = node(e)
	}
	return nodes
}
