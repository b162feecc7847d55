package resolvers

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"

	"carrel/auth"
	"carrel/graph"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// subscription is one subscription. It is also the resolver root of its operation: the resolver of
// its field must return a channel, to which Next sends each event.
type subscription struct {
	*Root
	source source
	writer graph.Subscription // the generated code, which writes the event in the channel
	ended  bool
}

// source is the source of a subscription's events.
type source interface {
	// Await waits until next has something to return, or ctx ends.
	Await(ctx context.Context)
	// next waits for the next event and puts it into the channel of its field. It calls pay before
	// it does more work for the event, and returns errUnpaid if pay returns false.
	next(ctx context.Context, pay func() bool) error
	// Cursor returns a cursor after which another subscription continues.
	Cursor() string
}

// errUnpaid ends a subscription whose events are not paid for any more.
var errUnpaid = errors.New("the event was not paid for")

// librarySubscription is a subscription to the changes of a library.
type librarySubscription struct {
	library.Subscription
	changes chan library.LibraryChange // buffers at most the change that is being written
}

// next implements source. Changes that the viewer may not see are not paid for: their number would
// show in the balance.
func (f librarySubscription) next(ctx context.Context, pay func() bool) error {
	change, err := f.Next(ctx)
	f.BillTo(auth.ViewerFrom(ctx))
	if err != nil {
		return err
	}
	if !pay() {
		return errUnpaid
	}
	f.changes <- change
	return nil
}

// pasteSubscription is a subscription to new pastes.
type pasteSubscription struct {
	*paste.Follower
	pastes chan *paste.Paste // buffers at most the paste that is being written
}

// next implements source. Each paste is paid for before it is read, also if it is not shown then.
func (f pasteSubscription) next(ctx context.Context, pay func() bool) error {
	for {
		f.Await(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if !pay() {
			return errUnpaid
		}
		p, err := f.Next(ctx)
		if err != nil {
			return err
		}
		if p != nil {
			f.pastes <- p
			return nil
		}
	}
}

var (
	_ graph.ResolverRoot         = (*subscription)(nil)
	_ graph.SubscriptionResolver = (*subscription)(nil)
	_ graph.Subscription         = (*subscription)(nil)
)

func newSubscription(r *Root) *subscription {
	return &subscription{Root: r}
}

// Subscription returns the resolver of the root fields of subscriptions.
func (s *subscription) Subscription() graph.SubscriptionResolver { return s }

// LibraryChanged follows a library until ctx ends.
func (s *subscription) LibraryChanged(ctx context.Context, principalID string, after *string) (<-chan library.LibraryChange, error) {
	f, err := s.Feed.Follow(ctx, auth.ViewerFrom(ctx), principalID, after)
	if err != nil {
		return nil, err
	}
	changes := make(chan library.LibraryChange, 1)
	s.source = librarySubscription{f, changes}
	context.AfterFunc(ctx, f.Close)
	return changes, nil
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
func (s *subscription) PasteCreated(ctx context.Context, after *string) (<-chan *paste.Paste, error) {
	f, err := s.Pastes.Follow(ctx, after)
	if err != nil {
		return nil, err
	}
	created := make(chan *paste.Paste, 1)
	s.source = pasteSubscription{f, created}
	context.AfterFunc(ctx, f.Close)
	return created, nil
}

// Await implements graph.Subscription.
func (s *subscription) Await(ctx context.Context) {
	if !s.ended {
		s.source.Await(ctx)
	}
}

// Next implements graph.Subscription. Each event has its own loaders. They are created when the
// event arrives, because most subscriptions are idle most of the time. The change is authorized for
// the viewer of ctx when it is written.
func (s *subscription) Next(ctx context.Context, pay func() bool) *graphql.Response {
	if s.ended {
		return nil
	}
	if err := s.source.next(ctx, pay); err != nil {
		s.ended = true
		if ctx.Err() != nil || errors.Is(err, errUnpaid) {
			return nil
		}
		graphql.AddError(ctx, err)
		return &graphql.Response{Data: []byte("null")}
	}
	return s.writer.Next(s.withLoaders(ctx), func() bool { return true })
}

// Cursor implements graph.Subscription.
func (s *subscription) Cursor() string { return s.source.Cursor() }
