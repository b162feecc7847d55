package cursor

// Connection is a page of a list.
type Connection[N any] struct {
	Edges    []*Edge[N]
	PageInfo PageInfo
}

// Nodes returns the nodes of the edges.
func (c *Connection[N]) Nodes() []N {
	return NodesOf(c.Edges, func(e *Edge[N]) N { return e.Node })
}

// Edge is an element of a list.
type Edge[N any] struct {
	Node N
	Seal func() string // returns the cursor
}

// Cursor returns the cursor of the edge.
func (e *Edge[N]) Cursor() string { return e.Seal() }

// NodesOf returns the nodes of edges, in their order.
func NodesOf[E, N any](edges []E, node func(E) N) []N {
	nodes := make([]N, len(edges))
	for i, e := range edges {
		nodes[i] = node(e)
	}
	return nodes
}
