package exchange

import (
	"context"

	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// ImportUser stores a user. It returns the errors of principal.Service.ImportUser.
func (s *Service) ImportUser(ctx context.Context, in principal.ImportUser) (principal.ImportResult, error) {
	return s.people.Upkeep.ImportUser(ctx, in)
}

// ImportGroup stores a group. It returns the errors of principal.Service.ImportGroup.
func (s *Service) ImportGroup(ctx context.Context, in principal.ImportGroup) (principal.ImportResult, error) {
	return s.people.Upkeep.ImportGroup(ctx, in)
}

// ImportContent stores an item. It returns the errors of library.Service.ImportContent.
func (s *Service) ImportContent(ctx context.Context, in library.ImportContent) (principal.ImportResult, error) {
	return s.library.Upkeep.ImportContent(ctx, in)
}

// ImportMembers stores members of a group or an item. It returns the errors of library.Service.ImportMembers.
func (s *Service) ImportMembers(ctx context.Context, in library.ImportMembers) (principal.ImportResult, error) {
	return s.library.Upkeep.ImportMembers(ctx, in)
}

// ImportBranch stores a branch of an item's page. It returns the errors of
// page.Service.ImportBranch.
func (s *Service) ImportBranch(ctx context.Context, in ImportBranch) (principal.ImportResult, error) {
	return s.pages.ImportBranch(ctx, in)
}

// ImportRevision stores a revision of a text. It returns the errors of page.Service.ImportRevision.
func (s *Service) ImportRevision(ctx context.Context, in ImportRevision) (principal.ImportResult, error) {
	return s.pages.ImportRevision(ctx, in)
}

// ImportSuggestion stores a suggestion of a text. It returns the errors of
// page.Service.ImportSuggestion.
func (s *Service) ImportSuggestion(ctx context.Context, in ImportSuggestion) (principal.ImportResult, error) {
	return s.pages.ImportSuggestion(ctx, in)
}

// ImportDraft stores a draft. It returns the errors of page.Service.ImportDraft.
func (s *Service) ImportDraft(ctx context.Context, in ImportDraft) (principal.ImportResult, error) {
	return s.pages.ImportDraft(ctx, in)
}

// ImportPaste stores an imported paste. It returns the errors of paste.Service.Import.
func (s *Service) ImportPaste(ctx context.Context, in paste.Import) (principal.ImportResult, error) {
	return s.pastes.Import(ctx, in)
}
