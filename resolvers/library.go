package resolvers

import (
	"context"

	"carrel/core/fault"
	"carrel/graph"
	"carrel/library"
	"carrel/principal"
)

// orEmpty returns an empty list if the viewer does not see the user or the group whose list it is: managers are shown
// all members of their items and groups, and what a query has found may vanish before its lists are read.
func orEmpty[List any](list *List, err error) (*List, error) {
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return new(List), nil
	}
	return list, err
}

// page returns the page of owner's library for the field being resolved.
func (r *Root) page(ctx context.Context, owner principal.ID) (*library.LibraryConnection, error) {
	conn, err := orEmpty(r.Listing.Library(ctx, viewer(ctx), owner, graph.CurrentPage(ctx).Query))
	if err != nil {
		return nil, err
	}
	if conn.Owner == "" {
		conn.Bucket = principal.Public
	}
	hold(ctx, conn.Bytes())
	loaders(ctx).Page(conn.Edges)
	return conn, nil
}

// hold reserves memory of the answer for bytes that were read, whether they are selected or not. The
// answer fails if it is not free.
func hold(ctx context.Context, bytes int) {
	graph.ExecutionOf(ctx).Body.Hold(bytes)
}

// Count counts the entries of the bucket. It is a resolver, so that they are only counted if the
// field is selected.
func (r connections) Count(ctx context.Context, c *library.LibraryConnection) (*library.Count, error) {
	count, err := r.Listing.LibraryCount(ctx, c)
	if err != nil {
		return nil, err
	}
	return &count, nil
}
