package repair

import (
	"context"

	"carrel/library/exchange"
	"carrel/paste"
	"carrel/principal"
)

// ExportSink receives the export of libraries and of pastes.
type ExportSink interface {
	exchange.Sink
	Paste(p paste.Import) error
}

// Export exports users, groups, items, texts and drafts, then pastes without their secrets. They
// can be imported in this order. Leases are not exported.
func (s *Service) Export(ctx context.Context, to ExportSink) error {
	if err := s.exports.Export(ctx, to); err != nil {
		return err
	}
	return s.pastes.Export(ctx, to.Paste)
}

// ImportBranch stores a branch of an item's page. It returns the errors of
// page.Service.ImportBranch.
func (s *Service) ImportBranch(ctx context.Context, in exchange.ImportBranch) (principal.ImportResult, error) {
	return s.pages.ImportBranch(ctx, in)
}

// ImportRevision stores a revision of a text. It returns the errors of page.Service.ImportRevision.
func (s *Service) ImportRevision(ctx context.Context, in exchange.ImportRevision) (principal.ImportResult, error) {
	return s.pages.ImportRevision(ctx, in)
}

// ImportSuggestion stores a suggestion of a text. It returns the errors of
// page.Service.ImportSuggestion.
func (s *Service) ImportSuggestion(ctx context.Context, in exchange.ImportSuggestion) (principal.ImportResult, error) {
	return s.pages.ImportSuggestion(ctx, in)
}

// ImportDraft stores a draft. It returns the errors of page.Service.ImportDraft.
func (s *Service) ImportDraft(ctx context.Context, in exchange.ImportDraft) (principal.ImportResult, error) {
	return s.pages.ImportDraft(ctx, in)
}

// ImportPaste stores an imported paste. It returns the errors of paste.Service.Import.
func (s *Service) ImportPaste(ctx context.Context, in paste.Import) (principal.ImportResult, error) {
	return s.pastes.Import(ctx, in)
}
