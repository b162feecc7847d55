package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/auth"
	"carrel/graph"
	"carrel/library"
)

// prefetch has the pages begun that are selected below the field being resolved,
// whose answer will be id: their first slices are read beside it, and not after.
func (r *Root) prefetch(ctx context.Context, id library.PrincipalID) {
	l := lookahead{op: graphql.GetOperationContext(ctx)}
	object := "User"
	if id.IsGroup() {
		object = "Group"
	}
	for _, f := range l.fields(graphql.GetFieldContext(ctx).Field.Selections, object, "Node", "Principal", "_Entity") {
		if f.Name != "library" {
			continue
		}
		q, err := libraryQuery(f.ArgumentMap(l.op.Variables))
		if err != nil {
			continue // the field will tell of it
		}
		selectedBelow(l.op, f.Selections, q.PageArgs).ask(&q)
		r.Library.Prefetch(ctx, auth.ViewerFrom(ctx), id, q)
	}
}

// libraryQuery reads the arguments of a field that is a page of a library.
func libraryQuery(raw map[string]any) (q library.LibraryQuery, err error) {
	q.First, err = argument(raw, "first", graph.UnmarshalInt, err)
	q.After, err = argument(raw, "after", graphql.UnmarshalString, err)
	q.Last, err = argument(raw, "last", graph.UnmarshalInt, err)
	q.Before, err = argument(raw, "before", graphql.UnmarshalString, err)
	shared, err := argument(raw, "includeShared", graphql.UnmarshalBoolean, err)
	order, _ := raw["orderBy"].(map[string]any)
	descending, err := argument(order, "direction", graph.UnmarshalOrderDirection, err)
	q.IncludeShared = shared != nil && *shared
	q.Descending = descending != nil && *descending
	return q, err
}

// argument is nil where it is not given, and err that of those before it.
func argument[T any](raw map[string]any, name string, decode func(any) (T, error), err error) (*T, error) {
	if raw[name] == nil || err != nil {
		return nil, err
	}
	value, err := decode(raw[name])
	return &value, err
}
