package repair

import (
	"context"

	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// ExportSink receives the export of libraries and of pastes.
type ExportSink interface {
	library.ExportSink
	Paste(p paste.Import) error
}

// Export exports everything that is stored, in an order in which it can be imported: users,
// groups, items, texts and drafts, then pastes without their secrets.
func (s *Service) Export(ctx context.Context, to ExportSink) error {
	if err := s.Service.Export(ctx, to); err != nil {
		return err
	}
	return s.pastes.Export(ctx, to.Paste)
}

// ImportPaste stores a paste of a file. It returns the errors of paste.Service.Import.
func (s *Service) ImportPaste(ctx context.Context, in paste.Import) (principal.ImportResult, error) {
	return s.pastes.Import(ctx, in)
}
