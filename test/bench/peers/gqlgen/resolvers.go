package main

import (
	"context"
	"errors"
	"slices"

	"carrel-bench-gqlgen/generated"
	"carrel-bench-gqlgen/library"
)

// A resolver has the resolvers of all types.
type resolver struct{ data *library.Data }

func (r *resolver) Query() generated.QueryResolver     { return queryResolver{r.data} }
func (r *resolver) User() generated.UserResolver       { return userResolver{r.data} }
func (r *resolver) Content() generated.ContentResolver { return contentResolver{} }

type queryResolver struct{ data *library.Data }

func (r queryResolver) User(_ context.Context, id string) (*library.User, error) {
	return r.data.Users[id], nil
}

type userResolver struct{ data *library.Data }

func (r userResolver) Library(_ context.Context, owner *library.User, first *int, after *string,
	orderBy *generated.LibraryOrder) (*generated.LibraryConnection, error) {
	edges := r.data.Libraries[owner.ID]
	if orderBy != nil && orderBy.Direction == generated.OrderDirectionDesc {
		edges = slices.Clone(edges)
		slices.Reverse(edges)
	}
	if after != nil {
		at := slices.IndexFunc(edges, func(e *library.LibraryEdge) bool { return e.Cursor == *after })
		if at < 0 {
			return nil, errors.New("no entry has this cursor")
		}
		edges = edges[at+1:]
	}
	size := 20
	if first != nil {
		size = max(*first, 0)
	}
	shown := edges[:min(size, len(edges))]
	info := &generated.PageInfo{HasNextPage: len(shown) < len(edges)}
	if len(shown) > 0 {
		info.EndCursor = &shown[len(shown)-1].Cursor
	}
	return &generated.LibraryConnection{Edges: shown, PageInfo: info}, nil
}

type contentResolver struct{}

func (contentResolver) CreatedBy(ctx context.Context, item *library.Content) (*library.User, error) {
	return loaderOf(ctx).Load(ctx, item.Creator.ID)
}
