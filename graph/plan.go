package graph

import (
	"io"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/answer"
	"carrel/core/cursor"
	"carrel/library"
	"carrel/page"
	"carrel/principal"
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
	write writer[T]
}

// writer appends the value of one field of a T.
type writer[T any] func(b []byte, v T) []byte

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

// PagePlan is the selection below a page of a library, compiled. It is never
// changed, and operations may share it.
type PagePlan struct {
	below plan[*Page]
	// Unplanned says that something is selected that only a resolver can answer.
	Unplanned bool
	// What the rows must be filled with, since it is selected.
	Creators    bool
	Permissions bool
	Count       bool
	// Texts are the fields revision below the items, in the order of Row.Texts.
	Texts []graphql.CollectedField
	// What the domain must read, since it is selected: anything that needs the
	// entries, and the flags of pageInfo.
	entries, hasNext, hasPrevious bool
	steps                         int // its size: one for each object and each field
}

// Page is what a PagePlan writes.
type Page struct {
	*library.LibraryConnection
	Rows  []Row         // one for each edge
	Count library.Count // where the plan wants it
	part  *answer.Part
}

// Row is an edge with what is not in it.
type Row struct {
	*library.LibraryEdge
	Creator     *principal.User      // nil where he is not wanted or not seen
	Permissions *library.Permissions // never nil where the plan wants it
	Texts       []*page.Revision     // one for each text that the plan wants; nil where there is none
}

// planPage compiles the selection below a LibraryConnection.
func planPage(op *graphql.OperationContext, below ast.SelectionSet) *PagePlan {
	c := compiler{op: op}
	c.want.below = c.connection(below)
	return &c.want
}

// Write writes the page as a part of body, which may be nil; ok is false where
// the generated code has to report a value that the schema does not know.
func (p *PagePlan) Write(page *Page, body *answer.Body) (m graphql.Marshaler, ok bool) {
	if !page.known() {
		return nil, false
	}
	page.part = &answer.Part{Body: body}
	// An edge with the usual fields takes about 400 bytes.
	page.part.End(p.below.append(make([]byte, 0, 256+512*len(page.Rows)), page))
	return &written{*page.part}, true
}

// known reports whether all that is never null in the schema has a name there.
func (p *Page) known() bool {
	known := p.Bucket.Valid()
	for i := range p.Rows {
		known = known && p.Rows[i].Role.String() != "" && p.Rows[i].knownItem()
	}
	return known
}

// knownItem is the same for what is below the edge.
func (r *Row) knownItem() bool {
	return r.Node.Kind.String() != "" && r.Node.Visibility.Valid() && (r.Creator == nil || r.Creator.Visibility.Valid())
}

// written is a page that is finished.
type written struct{ answer.Part }

// MarshalGQL writes it.
func (p *written) MarshalGQL(w io.Writer) { _, _ = p.WriteTo(w) }

// compiler turns selections into plans.
type compiler struct {
	op   *graphql.OperationContext
	want PagePlan
}

// compile returns the plan of an object. types are its type, and the interfaces and
// unions that it belongs to, as the generated code lists them. field returns how a field
// is written; nil means that only a resolver can answer it. The other fields are compiled
// all the same, for what they select.
func compile[T any](c *compiler, below ast.SelectionSet, field func(graphql.CollectedField) writer[T], types []string) plan[T] {
	fields := graphql.CollectFields(c.op, below, types)
	p := make(plan[T], 0, len(fields))
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		if seen[f.Alias] {
			continue // it is selected on the type and on a union, and written once
		}
		seen[f.Alias] = true
		write := field(f)
		if f.Name == "__typename" {
			write = func(b []byte, _ T) []byte { return appendString(b, types[0]) }
		}
		if write == nil || len(f.Deferrables) > 0 {
			c.want.Unplanned = true
			continue
		}
		p = append(p, step[T]{`"` + f.Alias + `":`, write})
	}
	c.want.steps += 1 + len(fields)
	return p
}

func (c *compiler) connection(below ast.SelectionSet) plan[*Page] {
	return compile(c, below, func(f graphql.CollectedField) writer[*Page] {
		switch f.Name {
		case "edges":
			c.want.entries = true
			edge := c.edge(f.Selections)
			return func(b []byte, p *Page) []byte { return appendRows(b, p, edge) }
		case "nodes":
			c.want.entries = true
			node := c.content(f.Selections)
			return func(b []byte, p *Page) []byte { return appendRows(b, p, node) }
		case "pageInfo":
			c.want.entries = true
			info := c.pageInfo(f.Selections)
			return func(b []byte, p *Page) []byte { return info.append(b, &p.PageInfo) }
		case "count":
			c.want.Count = true
			count := c.count(f.Selections)
			return func(b []byte, p *Page) []byte { return count.append(b, &p.Count) }
		}
		return connectionFields[f.Name]
	}, libraryConnectionImplementors)
}

func (c *compiler) edge(below ast.SelectionSet) plan[*Row] {
	return compile(c, below, func(f graphql.CollectedField) writer[*Row] {
		if f.Name == "node" {
			return c.content(f.Selections).append
		}
		return edgeFields[f.Name]
	}, libraryEdgeImplementors)
}

func (c *compiler) content(below ast.SelectionSet) plan[*Row] {
	return compile(c, below, func(f graphql.CollectedField) writer[*Row] {
		if f.Name == "createdBy" {
			c.want.Creators = true
			user := c.user(f.Selections)
			return func(b []byte, r *Row) []byte {
				if r.Creator == nil {
					return appendNull(b)
				}
				return user.append(b, &r.Creator.Header)
			}
		}
		if f.Name == "revision" {
			return c.text(f)
		}
		if write := standingFields[f.Name]; write != nil {
			c.want.Permissions = true
			return write
		}
		return contentFields[f.Name]
	}, contentImplementors)
}

func (c *compiler) text(f graphql.CollectedField) writer[*Row] {
	n := len(c.want.Texts)
	c.want.Texts = append(c.want.Texts, f)
	text := compile(c, f.Selections, func(f graphql.CollectedField) writer[*page.Revision] { return revisionFields[f.Name] }, revisionImplementors)
	return func(b []byte, r *Row) []byte {
		if r.Texts[n] == nil {
			return appendNull(b)
		}
		return text.append(b, r.Texts[n])
	}
}

func (c *compiler) user(below ast.SelectionSet) plan[*principal.Header] {
	return compile(c, below, func(f graphql.CollectedField) writer[*principal.Header] { return principalFields[f.Name] }, userImplementors)
}

func (c *compiler) count(below ast.SelectionSet) plan[*library.Count] {
	return compile(c, below, func(f graphql.CollectedField) writer[*library.Count] { return countFields[f.Name] }, countImplementors)
}

func (c *compiler) pageInfo(below ast.SelectionSet) plan[*cursor.PageInfo] {
	return compile(c, below, func(f graphql.CollectedField) writer[*cursor.PageInfo] {
		c.want.hasNext = c.want.hasNext || f.Name == "hasNextPage"
		c.want.hasPrevious = c.want.hasPrevious || f.Name == "hasPreviousPage"
		return pageInfoFields[f.Name]
	}, pageInfoImplementors)
}
