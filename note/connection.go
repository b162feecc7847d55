package note

import (
	"cmp"

	"carrel/core/cursor"
)

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

// connect returns a page with nodes, each at a position. more reports that nodes follow. resume is the
// position to continue after, if that is not the last node.
func connect[T any](l *list, nodes []T, at func(T) string, more bool, resume string) *cursor.Connection[T] {
	seal := func(at string) func() string { return func() string { return l.cursor(at) } }
	c := &cursor.Connection[T]{Edges: make([]*cursor.Edge[T], len(nodes)),
		PageInfo: cursor.PageInfo{HasNextPage: more, HasPreviousPage: l.after != ""}}
	for i, n := range nodes {
		c.Edges[i] = &cursor.Edge[T]{Node: n, Seal: seal(at(n))}
	}
	first, last := l.after, l.after
	if len(nodes) > 0 {
		first, last = at(nodes[0]), at(nodes[len(nodes)-1])
	}
	if resume != "" {
		first, last = cmp.Or(first, resume), resume
	}
	if last != "" {
		c.PageInfo.Start, c.PageInfo.End = seal(first), seal(last)
	}
	return c
}
