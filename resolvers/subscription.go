package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/auth"
	"carrel/dataloader"
	"carrel/graph"
	"carrel/library"
)

// stream is the resolvers of one operation: the Root, and where its events come
// from, if it is a subscription.
type stream struct {
	*Root
	following *library.Following
	// changes carries one event to the generated code, which is about to take it.
	changes chan library.LibraryChange
	over    bool
}

var (
	_ graph.ResolverRoot         = (*stream)(nil)
	_ graph.SubscriptionResolver = (*stream)(nil)
)

func newStream(r *Root) *stream {
	return &stream{Root: r, changes: make(chan library.LibraryChange, 1)}
}

// Subscription answers the root fields of subscriptions.
func (s *stream) Subscription() graph.SubscriptionResolver { return s }

// LibraryChanged begins to follow a library, until ctx ends.
func (s *stream) LibraryChanged(ctx context.Context, principalID string, after *string) (<-chan library.LibraryChange, error) {
	f, err := s.Library.Follow(ctx, auth.ViewerFrom(ctx), principalID, after)
	if err != nil {
		return nil, err
	}
	s.following = f
	context.AfterFunc(ctx, f.Close)
	return s.changes, nil
}

// event answers one event, when it is asked for: rights are those of the moment
// in which it is written. Nil: there are no more.
func (s *stream) event(ctx context.Context, withLoaders func(context.Context) context.Context, write graphql.ResponseHandler) *graphql.Response {
	if s.over {
		return nil
	}
	change, err := s.following.Next(ctx)
	s.following.BillTo(auth.ViewerFrom(ctx))
	if err != nil {
		s.over = true
		if ctx.Err() != nil {
			return nil
		}
		graphql.AddError(ctx, err)
		return &graphql.Response{Data: []byte("null")}
	}
	ctx = withLoaders(ctx)
	if placed, ok := change.(*library.LibraryEntryPlaced); ok {
		dataloader.From(ctx).Items(placed.Edge.Node)
	}
	s.changes <- change
	return write(ctx)
}
