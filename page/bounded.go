package page

import (
	"context"

	"carrel/core/cursor"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// API is the Service with a deadline for each query: a query returns UNAVAILABLE if the store does
// not answer in time. Mutations have their own deadlines.
type API struct{ *Service }

// inTime runs a query with a deadline.
func inTime[T any](ctx context.Context, a API, query func(context.Context) (T, error)) (T, error) {
	return sched.InTime(ctx, a.rt, query)
}

// Texts is Service.Texts.
func (a API) Texts(ctx context.Context, v *principal.Viewer, ids []library.ContentID, q TextQuery) ([]*Revision, error) {
	return inTime(ctx, a, func(ctx context.Context) ([]*Revision, error) { return a.Service.Texts(ctx, v, ids, q) })
}

// Revision is Service.Revision.
func (a API) Revision(ctx context.Context, v *principal.Viewer, id library.ContentID, k RevisionKey) (*Revision, error) {
	return inTime(ctx, a, func(ctx context.Context) (*Revision, error) { return a.Service.Revision(ctx, v, id, k) })
}

// Branch is Service.Branch.
func (a API) Branch(ctx context.Context, v *principal.Viewer, id library.ContentID, number *int, working bool) (*Branch, error) {
	return inTime(ctx, a, func(ctx context.Context) (*Branch, error) { return a.Service.Branch(ctx, v, id, number, working) })
}

// Branches is Service.Branches.
func (a API) Branches(ctx context.Context, v *principal.Viewer, id library.ContentID, args cursor.PageArgs) (*BranchConnection, error) {
	return inTime(ctx, a, func(ctx context.Context) (*BranchConnection, error) { return a.Service.Branches(ctx, v, id, args) })
}

// Locales is Service.Locales.
func (a API) Locales(ctx context.Context, b *Branch) ([]string, error) {
	return inTime(ctx, a, func(ctx context.Context) ([]string, error) { return a.Service.Locales(ctx, b) })
}

// Revisions is Service.Revisions.
func (a API) Revisions(ctx context.Context, b *Branch, locale *string, args cursor.PageArgs) (*RevisionConnection, error) {
	return inTime(ctx, a, func(ctx context.Context) (*RevisionConnection, error) {
		return a.Service.Revisions(ctx, b, locale, args)
	})
}

// Suggestion is Service.Suggestion.
func (a API) Suggestion(ctx context.Context, v *principal.Viewer, id string) (*Suggestion, error) {
	return inTime(ctx, a, func(ctx context.Context) (*Suggestion, error) { return a.Service.Suggestion(ctx, v, id) })
}

// Suggestions is Service.Suggestions.
func (a API) Suggestions(ctx context.Context, v *principal.Viewer, id library.ContentID, state *State, args cursor.PageArgs) (*SuggestionConnection, error) {
	return inTime(ctx, a, func(ctx context.Context) (*SuggestionConnection, error) {
		return a.Service.Suggestions(ctx, v, id, state, args)
	})
}

// Draft is Service.Draft.
func (a API) Draft(ctx context.Context, v *principal.Viewer, id library.ContentID, branch int, locale string) (*Draft, error) {
	return inTime(ctx, a, func(ctx context.Context) (*Draft, error) { return a.Service.Draft(ctx, v, id, branch, locale) })
}

// Drafts is Service.Drafts.
func (a API) Drafts(ctx context.Context, v *principal.Viewer, user principal.ID, args cursor.PageArgs) (*DraftConnection, error) {
	return inTime(ctx, a, func(ctx context.Context) (*DraftConnection, error) { return a.Service.Drafts(ctx, v, user, args) })
}

// Body returns the body of a Revision, a Draft or a Suggestion.
func (a API) Body(ctx context.Context, of Bodied) (string, error) {
	return inTime(ctx, a, func(ctx context.Context) (string, error) {
		bodies, err := a.bodies(ctx, []text{of.bodyText()})
		if err != nil {
			return "", err
		}
		return bodies[0], nil
	})
}
