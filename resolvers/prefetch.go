package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/graph"
	"carrel/principal"
)

// prefetch starts to read the pages of libraries that are selected below the field being resolved,
// which returns the principal with id. So their first slices are read at the same time as the
// principal, and not after it. It does nothing for a store in this process, because that would save
// no time.
func (r *Root) prefetch(ctx context.Context, id principal.ID) {
	if !r.Listing.Prefetches() {
		return
	}
	object := "User"
	if id.IsGroup() {
		object = "Group"
	}
	// These must be the types that the generated code uses, because gqlgen caches the collected
	// fields by them.
	below := graphql.GetFieldContext(ctx).Field.Selections
	for _, f := range graphql.CollectFields(graphql.GetOperationContext(ctx), below, []string{object, "Node", "Principal", "_Entity"}) {
		if f.Name != "library" {
			continue
		}
		// A page with shared items reads many libraries. If the principal turned out not to be visible, it
		// would be abandoned at some point, and what it had read by then would be paid.
		if page, err := graph.PageBelow(ctx, f); err == nil && !page.Query.IncludeShared {
			r.Listing.Prefetch(ctx, viewer(ctx), id, page.Query)
		}
	}
}
