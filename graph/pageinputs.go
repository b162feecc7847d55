package graph

import "carrel/note"

// Inputs of mutations of pages as clients send them.

// CreateBranchInput describes a new branch of an item.
type CreateBranchInput struct {
	ContentID        string
	CopyFrom         *int
	IdempotencyKey   *string
	ClientMutationID *string
}

// SetCurrentBranchInput names the branch that visitors see, or that editors work on.
type SetCurrentBranchInput struct {
	ContentID        string
	Branch           int
	Working          *bool
	ClientMutationID *string
}

// SaveRevisionInput contains a text to save.
type SaveRevisionInput struct {
	ContentID        string
	Branch           *int
	Locale           *string
	Title            string
	Body             string
	BaseRevision     *int
	Publish          *bool
	IdempotencyKey   *string
	ClientMutationID *string
}

// PublishRevisionInput names a revision to publish.
type PublishRevisionInput struct {
	ContentID        string
	Branch           int
	Locale           *string
	Number           int
	ClientMutationID *string
}

// SaveDraftInput contains a text to save as a draft.
type SaveDraftInput struct {
	ContentID        string
	Branch           *int
	Locale           *string
	Title            string
	Body             string
	BaseRevision     *int
	ExpectedVersion  *int
	ClientMutationID *string
}

// PublishDraftInput names a draft to publish.
type PublishDraftInput struct {
	ContentID        string
	Branch           *int
	Locale           *string
	Force            *bool
	ClientMutationID *string
}

// DiscardDraftInput names a draft to remove.
type DiscardDraftInput struct {
	ContentID        string
	Branch           *int
	Locale           *string
	ClientMutationID *string
}

// SuggestRevisionInput contains a proposed text.
type SuggestRevisionInput struct {
	ContentID        string
	Branch           *int
	Locale           *string
	Title            string
	Body             string
	Note             *string
	IdempotencyKey   *string
	ClientMutationID *string
}

// DecideSuggestionInput contains a decision on a suggestion.
type DecideSuggestionInput struct {
	ID               string
	Decision         note.Decision
	Force            *bool
	ClientMutationID *string
}
