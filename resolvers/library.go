package resolvers

import (
	"context"

	"carrel/auth"
	"carrel/dataloader"
	"carrel/graph"
	"carrel/library"
)

// page answers a page of owner's library, with as much of it as is selected.
func (r *Root) page(ctx context.Context, owner library.PrincipalID, args library.PageArgs, orderBy *graph.LibraryOrder, includeShared *bool) (*library.LibraryConnection, error) {
	q := library.LibraryQuery{
		PageArgs:      args,
		Descending:    orderBy != nil && orderBy.Descending,
		IncludeShared: includeShared != nil && *includeShared,
	}
	selected(ctx, args).ask(&q)
	conn, err := r.Library.Library(ctx, auth.ViewerFrom(ctx), owner, q)
	if err != nil {
		return nil, err
	}
	dataloader.From(ctx).Page(conn.Edges)
	return conn, nil
}

// Count counts the bucket; it is a resolver so that nothing is counted unless
// it is asked for.
func (r connections) Count(ctx context.Context, c *library.LibraryConnection) (*library.Count, error) {
	count, err := r.Library.LibraryCount(ctx, c)
	if err != nil {
		return nil, err
	}
	return &count, nil
}
