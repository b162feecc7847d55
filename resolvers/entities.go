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

// Subgraph returns the schema for composers.
func (r *Root) Subgraph(context.Context) (*graph.Subgraph, error) { return r.Schema, nil }

// Entities returns objects in the order of their references, as Nodes does, and reads each object
// once. An invalid reference is an error at its index in the list, by which routers know which one
// it is.
func (r *Root) Entities(ctx context.Context, representations []graph.Representation) ([]library.Node, error) {
	if len(representations) > input.MaxList {
		return nil, fault.BadInputf("%d representations: at most %d are allowed", len(representations), input.MaxList)
	}
	ids, indexes := distinct(representations)
	found, err := queries{r}.Nodes(ctx, ids)
	if err != nil {
		return nil, err
	}
	entities := make([]library.Node, len(representations))
	for i, ref := range representations {
		if at, ok := indexes[ref.ID]; ok {
			entities[i] = found[at]
		}
		if ref.Fault != nil {
			path := append(graphql.GetPath(ctx), ast.PathIndex(i))
			graphql.AddError(ctx, &gqlerror.Error{Err: ref.Fault, Path: path})
		}
	}
	return entities, nil
}

// distinct returns the ids to read, and the index of each among them.
func distinct(representations []graph.Representation) (ids []string, indexes map[string]int) {
	indexes = make(map[string]int, len(representations))
	for _, r := range representations {
		if _, ok := indexes[r.ID]; ok || r.ID == "" {
			continue
		}
		indexes[r.ID] = len(ids)
		ids = append(ids, r.ID)
	}
	return ids, indexes
}
