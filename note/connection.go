package note

import (
	"carrel/core/cursor"
)

// Edge is a node of a connection with its position.
type Edge[T any] struct {
	Node T
	at   string
	list *list
}

// Cursor returns the cursor of the edge.
func (e *Edge[T]) Cursor() string { return e.list.cursor(e.at) }

// list is a connection that pages forwards only. Its cursors are bound to its kind, its owner, and
// the class of viewers that see the same edges.
type list struct {
	seals *cursor.Sealer
	bound []byte
	page  cursor.Page
	after string // the position to continue after; "" is the start
}

// The classes of viewers of a page.
const (
	visitors cursor.Class = 0
	editors  cursor.Class = 1
)

func classOf(editor bool) cursor.Class {
	if editor {
		return editors
	}
	return visitors
}

// newList checks the arguments of a connection.
func (s *Service) newList(kind cursor.Kind, class cursor.Class, owner string, args cursor.PageArgs) (*list, error) {
	p, err := args.Forwards()
	if err != nil {
		return nil, err
	}
	l := &list{seals: s.cursors, bound: cursor.Binding(kind, class, owner), page: p}
	if p.Cursor != nil {
		at, err := s.cursors.Open(l.bound, cursor.AnyOrder, *p.Cursor)
		if err != nil {
			return nil, err
		}
		l.after = at.ID
	}
	return l, nil
}

func (l *list) cursor(at string) string {
	return l.seals.Seal(l.bound, cursor.Position{Order: cursor.AnyOrder, ID: at})
}

// edges returns the edges for the nodes of a page. more reports that nodes follow. resume is the
// position to continue after, if that is not the last node.
func edges[T any](l *list, nodes []T, at func(T) string, more bool, resume string) ([]Edge[T], cursor.PageInfo) {
	es := make([]Edge[T], len(nodes))
	for i, n := range nodes {
		es[i] = Edge[T]{n, at(n), l}
	}
	first, last := l.after, l.after
	if len(es) > 0 {
		first, last = es[0].at, es[len(es)-1].at
	}
	if resume != "" {
		last = resume
		if first == "" {
			first = resume
		}
	}
	info := cursor.PageInfo{HasNextPage: more, HasPreviousPage: l.after != ""}
	if last != "" {
		info.Start = func() string { return l.cursor(first) }
		info.End = func() string { return l.cursor(last) }
	}
	return es, info
}

// nodesOf returns the nodes of edges.
func nodesOf[E, T any](es []*E, node func(*E) T) []T {
	ns := make([]T, len(es))
	for i, e := range es {
		ns[i] = node(e)
	}
	return ns
}

// wrap converts edges to the edge type of a connection.
func wrap[E, T any](es []Edge[T], as func(Edge[T]) E) []*E {
	wrapped := make([]*E, len(es))
	for i := range es {
		e := as(es[i])
		wrapped[i] = &e
	}
	return wrapped
}
