package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/auth"
	"carrel/graph"
	"carrel/library"
)

// subscription is one subscription to the changes of a library. It is also the
// resolvers of its operation: the resolver of libraryChanged has to return a
// channel, which Next hands each change to.
type subscription struct {
	*Root
	following library.Following
	changes   chan library.LibraryChange // holds at most the change that is being written
	writer    graph.Subscription         // the generated code, which writes what changes holds
	ended     bool
}

var (
	_ graph.ResolverRoot         = (*subscription)(nil)
	_ graph.SubscriptionResolver = (*subscription)(nil)
	_ graph.Subscription         = (*subscription)(nil)
)

func newSubscription(r *Root) *subscription {
	return &subscription{Root: r, changes: make(chan library.LibraryChange, 1)}
}

// Subscription answers the root fields of subscriptions.
func (s *subscription) Subscription() graph.SubscriptionResolver { return s }

// LibraryChanged begins to follow a library, until ctx ends.
func (s *subscription) LibraryChanged(ctx context.Context, principalID string, after *string) (<-chan library.LibraryChange, error) {
	f, err := s.Library.Follow(ctx, auth.ViewerFrom(ctx), principalID, after)
	if err != nil {
		return nil, err
	}
	s.following = f
	context.AfterFunc(ctx, f.Close)
	return s.changes, nil
}

// Await implements graph.Subscription.
func (s *subscription) Await(ctx context.Context) {
	if !s.ended {
		s.following.Await(ctx)
	}
}

// Next implements graph.Subscription. Each event has loaders of its own, made
// when there is one: most subscriptions wait most of the time. The change is
// authorized for the viewer of ctx at the moment when it is written.
func (s *subscription) Next(ctx context.Context) *graphql.Response {
	if s.ended {
		return nil
	}
	change, err := s.following.Next(ctx)
	s.following.BillTo(auth.ViewerFrom(ctx))
	if err != nil {
		s.ended = true
		if ctx.Err() != nil {
			return nil
		}
		graphql.AddError(ctx, err)
		return &graphql.Response{Data: []byte("null")}
	}
	s.changes <- change
	return s.writer.Next(s.withLoaders(ctx))
}
