package resolvers

import (
	"context"

	"carrel/dataloader"
	"carrel/lease"
	"carrel/library"
	"carrel/library/follow"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
	"carrel/repair"
)

// Services are the Services of the domains.
type Services struct {
	People  *principal.Service
	Library *library.Service
	// PeopleByID and ItemsByID are People and Library, where they look up objects by their ids.
	PeopleByID dataloader.Principals
	ItemsByID  Items
	Listing    Listing
	Feed       *follow.Service
	Repair     *repair.Service
	Notes      *note.Service
	Pastes     *paste.Service
	Leases     *lease.Service
}

// Items looks up items.
type Items interface {
	dataloader.Permissions
	// Nodes returns nodes in the order of ids, which are at most MaxList; more are
	// BAD_USER_INPUT. A malformed id is nil, at its index.
	Nodes(ctx context.Context, v *principal.Viewer, ids []string) ([]library.Node, error)
	// Contents returns items in the order of ids, nil for one that the viewer may not see.
	Contents(ctx context.Context, v *principal.Viewer, ids []library.ContentID) ([]*library.Content, error)
}

// Listing is what the resolvers call of listing.Service.
type Listing interface {
	// Library reads a page. Errors: BAD_USER_INPUT, BAD_CURSOR; UNAVAILABLE while a lost
	// library is being rebuilt.
	Library(ctx context.Context, v *principal.Viewer, owner principal.ID, q library.LibraryQuery) (*library.LibraryConnection, error)
	// Begin begins to read a page, and returns the function that returns it as Library does.
	Begin(ctx context.Context, v *principal.Viewer, owner principal.ID,
		q library.LibraryQuery) func(context.Context) (*library.LibraryConnection, error)
	LibraryCount(ctx context.Context, c *library.LibraryConnection) (library.Count, error)
}
