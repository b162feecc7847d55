package graph

import (
	"context"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/answer"
	"carrel/paste"
)

// pastesPlan is the compiled selection below a page of pastes.
type pastesPlan struct {
	compiler
	below  plan[*pastesPage]
	bodies bool // the bodies of pastes are selected
}

// pastesPage is the input of a pastesPlan.
type pastesPage struct {
	*paste.Connection
	part answer.Part
}

// WritePastes writes a page of pastes, the result of the field that ctx resolves, as a part of
// body. If ok is false, the generated code must write it, because something is selected that only a
// resolver can answer. If SelectsBodies, all bodies must be loaded.
func WritePastes(ctx context.Context, conn *paste.Connection, body *answer.Body) (m graphql.Marshaler, ok bool) {
	p := planPastes(graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field.Selections)
	if p.want.Unplanned {
		return nil, false
	}
	page := &pastesPage{Connection: conn}
	page.part.Body = body
	page.part.End(p.below.append(make([]byte, 0, 256+512*len(conn.Edges)), page))
	return &written{page.part}, true
}

// SelectsBodies reports whether the bodies of pastes are selected below the PasteConnection that
// ctx resolves.
func SelectsBodies(ctx context.Context) bool {
	return planPastes(graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field.Selections).bodies
}

// planPastes compiles the selection below a PasteConnection.
func planPastes(op *graphql.OperationContext, below ast.SelectionSet) *pastesPlan {
	p := &pastesPlan{compiler: compiler{op: op}}
	p.below = compile(&p.compiler, below, func(f graphql.CollectedField) writer[*pastesPage] {
		switch f.Name {
		case "edges":
			edge := p.edge(f.Selections)
			return func(b []byte, page *pastesPage) []byte { return page.each(b, edge.append) }
		case "nodes":
			node := p.paste(f.Selections)
			return func(b []byte, page *pastesPage) []byte {
				return page.each(b, func(b []byte, e *paste.Edge) []byte { return node.append(b, e.Node) })
			}
		case "pageInfo":
			info := p.pageInfo(f.Selections)
			return func(b []byte, page *pastesPage) []byte { return info.append(b, &page.PageInfo) }
		}
		return nil
	}, pasteConnectionImplementors)
	return p
}

// each appends all edges. It stops early if the answer has failed, because it will not be sent.
func (p *pastesPage) each(b []byte, write writer[*paste.Edge]) []byte {
	b = append(b, '[')
	for i, e := range p.Edges {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.part.Cut(write(b, e))
		if p.part.Body.Err() != nil {
			break
		}
	}
	return append(b, ']')
}

func (p *pastesPlan) edge(below ast.SelectionSet) plan[*paste.Edge] {
	return compile(&p.compiler, below, func(f graphql.CollectedField) writer[*paste.Edge] {
		switch f.Name {
		case "node":
			node := p.paste(f.Selections)
			return func(b []byte, e *paste.Edge) []byte { return node.append(b, e.Node) }
		case "cursor":
			return func(b []byte, e *paste.Edge) []byte { return appendString(b, e.Cursor()) }
		}
		return nil
	}, pasteEdgeImplementors)
}

func (p *pastesPlan) paste(below ast.SelectionSet) plan[*paste.Paste] {
	return compile(&p.compiler, below, func(f graphql.CollectedField) writer[*paste.Paste] {
		p.bodies = p.bodies || f.Name == "body"
		return pasteFields[f.Name]
	}, pasteImplementors)
}

// pasteFields are the fields of a paste that a plan writes itself.
var pasteFields = map[string]writer[*paste.Paste]{
	"id":         func(b []byte, p *paste.Paste) []byte { return appendString(b, string(p.ID)) },
	"title":      func(b []byte, p *paste.Paste) []byte { return appendStringOrNull(b, p.Title) },
	"body":       func(b []byte, p *paste.Paste) []byte { return appendString(b, p.Body.Text) },
	"isPrivate":  func(b []byte, p *paste.Paste) []byte { return appendBool(b, p.IsPrivate) },
	"createdAt":  func(b []byte, p *paste.Paste) []byte { return appendInstant(b, p.CreatedAt) },
	"modifiedAt": func(b []byte, p *paste.Paste) []byte { return appendInstant(b, p.ModifiedAt) },
	"version":    func(b []byte, p *paste.Paste) []byte { return strconv.AppendInt(b, int64(p.Version), 10) },
	"expiresAt": func(b []byte, p *paste.Paste) []byte {
		if p.ExpiresAt == nil {
			return appendNull(b)
		}
		return appendInstant(b, *p.ExpiresAt)
	},
}
