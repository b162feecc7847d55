package resolvers

import (
	"context"

	"carrel/graph"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// librarySubscription is a subscription to the changes of a library.
type librarySubscription struct {
	library.Subscription
	execution *graph.Execution
}

// Next implements graph.Source. Changes that the viewer may not see are not paid for: their number
// would show in the balance.
func (f librarySubscription) Next(ctx context.Context, pay func() bool) (any, error) {
	change, err := f.Subscription.Next(ctx)
	f.BillTo(f.execution.Viewer)
	if err != nil || !pay() {
		return nil, err
	}
	return change, nil
}

// pasteSubscription is a subscription to new pastes.
type pasteSubscription struct{ *paste.Follower }

// Next implements graph.Source. Each paste is paid for before it is read, also if it is not shown
// then.
func (f pasteSubscription) Next(ctx context.Context, pay func() bool) (any, error) {
	f.Await(ctx)
	if err := ctx.Err(); err != nil || !pay() {
		return nil, err
	}
	if p, err := f.Follower.Next(ctx); p != nil || err != nil {
		return p, err
	}
	return nil, graph.ErrNotShown
}

var _ graph.SourceResolver = (*Root)(nil)

// LibraryChanged follows a library until ctx ends.
func (r *Root) LibraryChanged(ctx context.Context, principalID string, after *string) (graph.Source, error) {
	f, err := r.Feed.Follow(ctx, viewer(ctx), principalID, after)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, f.Close)
	return librarySubscription{f, graph.ExecutionOf(ctx)}, nil
}

// By returns the user who made the change, or nil if the viewer may not see that user.
func (placed) By(ctx context.Context, c *library.LibraryEntryPlaced) (*principal.User, error) {
	return user(ctx, c.By)
}

// By returns the user who made the change, or nil if the viewer may not see that user.
func (removed) By(ctx context.Context, c *library.LibraryEntryRemoved) (*principal.User, error) {
	return user(ctx, c.By)
}

// PasteCreated follows the public pastes until ctx ends.
func (r *Root) PasteCreated(ctx context.Context, after *string) (graph.Source, error) {
	f, err := r.Pastes.Follow(ctx, after)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, f.Close)
	return pasteSubscription{f}, nil
}
