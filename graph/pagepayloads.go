package graph

import (
	"carrel/library"
	"carrel/note"
)

// Payloads of mutations of pages.

// CreateBranchPayload is the result of createBranch.
type CreateBranchPayload struct {
	Branch           *note.Branch
	UserErrors       []UserError
	ClientMutationID *string
}

// SetCurrentBranchPayload is the result of setCurrentBranch.
type SetCurrentBranchPayload struct {
	Branch           *note.Branch
	Content          *library.Content
	UserErrors       []UserError
	ClientMutationID *string
}

// SaveRevisionPayload is the result of saveRevision.
type SaveRevisionPayload struct {
	Revision         *note.Revision
	Content          *library.Content
	UserErrors       []UserError
	ClientMutationID *string
}

// PublishRevisionPayload is the result of publishRevision.
type PublishRevisionPayload struct {
	Revision         *note.Revision
	Content          *library.Content
	UserErrors       []UserError
	ClientMutationID *string
}

// SaveDraftPayload is the result of saveDraft.
type SaveDraftPayload struct {
	Draft            *note.Draft
	UserErrors       []UserError
	ClientMutationID *string
}

// PublishDraftPayload is the result of publishDraft.
type PublishDraftPayload struct {
	Revision         *note.Revision
	Content          *library.Content
	UserErrors       []UserError
	ClientMutationID *string
}

// DiscardDraftPayload is the result of discardDraft.
type DiscardDraftPayload struct {
	Discarded        *bool
	UserErrors       []UserError
	ClientMutationID *string
}

// SuggestRevisionPayload is the result of suggestRevision.
type SuggestRevisionPayload struct {
	Suggestion       *note.Suggestion
	UserErrors       []UserError
	ClientMutationID *string
}

// DecideSuggestionPayload is the result of decideSuggestion.
type DecideSuggestionPayload struct {
	Suggestion       *note.Suggestion
	Revision         *note.Revision
	UserErrors       []UserError
	ClientMutationID *string
}
