package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/library"
)

// selection is what a client has asked for below a page of a library.
type selection struct {
	page      bool // anything that needs its entries
	otherSide bool // the flag of the side that the walk does not go to
	standing  bool // what the viewer may do with the items
}

// ask leaves out of a query what is not selected.
func (s selection) ask(q *library.LibraryQuery) {
	q.NoEntries, q.OtherSide, q.WithStanding = !s.page, s.otherSide, s.standing
}

// selected looks at the selection of the field that is being resolved. Fields
// behind @skip and @include count as the variables say. gqlgen keeps what it
// collects, so looking ahead costs nothing that would not be done anyway.
func selected(ctx context.Context, args library.PageArgs) selection {
	return selectedBelow(graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field.Selections, args)
}

// selectedBelow is selected for the selections of any field that is a page.
func selectedBelow(op *graphql.OperationContext, below ast.SelectionSet, args library.PageArgs) selection {
	l := lookahead{op: op}
	backwards := args.Last != nil || args.Before != nil
	for _, f := range l.fields(below, "LibraryConnection") {
		switch f.Name {
		case "edges":
			l.want.page = true
			l.edges(f.Selections)
		case "nodes":
			l.want.page = true
			l.items(f.Selections)
		case "pageInfo":
			l.want.page = true
			l.pageInfo(f.Selections, backwards)
		}
	}
	return l.want
}

type lookahead struct {
	op   *graphql.OperationContext
	want selection
}

// fields must name the types as the generated code does: what it has collected
// is then found again, and the other way round.
func (l *lookahead) fields(below ast.SelectionSet, types ...string) []graphql.CollectedField {
	return graphql.CollectFields(l.op, below, types)
}

func (l *lookahead) edges(below ast.SelectionSet) {
	for _, f := range l.fields(below, "LibraryEdge") {
		if f.Name == "node" {
			l.items(f.Selections)
		}
	}
}

func (l *lookahead) items(below ast.SelectionSet) {
	for _, f := range l.fields(below, "Content", "Node") {
		switch f.Name {
		case "viewerRole", "viewerCanShare", "viewerCanEdit", "viewerCanManage":
			l.want.standing = true
		}
	}
}

func (l *lookahead) pageInfo(below ast.SelectionSet, backwards bool) {
	for _, f := range l.fields(below, "PageInfo") {
		switch f.Name {
		case "hasPreviousPage":
			l.want.otherSide = l.want.otherSide || !backwards
		case "hasNextPage":
			l.want.otherSide = l.want.otherSide || backwards
		}
	}
}
