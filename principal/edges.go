package principal

import (
	"context"

	"carrel/core/cursor"
)

// RoleConnection is a page of a list of principals that each have a role, in a group or on an item. The zero one is of
// an empty list.
type RoleConnection[N, R any] struct {
	Edges    []*RoleEdge[N, R]
	PageInfo cursor.PageInfo
	total    func(ctx context.Context) (*int, error)
}

// RoleEdge is a principal with its role.
type RoleEdge[N, R any] struct {
	cursor.Edge[N]
	Role R
}

// The members of a group, and the groups of a user, each with its edge.
type (
	GroupMemberConnection = RoleConnection[Principal, GroupRole]
	GroupMemberEdge       = RoleEdge[Principal, GroupRole]
	GroupConnection       = RoleConnection[*Group, GroupRole]
	GroupEdge             = RoleEdge[*Group, GroupRole]
)

// TotalCount returns the number of edges that the viewer may see, or nil if there are too many to
// count.
func (c *RoleConnection[N, R]) TotalCount(ctx context.Context) (*int, error) {
	if c.total == nil {
		return new(int), nil
	}
	return c.total(ctx)
}

// Nodes returns the principals of the edges.
func (c *RoleConnection[N, R]) Nodes() []N {
	return cursor.NodesOf(c.Edges, func(e *RoleEdge[N, R]) N { return e.Node })
}

// ReadRoles reads a page of a list, whose principals it shows as node returns them.
func ReadRoles[N any, R ~uint8](ctx context.Context, l *List, p cursor.Page, node func(Header) N) (*RoleConnection[N, R], error) {
	shown, info, err := l.Page(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &RoleConnection[N, R]{PageInfo: info, total: l.Total, Edges: make([]*RoleEdge[N, R], len(shown))}
	for i, it := range shown {
		c.Edges[i] = &RoleEdge[N, R]{cursor.Edge[N]{Node: node(*it.Header), Seal: l.Cursor(it.At)}, R(it.Role)}
	}
	return c, nil
}
