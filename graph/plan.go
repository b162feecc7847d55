package graph

import (
	"io"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/answer"
	"carrel/core/cursor"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// Most answers of the gateway are pages of libraries. Resolving a page field by field takes a
// goroutine for each edge and some ten allocations for each leaf, which costs seven times as much
// as reading the page. So the selection below a page is compiled to a plan once, and the plan
// writes the edges.
//
// Only fields that need no further resolver can be planned. In all other cases, and if anything is
// unexpected, the generated code writes the page. A test checks that both write the same bytes.

// plan writes a part of an answer for a T: one step for each field of an object.
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

// PagePlan is the compiled selection below a page of a library. It is immutable and may be shared
// by operations.
type PagePlan struct {
	below plan[*Page]
	// Unplanned reports that something is selected that only a resolver can answer.
	Unplanned bool
	// What the rows must contain, because it is selected.
	Creators    bool
	Permissions bool
	Count       bool
	// Texts are the fields revision below the items, in the order of Row.Texts.
	Texts []graphql.CollectedField
	// What the domain must read, because it is selected: anything that needs the entries, and the
	// flags of pageInfo.
	entries, hasNext, hasPrevious bool
	steps                         int // the size: one for each object and each field
}

// Page is the input of a PagePlan.
type Page struct {
	*library.LibraryConnection
	Rows  []Row         // one for each edge
	Count library.Count // if the plan needs it
	part  *answer.Part
}

// Row is an edge with the values that are not in it.
type Row struct {
	*library.LibraryEdge
	Creator     *principal.User      // nil if the plan does not need it or the viewer may not see the creator
	Permissions *library.Permissions // not nil if the plan needs it
	Texts       []*note.Revision     // one for each text that the plan needs; nil if there is none
}

// planPage compiles the selection below a LibraryConnection.
func planPage(op *graphql.OperationContext, below ast.SelectionSet) *PagePlan {
	c := compiler{op: op}
	c.want.below = c.connection(below)
	return &c.want
}

// Write writes the page as a part of body. If ok is false, the generated code must report a value
// that is not in the schema.
func (p *PagePlan) Write(page *Page, body *answer.Body) (m graphql.Marshaler, ok bool) {
	if !page.known() {
		return nil, false
	}
	page.part = &answer.Part{Body: body}
	// An edge with the usual fields takes about 400 bytes.
	page.part.End(p.below.append(make([]byte, 0, 256+512*len(page.Rows)), page))
	return &written{*page.part}, true
}

// known reports whether each non-null enum value has a name in the schema.
func (p *Page) known() bool {
	known := p.Bucket.Valid()
	for i := range p.Rows {
		known = known && p.Rows[i].Role.String() != "" && p.Rows[i].knownItem()
	}
	return known
}

// knownItem is like known, for the item of the edge.
func (r *Row) knownItem() bool {
	return r.Node.Kind.String() != "" && r.Node.Visibility.Valid() && (r.Creator == nil || r.Creator.Visibility.Valid())
}

// written is a page that has been written.
type written struct{ answer.Part }

// MarshalGQL joins it to its Body, which is being written.
func (p *written) MarshalGQL(io.Writer) { p.Join() }

// compiler compiles selections to plans.
type compiler struct {
	op   *graphql.OperationContext
	want PagePlan
}

// compile returns the plan of an object. types are its type, and the interfaces and unions that it
// belongs to, as the generated code lists them. field returns the writer of a field, or nil if only
// a resolver can answer it. The remaining fields are compiled even then, to find out what they
// select.
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
		if f.Name == "sortKey" {
			return sortKey(argumentOf(f, "field"))
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
		if write := permissionsFields[f.Name]; write != nil {
			c.want.Permissions = true
			return write
		}
		return contentFields[f.Name]
	}, contentImplementors)
}

func (c *compiler) text(f graphql.CollectedField) writer[*Row] {
	n := len(c.want.Texts)
	c.want.Texts = append(c.want.Texts, f)
	text := compile(c, f.Selections, func(f graphql.CollectedField) writer[*note.Revision] { return revisionFields[f.Name] },
		revisionImplementors)
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
