package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/core/fault"
	"carrel/core/input"
	"carrel/graph"
	"carrel/library"
)

var _ graph.SubgraphResolver = (*Root)(nil)

// Subgraph answers what composers are told.
func (r *Root) Subgraph(context.Context) (*graph.Subgraph, error) { return r.Schema, nil }

// Entities answers objects in the order of their references, as nodes does,
// and each object is read once. A reference that is none is an error at its
// place in the list, which routers need to tell whose it is.
func (r *Root) Entities(ctx context.Context, representations []*graph.Representation) ([]library.Node, error) {
	if len(representations) > input.MaxList {
		return nil, fault.BadInputf("%d representations: at most %d can be asked for at once", len(representations), input.MaxList)
	}
	ids, places := distinct(representations)
	found, err := queries{r}.Nodes(ctx, ids)
	if err != nil {
		return nil, err
	}
	entities := make([]library.Node, len(representations))
	for i, ref := range representations {
		if place, ok := places[ref.ID]; ok {
			entities[i] = found[place]
		}
		if ref.Fault != nil {
			path := append(graphql.GetPath(ctx), ast.PathIndex(i))
			graphql.AddError(ctx, &gqlerror.Error{Err: ref.Fault, Path: path})
		}
	}
	return entities, nil
}

// distinct are the ids that are to be read, each with its place among them.
func distinct(representations []*graph.Representation) (ids []string, places map[string]int) {
	places = make(map[string]int, len(representations))
	for _, r := range representations {
		if _, ok := places[r.ID]; ok || r.ID == "" {
			continue
		}
		places[r.ID] = len(ids)
		ids = append(ids, r.ID)
	}
	return ids, places
}
