// Package dataloader batches the many small look-ups of one operation into few large ones: who
// created these items, and what the viewer may do with them.
//
// There is no timer. A resolver that returns a list announces the ids that its elements may load
// (Expect). The first element that loads its id loads all announced ids in one call, and the others
// find their results in the cache. If no field loads an id, nothing is read. So a page costs at
// most one call of each loader, and so does a single object.
//
// Results are cached by id, for one operation and one viewer. They come from the Services, never
// from a Store, so a loader returns nothing that the viewer may not see.
package dataloader

import (
	"context"

	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// Principals, Permissions and Texts are the parts of the domains that loaders read from.
type (
	Principals interface {
		Principals(ctx context.Context, v *principal.Viewer, ids []principal.ID) ([]principal.Principal, error)
	}
	Permissions interface {
		PermissionsOf(ctx context.Context, v *principal.Viewer, ids []library.ContentID) ([]*library.Permissions, error)
	}
	Texts interface {
		Texts(ctx context.Context, v *principal.Viewer, ids []library.ContentID, q note.TextQuery) ([]*note.Revision, error)
	}
)

// Loaders are the loaders of one operation.
type Loaders struct {
	// Principals loads principals, nil for one that the viewer may not see.
	Principals Loader[principal.ID, principal.Principal]
	// Permissions loads the viewer's permissions, nil for an item that the viewer may not see.
	Permissions Loader[library.ContentID, *library.Permissions]

	texts texts
}

// Observe is called for each call of a loader with the loader's name, one of a fixed set, and the
// number of ids.
type Observe func(loader string, ids int)

// New returns the loaders of one operation. If observe is not nil, it is called for each of their
// calls.
func New(people Principals, items Permissions, pages Texts, v *principal.Viewer, observe Observe) *Loaders {
	if observe == nil {
		observe = func(string, int) {}
	}
	return &Loaders{
		Principals: newLoader(func(ctx context.Context, ids []principal.ID) ([]principal.Principal, error) {
			observe("principals", len(ids))
			return people.Principals(ctx, v, ids)
		}),
		Permissions: newLoader(func(ctx context.Context, ids []library.ContentID) ([]*library.Permissions, error) {
			observe("permissions", len(ids))
			return items.PermissionsOf(ctx, v, ids)
		}),
		texts: texts{load: func(q note.TextQuery) *Loader[library.ContentID, *note.Revision] {
			l := newLoader(func(ctx context.Context, ids []library.ContentID) ([]*note.Revision, error) {
				observe("texts", len(ids))
				return pages.Texts(ctx, v, ids, q)
			})
			return &l
		}},
	}
}

// Forget drops everything that was loaded or announced. The mutations of one operation run one
// after another, and each must return things as they are after it.
func (l *Loaders) Forget() {
	l.Principals.forget()
	l.Permissions.forget()
	l.texts.forget()
}

// Page announces the ids that the items of a page may load.
func (l *Loaders) Page(edges []*library.LibraryEdge) {
	creators := make([]principal.ID, len(edges))
	for i, e := range edges {
		creators[i] = e.Node.Creator
	}
	l.Principals.Expect(creators)
	ids := make([]library.ContentID, 0, len(edges))
	all := make([]library.ContentID, 0, len(edges))
	for _, e := range edges {
		all = append(all, e.Node.ID)
		if e.Permissions != nil {
			l.Permissions.Prime(e.Node.ID, e.Permissions)
		} else {
			ids = append(ids, e.Node.ID)
		}
	}
	l.Permissions.Expect(ids)
	l.texts.expect(all)
}

// Items announces the ids that single items may load.
func (l *Loaders) Items(items ...*library.Content) {
	creators := make([]principal.ID, 0, len(items))
	ids := make([]library.ContentID, 0, len(items))
	for _, c := range items {
		creators = append(creators, c.Creator)
		ids = append(ids, c.ID)
	}
	l.Principals.Expect(creators)
	l.Permissions.Expect(ids)
	l.texts.expect(ids)
}
