package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/core/cursor"
	"carrel/graph"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// Branch returns a branch of an item.
func (r contents) Branch(ctx context.Context, c *library.Content, number *int, working *bool) (*note.Branch, error) {
	return r.Notes.Branch(ctx, viewer(ctx), c.ID, number, given(working))
}

// Branches returns a page of the branches of an item.
func (r contents) Branches(ctx context.Context, c *library.Content, first *int, after *string) (*note.BranchConnection, error) {
	return r.Notes.Branches(ctx, viewer(ctx), c.ID, cursor.PageArgs{First: first, After: after})
}

// Revision returns the text of an item. Its arguments are read from the field in ctx.
func (r contents) Revision(ctx context.Context, c *library.Content, _ *string, _ *bool, _, _ *int, _ *bool) (*note.Revision, error) {
	q, err := graph.TextQueryOf(ctx, graphql.GetFieldContext(ctx).Field)
	if err != nil {
		return nil, err
	}
	return r.text(ctx, c, q)
}

// text returns the text of an item, without a read if possible.
func (r *Root) text(ctx context.Context, c *library.Content, q note.TextQuery) (*note.Revision, error) {
	if text, ok, err := r.Notes.Shown(c, &q); ok {
		return text, err
	}
	return loaders(ctx).Text(ctx, c.ID, q)
}

// Suggestions returns a page of the suggestions for an item.
func (r contents) Suggestions(ctx context.Context, c *library.Content, state *note.State, first *int,
	after *string) (*note.SuggestionConnection, error) {
	return r.Notes.Suggestions(ctx, viewer(ctx), c.ID, state, cursor.PageArgs{First: first, After: after})
}

// Drafts returns a page of the drafts of a user.
func (r users) Drafts(ctx context.Context, u *principal.User, first *int, after *string) (*note.DraftConnection, error) {
	found, err := r.Notes.Drafts(ctx, viewer(ctx), u.ID, cursor.PageArgs{First: first, After: after})
	if err != nil {
		return nil, err
	}
	for _, d := range found.Nodes() {
		loaders(ctx).Items(d.Content)
	}
	return found, nil
}

// Locales returns the locales of a branch.
func (r branches) Locales(ctx context.Context, b *note.Branch) ([]string, error) {
	return r.Notes.Locales(ctx, b)
}

// Revisions returns a page of the revisions of a branch.
func (r branches) Revisions(ctx context.Context, b *note.Branch, locale *string, first *int,
	after *string) (*note.RevisionConnection, error) {
	found, err := r.Notes.Revisions(ctx, b, locale, cursor.PageArgs{First: first, After: after})
	if err != nil {
		return nil, err
	}
	authors := make([]principal.ID, len(found.Edges))
	for i, e := range found.Edges {
		authors[i] = e.Node.Author
	}
	loaders(ctx).Principals.Expect(authors)
	return found, nil
}

// Author returns the author of a revision, or nil if the viewer may not see the author.
func (revisions) Author(ctx context.Context, rev *note.Revision) (*principal.User, error) {
	return user(ctx, rev.Author)
}

// Body returns the text of a revision.
func (r revisions) Body(ctx context.Context, rev *note.Revision) (string, error) {
	return r.body(ctx, rev)
}

// Author returns the author of a draft. It is the viewer: nobody else sees a draft.
func (drafts) Author(ctx context.Context, d *note.Draft) (*principal.User, error) {
	return user(ctx, d.Author)
}

// Body returns the text of a draft.
func (r drafts) Body(ctx context.Context, d *note.Draft) (string, error) { return r.body(ctx, d) }

// Author returns the author of a suggestion, or nil if the viewer may not see the author.
func (suggestions) Author(ctx context.Context, s *note.Suggestion) (*principal.User, error) {
	return user(ctx, s.Author)
}

// DecidedBy returns the user who decided a suggestion. It returns nil if the suggestion is
// undecided, or the viewer may not see who decided it.
func (suggestions) DecidedBy(ctx context.Context, s *note.Suggestion) (*principal.User, error) {
	if s.DecidedBy == "" {
		return nil, nil
	}
	return user(ctx, s.DecidedBy)
}

// Body returns the text of a suggestion.
func (r suggestions) Body(ctx context.Context, s *note.Suggestion) (string, error) {
	return r.body(ctx, s)
}

// ResultingRevision returns the revision that a suggestion has become.
func (r suggestions) ResultingRevision(ctx context.Context, s *note.Suggestion) (*note.Revision, error) {
	if s.Resulting == nil {
		return nil, nil
	}
	return r.Notes.Revision(ctx, viewer(ctx), s.Content.ID, note.RevisionKey{Branch: s.Branch, Locale: s.Locale,
		Number: *s.Resulting})
}

// body reads a text. It reserves the memory first, because twenty long texts at once take as much
// as a whole answer.
func (r *Root) body(ctx context.Context, of note.Bodied) (string, error) {
	answer := graph.ExecutionOf(ctx).Body
	answer.Hold(of.Size())
	if err := answer.Err(); err != nil {
		return "", err
	}
	return r.Notes.Body(ctx, of)
}

// user returns the user with an id, or nil if the viewer may not see the user or the id is empty.
func user(ctx context.Context, id principal.ID) (*principal.User, error) {
	if id == "" {
		return nil, nil
	}
	p, err := loaders(ctx).Principals.Load(ctx, id)
	u, _ := p.(*principal.User)
	return u, err
}
