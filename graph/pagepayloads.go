package graph

import (
	"carrel/library"
	"carrel/page"
)

// Payloads of mutations of pages.

// CreateBranchPayload is the outcome of createBranch.
type CreateBranchPayload struct {
	Branch           *page.Branch
	UserErrors       []UserError
	ClientMutationID *string
}

// SetCurrentBranchPayload is the outcome of setCurrentBranch.
type SetCurrentBranchPayload struct {
	Branch           *page.Branch
	Content          *library.Content
	UserErrors       []UserError
	ClientMutationID *string
	// Libraries is how many libraries the change concerns.
	Libraries int
}

// SaveRevisionPayload is the outcome of saveRevision.
type SaveRevisionPayload struct {
	Revision         *page.Revision
	Content          *library.Content
	UserErrors       []UserError
	ClientMutationID *string
	// Libraries is how many libraries the change concerns.
	Libraries int
}

// PublishRevisionPayload is the outcome of publishRevision.
type PublishRevisionPayload struct {
	Revision         *page.Revision
	Content          *library.Content
	UserErrors       []UserError
	ClientMutationID *string
	// Libraries is how many libraries the change concerns.
	Libraries int
}

// SaveDraftPayload is the outcome of saveDraft.
type SaveDraftPayload struct {
	Draft            *page.Draft
	UserErrors       []UserError
	ClientMutationID *string
}

// PublishDraftPayload is the outcome of publishDraft.
type PublishDraftPayload struct {
	Revision         *page.Revision
	Content          *library.Content
	UserErrors       []UserError
	ClientMutationID *string
	// Libraries is how many libraries the change concerns.
	Libraries int
}

// DiscardDraftPayload is the outcome of discardDraft.
type DiscardDraftPayload struct {
	Discarded        *bool
	UserErrors       []UserError
	ClientMutationID *string
}

// SuggestRevisionPayload is the outcome of suggestRevision.
type SuggestRevisionPayload struct {
	Suggestion       *page.Suggestion
	UserErrors       []UserError
	ClientMutationID *string
}

// DecideSuggestionPayload is the outcome of decideSuggestion.
type DecideSuggestionPayload struct {
	Suggestion       *page.Suggestion
	Revision         *page.Revision
	UserErrors       []UserError
	ClientMutationID *string
	// Libraries is how many libraries the change concerns.
	Libraries int
}

// ConcernedLibraries are the libraries that show the change.
func (p *SetCurrentBranchPayload) ConcernedLibraries() int { return p.Libraries }

// ConcernedLibraries are the libraries that show the change.
func (p *SaveRevisionPayload) ConcernedLibraries() int { return p.Libraries }

// ConcernedLibraries are the libraries that show the change.
func (p *PublishRevisionPayload) ConcernedLibraries() int { return p.Libraries }

// ConcernedLibraries are the libraries that show the change.
func (p *PublishDraftPayload) ConcernedLibraries() int { return p.Libraries }

// ConcernedLibraries are the libraries that show the change.
func (p *DecideSuggestionPayload) ConcernedLibraries() int { return p.Libraries }
