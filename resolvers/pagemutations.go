package resolvers

import (
	"context"

	"carrel/graph"
	"carrel/library"
	"carrel/note"
)

// announce passes the item of a result to the loaders, because fields below it may load more of it.
// It returns the item.
func announce(ctx context.Context, c *library.Content) *library.Content {
	if c != nil {
		loaders(ctx).Items(c)
	}
	return c
}

// CreateBranch adds a branch.
func (m mutations) CreateBranch(ctx context.Context, in graph.CreateBranchInput) (*graph.CreateBranchPayload, error) {
	out, err := m.Notes.CreateBranch(ctx, m.begin(ctx), note.CreateBranch{ContentID: in.ContentID, CopyFrom: in.CopyFrom,
		IdempotencyKey: in.IdempotencyKey})
	faults, err := userErrors(ctx, err)
	p := &graph.CreateBranchPayload{UserErrors: faults, ClientMutationID: in.ClientMutationID}
	if out != nil {
		p.Branch = out.Branch
	}
	return p, err
}

// SetCurrentBranch changes the current branch.
func (m mutations) SetCurrentBranch(ctx context.Context, in graph.SetCurrentBranchInput) (*graph.SetCurrentBranchPayload, error) {
	out, err := m.Notes.SetCurrentBranch(ctx, m.begin(ctx), note.SetCurrentBranch{ContentID: in.ContentID, Branch: in.Branch,
		Working: given(in.Working)})
	faults, err := userErrors(ctx, err)
	p := &graph.SetCurrentBranchPayload{UserErrors: faults, ClientMutationID: in.ClientMutationID}
	if out != nil {
		p.Branch, p.Content = out.Branch, announce(ctx, out.Content)
		concerns(ctx, out.Libraries)
	}
	return p, err
}

// revisionOutcome converts a result of the domain for payloads.
func revisionOutcome(ctx context.Context, out *note.RevisionOutcome, err error) (note.RevisionOutcome, []graph.UserError, error) {
	faults, err := userErrors(ctx, err)
	if out == nil {
		return note.RevisionOutcome{}, faults, err
	}
	announce(ctx, out.Content)
	concerns(ctx, out.Libraries)
	return *out, faults, err
}

// SaveRevision saves a text. If publish is missing, the text is published: null stands for the
// default.
func (m mutations) SaveRevision(ctx context.Context, in graph.SaveRevisionInput) (*graph.SaveRevisionPayload, error) {
	answer, err := m.Notes.SaveRevision(ctx, m.begin(ctx), note.SaveRevision{
		ContentID: in.ContentID, Branch: in.Branch, Locale: in.Locale, Title: in.Title, Body: in.Body,
		BaseRevision: in.BaseRevision, Publish: in.Publish == nil || *in.Publish, IdempotencyKey: in.IdempotencyKey,
	})
	out, faults, err := revisionOutcome(ctx, answer, err)
	return &graph.SaveRevisionPayload{Revision: out.Revision, Content: out.Content, UserErrors: faults,
		ClientMutationID: in.ClientMutationID}, err
}

// PublishRevision makes a revision the current one.
func (m mutations) PublishRevision(ctx context.Context, in graph.PublishRevisionInput) (*graph.PublishRevisionPayload, error) {
	answer, err := m.Notes.PublishRevision(ctx, m.begin(ctx), note.PublishRevision{ContentID: in.ContentID, Branch: in.Branch,
		Locale: in.Locale, Number: in.Number})
	out, faults, err := revisionOutcome(ctx, answer, err)
	return &graph.PublishRevisionPayload{Revision: out.Revision, Content: out.Content, UserErrors: faults,
		ClientMutationID: in.ClientMutationID}, err
}

// SaveDraft saves a draft.
func (m mutations) SaveDraft(ctx context.Context, in graph.SaveDraftInput) (*graph.SaveDraftPayload, error) {
	d, err := m.Notes.SaveDraft(ctx, m.begin(ctx), note.SaveDraft{
		ContentID: in.ContentID, Branch: in.Branch, Locale: in.Locale, Title: in.Title, Body: in.Body,
		BaseRevision: in.BaseRevision, ExpectedVersion: in.ExpectedVersion,
	})
	faults, err := userErrors(ctx, err)
	if d != nil {
		announce(ctx, d.Content)
	}
	return &graph.SaveDraftPayload{Draft: d, UserErrors: faults, ClientMutationID: in.ClientMutationID}, err
}

// PublishDraft makes a draft the current revision.
func (m mutations) PublishDraft(ctx context.Context, in graph.PublishDraftInput) (*graph.PublishDraftPayload, error) {
	answer, err := m.Notes.PublishDraft(ctx, m.begin(ctx), note.PublishDraft{ContentID: in.ContentID, Branch: in.Branch,
		Locale: in.Locale, Force: given(in.Force)})
	out, faults, err := revisionOutcome(ctx, answer, err)
	return &graph.PublishDraftPayload{Revision: out.Revision, Content: out.Content, UserErrors: faults,
		ClientMutationID: in.ClientMutationID}, err
}

// DiscardDraft removes a draft.
func (m mutations) DiscardDraft(ctx context.Context, in graph.DiscardDraftInput) (*graph.DiscardDraftPayload, error) {
	discarded, err := m.Notes.DiscardDraft(ctx, m.begin(ctx), note.DiscardDraft{ContentID: in.ContentID, Branch: in.Branch, Locale: in.Locale})
	faults, failed := userErrors(ctx, err)
	p := &graph.DiscardDraftPayload{UserErrors: faults, ClientMutationID: in.ClientMutationID}
	if err == nil {
		p.Discarded = &discarded
	}
	return p, failed
}

// SuggestRevision proposes a text.
func (m mutations) SuggestRevision(ctx context.Context, in graph.SuggestRevisionInput) (*graph.SuggestRevisionPayload, error) {
	out, err := m.Notes.SuggestRevision(ctx, m.begin(ctx), note.SuggestRevision{
		ContentID: in.ContentID, Branch: in.Branch, Locale: in.Locale, Title: in.Title, Body: in.Body,
		Note: in.Note, IdempotencyKey: in.IdempotencyKey,
	})
	faults, err := userErrors(ctx, err)
	p := &graph.SuggestRevisionPayload{UserErrors: faults, ClientMutationID: in.ClientMutationID}
	if out != nil && out.Suggestion != nil {
		p.Suggestion = out.Suggestion
		announce(ctx, out.Suggestion.Content)
	}
	return p, err
}

// DecideSuggestion accepts, rejects or withdraws a suggestion.
func (m mutations) DecideSuggestion(ctx context.Context, in graph.DecideSuggestionInput) (*graph.DecideSuggestionPayload, error) {
	out, err := m.Notes.DecideSuggestion(ctx, m.begin(ctx), note.DecideSuggestion{ID: in.ID, Decision: in.Decision, Force: given(in.Force)})
	faults, err := userErrors(ctx, err)
	p := &graph.DecideSuggestionPayload{UserErrors: faults, ClientMutationID: in.ClientMutationID}
	if out != nil {
		p.Suggestion, p.Revision = out.Suggestion, out.Revision
		concerns(ctx, out.Libraries)
		if out.Suggestion != nil {
			announce(ctx, out.Suggestion.Content)
		}
	}
	return p, err
}
