// Package dataloader answers many small questions of one operation with few
// large ones: who created these items, what may the viewer do with them.
//
// There is no timer. Whoever answers a list announces the ids that its
// elements may ask for (Expect); the first element that does ask loads all
// announced ids at once, and the others find theirs. What nobody asks for is
// never read. So a page costs one call, at the moment it is needed, and a
// single object costs one call too.
//
// Results are kept by id, for one operation and one viewer, and are asked of
// the Services, never of a Store: a loader shows nothing that the viewer may
// not see.
package dataloader

import (
	"context"
	"fmt"

	"carrel/library"
	"carrel/page"
	"carrel/principal"
)

// Source is the part of the domain that is loaded from.
type Source interface {
	Principals(ctx context.Context, v *principal.Viewer, ids []principal.ID) ([]principal.Principal, error)
	PermissionsOf(ctx context.Context, v *principal.Viewer, ids []library.ContentID) ([]*library.Permissions, error)
}

// Texts is the part of the domain of pages that is loaded from.
type Texts interface {
	Texts(ctx context.Context, v *principal.Viewer, ids []library.ContentID, q page.TextQuery) ([]*page.Revision, error)
}

// Loaders are those of one operation.
type Loaders struct {
	// Principals gives nil for a principal that the viewer may not see.
	Principals Loader[principal.ID, principal.Principal]
	// Permissions gives nil for an item that the viewer may not see.
	Permissions Loader[library.ContentID, *library.Permissions]

	texts texts
}

// Observe is told of each call of a loader: what it loads, of a closed list,
// and for how many ids.
type Observe func(loader string, ids int)

// New makes the loaders of one operation. Nobody is told of their calls where
// told is nil.
func New(from Source, pages Texts, v *principal.Viewer, told Observe) *Loaders {
	if told == nil {
		told = func(string, int) {}
	}
	return &Loaders{
		Principals: newLoader(func(ctx context.Context, ids []principal.ID) ([]principal.Principal, error) {
			told("principals", len(ids))
			return from.Principals(ctx, v, ids)
		}),
		Permissions: newLoader(func(ctx context.Context, ids []library.ContentID) ([]*library.Permissions, error) {
			told("standings", len(ids))
			return from.PermissionsOf(ctx, v, ids)
		}),
		texts: texts{load: func(q page.TextQuery) *Loader[library.ContentID, *page.Revision] {
			l := newLoader(func(ctx context.Context, ids []library.ContentID) ([]*page.Revision, error) {
				told("texts", len(ids))
				return pages.Texts(ctx, v, ids, q)
			})
			return &l
		}},
	}
}

// Forget drops everything that was loaded or announced. Mutations of one
// operation run one after another, and each must show things as it left them.
func (l *Loaders) Forget() {
	l.Principals.forget()
	l.Permissions.forget()
	l.texts.forget()
}

// Page announces what the items of a page may ask for.
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

// Items announces what single items may ask for.
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

type contextKey struct{}

// With gives ctx the loaders of its operation.
func With(ctx context.Context, l *Loaders) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// From is the loaders of the operation. It is a defect to run a resolver
// without them, and the panic says so.
func From(ctx context.Context) *Loaders {
	l, ok := ctx.Value(contextKey{}).(*Loaders)
	if !ok {
		panic(fmt.Errorf("an operation without loaders: run it by resolvers.NewSchema"))
	}
	return l
}
