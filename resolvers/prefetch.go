package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/auth"
	"carrel/graph"
	"carrel/principal"
)

// prefetch starts to read the pages that are selected below the field being
// resolved, which answers the principal of id: their first slices are then read
// beside the principal, and not after it. Where the store is in this process that
// gains nothing, so the selection is not looked at.
func (r *Root) prefetch(ctx context.Context, id principal.ID) {
	if !r.Library.Prefetches() {
		return
	}
	object := "User"
	if id.IsGroup() {
		object = "Group"
	}
	// The types are those that the generated code names: gqlgen keeps what it has
	// collected for them.
	below := graphql.GetFieldContext(ctx).Field.Selections
	for _, f := range graphql.CollectFields(graphql.GetOperationContext(ctx), below, []string{object, "Node", "Principal", "_Entity"}) {
		if f.Name != "library" {
			continue
		}
		if page, err := graph.PageBelow(ctx, f); err == nil {
			r.Library.Prefetch(ctx, auth.ViewerFrom(ctx), id, page.Query)
		}
	}
}
