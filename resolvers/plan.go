package resolvers

import (
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/dataloader"
	"carrel/library"
)

// A page of a library is most of what the gateway answers. Resolving it field
// by field costs a goroutine for each edge and some ten allocations for each
// leaf: seven times what the page itself costs. So the selection below a page
// is compiled once, and the edges are appended to the answer by walking it.
//
// Only what needs no further resolver can be planned; for anything else, and
// wherever something is not as it should be, the generated code does the work.
// Both write the same bytes; a test compares them.

// plan writes a part of an answer for a T: the steps of an object's fields.
type plan[T any] []step[T]

type step[T any] struct {
	key   string // the response name, quoted, with its colon
	write func(b []byte, v T) []byte
}

func (p plan[T]) append(b []byte, v T) []byte {
	b = append(b, '{')
	for i, s := range p {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, s.key...)
		b = s.write(b, v)
	}
	return append(b, '}')
}

// planned answers a page in the form of its bytes where the selection can be
// planned, otherwise the page itself.
func planned(ctx context.Context, from source, conn *library.LibraryConnection) any {
	c := compiler{op: graphql.GetOperationContext(ctx)}
	below := c.connection(graphql.GetFieldContext(ctx).Field.Selections)
	if c.unplanned {
		return conn
	}
	p, ok := c.fill(ctx, from, conn)
	if !ok {
		return conn
	}
	return written(below.append(make([]byte, 0, 256+512*len(conn.Edges)), p))
}

// written is an answer that is finished.
type written []byte

// MarshalGQL writes it.
func (b written) MarshalGQL(w io.Writer) { _, _ = w.Write(b) }

// source is what a plan may ask of the domain beside the loaders.
type source interface {
	dataloader.Source
	LibraryCount(ctx context.Context, c *library.LibraryConnection) (library.Count, error)
}

// page is what a plan is applied to.
type page struct {
	*library.LibraryConnection
	rows  []row
	count library.Count // where it is selected
}

type row struct {
	*library.LibraryEdge
	creator  *library.User // nil where it is not selected or not seen
	standing *library.Standing
}

// compiler turns selections into plans.
type compiler struct {
	op        *graphql.OperationContext
	unplanned bool // something was met that only a resolver can answer
	creators  bool // createdBy is selected
	standings bool // what the viewer may do is selected
	counts    bool // count is selected
}

// compile gives the plan of an object of one of types by the way each of its
// fields is written; nil for one that cannot be planned.
func compile[T any](c *compiler, below ast.SelectionSet, field func(graphql.CollectedField) func([]byte, T) []byte, types ...string) plan[T] {
	fields := graphql.CollectFields(c.op, below, types)
	p := make(plan[T], 0, len(fields))
	for _, f := range fields {
		var write func([]byte, T) []byte
		if f.Name == "__typename" {
			write = func(b []byte, _ T) []byte { return appendString(b, types[0]) }
		} else {
			write = field(f)
		}
		key := `"` + f.Alias + `":`
		twice := slices.ContainsFunc(p, func(s step[T]) bool { return s.key == key })
		if write == nil || twice || len(f.Deferrables) > 0 {
			c.unplanned = true
			return nil
		}
		p = append(p, step[T]{key, write})
	}
	return p
}

func (c *compiler) connection(below ast.SelectionSet) plan[*page] {
	return compile(c, below, func(f graphql.CollectedField) func([]byte, *page) []byte {
		switch f.Name {
		case "edges":
			edge := c.edge(f.Selections)
			return func(b []byte, p *page) []byte { return appendRows(b, p, edge) }
		case "nodes":
			node := c.content(f.Selections)
			return func(b []byte, p *page) []byte { return appendRows(b, p, node) }
		case "pageInfo":
			info := c.pageInfo(f.Selections)
			return func(b []byte, p *page) []byte { return info.append(b, &p.PageInfo) }
		case "count":
			c.counts = true
			count := c.count(f.Selections)
			return func(b []byte, p *page) []byte { return count.append(b, &p.count) }
		case "bucket":
			return func(b []byte, p *page) []byte { return appendName(b, p.Bucket.String()) }
		}
		return nil
	}, "LibraryConnection")
}

func (c *compiler) edge(below ast.SelectionSet) plan[*row] {
	return compile(c, below, func(f graphql.CollectedField) func([]byte, *row) []byte {
		switch f.Name {
		case "cursor":
			return func(b []byte, r *row) []byte { return appendString(b, r.Cursor()) }
		case "role":
			return func(b []byte, r *row) []byte { return appendName(b, r.Role.String()) }
		case "node":
			return c.content(f.Selections).append
		}
		return nil
	}, "LibraryEdge")
}

func (c *compiler) count(below ast.SelectionSet) plan[*library.Count] {
	return compile(c, below, func(f graphql.CollectedField) func([]byte, *library.Count) []byte {
		switch f.Name {
		case "value":
			return func(b []byte, n *library.Count) []byte { return strconv.AppendInt(b, int64(n.Value), 10) }
		case "precision":
			return func(b []byte, n *library.Count) []byte {
				if n.Exact {
					return appendName(b, "EXACT")
				}
				return appendName(b, "AT_LEAST")
			}
		}
		return nil
	}, "Count")
}

func (c *compiler) pageInfo(below ast.SelectionSet) plan[*library.PageInfo] {
	return compile(c, below, func(f graphql.CollectedField) func([]byte, *library.PageInfo) []byte {
		switch f.Name {
		case "hasNextPage":
			return func(b []byte, p *library.PageInfo) []byte { return appendBool(b, p.HasNextPage) }
		case "hasPreviousPage":
			return func(b []byte, p *library.PageInfo) []byte { return appendBool(b, p.HasPreviousPage) }
		case "startCursor":
			return func(b []byte, p *library.PageInfo) []byte { return appendStringOrNull(b, p.StartCursor()) }
		case "endCursor":
			return func(b []byte, p *library.PageInfo) []byte { return appendStringOrNull(b, p.EndCursor()) }
		}
		return nil
	}, "PageInfo")
}

// fill makes the rows, with what the plan needs beside the edges. ok is false
// where the generated code has to report something: an error, or a value that
// the schema does not know.
func (c *compiler) fill(ctx context.Context, from source, conn *library.LibraryConnection) (p *page, ok bool) {
	p = &page{LibraryConnection: conn, rows: make([]row, len(conn.Edges))}
	for i, e := range conn.Edges {
		if p.rows[i], ok = c.row(ctx, e); !ok {
			return nil, false
		}
	}
	if c.counts {
		var err error
		if p.count, err = from.LibraryCount(ctx, conn); err != nil {
			return nil, false
		}
	}
	return p, conn.Bucket.Valid()
}

func (c *compiler) row(ctx context.Context, e *library.LibraryEdge) (r row, ok bool) {
	r.LibraryEdge = e
	if c.creators {
		creator, err := dataloader.From(ctx).Principals.Load(ctx, e.Node.Creator)
		if err != nil {
			return row{}, false
		}
		r.creator, _ = creator.(*library.User)
	}
	if c.standings {
		standing, err := standing(ctx, e.Node)
		if err != nil {
			return row{}, false
		}
		r.standing = standing
	}
	return r, r.known()
}

// known tells whether all that is never null in the schema has a name there.
func (r *row) known() bool {
	return r.Role.String() != "" && r.Node.Kind.String() != "" && r.Node.Visibility.Valid() &&
		(r.creator == nil || r.creator.Visibility.Valid())
}
