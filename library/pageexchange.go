package library

import (
	"context"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/principal"
)

// ImportBranch is a branch of an item's page. Branch 1 always exists.
type ImportBranch struct {
	Content    string
	Number     int // one more than the number of branches so far
	CopiedFrom *int
	CreatedAt  *clock.Instant // nil: now
	CreatedBy  string
	// Current makes it the branch that visitors see, Working the one that editors work on.
	Current, Working bool
}

// ImportRevision is a revision of an item's text. The first revision of an item sets the item's
// own locale.
type ImportRevision struct {
	Content      string
	Branch       int
	Locale       *string // nil: the text is not translatable
	Number       int     // one more than the last one of the locale
	Title, Body  string
	Author       string
	CreatedAt    *clock.Instant // nil: now
	BaseRevision *int
	Suggestion   *string // the suggestion that it was made from
	Current      bool    // in its locale and branch
}

// ImportSuggestion is a suggestion of a text.
type ImportSuggestion struct {
	ID           string
	Content      string
	Branch       int
	Locale       *string
	Title, Body  string
	Note         *string
	Author       string
	CreatedAt    *clock.Instant // nil: now
	BaseRevision *int
	State        *string // nil: OPEN
	DecidedBy    *string // of a suggestion that is not OPEN
	Revision     *int    // the revision that it became, if ACCEPTED
}

// ImportDraft is a draft of its author.
type ImportDraft struct {
	Content      string
	Author       string
	Branch       int
	Locale       *string
	Title, Body  string
	BaseRevision *int
	Version      *int           // nil: 1
	UpdatedAt    *clock.Instant // nil: now
}

// PageExchange is what package page does for exports and imports.
type PageExchange interface {
	// ExportPage exports the branches, the revisions and the suggestions of an item, each after
	// the objects that it refers to.
	ExportPage(ctx context.Context, h *Header, to ExportSink) error
	// ExportDrafts exports the drafts of a user whose items exist, the oldest first.
	ExportDrafts(ctx context.Context, user principal.ID, to ExportSink) error
	ImportBranch(ctx context.Context, in ImportBranch) (principal.ImportResult, error)
	ImportRevision(ctx context.Context, in ImportRevision) (principal.ImportResult, error)
	ImportSuggestion(ctx context.Context, in ImportSuggestion) (principal.ImportResult, error)
	ImportDraft(ctx context.Context, in ImportDraft) (principal.ImportResult, error)
}

// ImportBranch stores a branch that does not exist yet.
func (s *Service) ImportBranch(ctx context.Context, in ImportBranch) (principal.ImportResult, error) {
	return s.pages.ImportBranch(ctx, in)
}

// ImportRevision stores a revision that does not exist yet. Its item does not move.
func (s *Service) ImportRevision(ctx context.Context, in ImportRevision) (principal.ImportResult, error) {
	return s.pages.ImportRevision(ctx, in)
}

// ImportSuggestion stores a suggestion that does not exist yet.
func (s *Service) ImportSuggestion(ctx context.Context, in ImportSuggestion) (principal.ImportResult, error) {
	return s.pages.ImportSuggestion(ctx, in)
}

// ImportDraft stores a draft that does not exist yet.
func (s *Service) ImportDraft(ctx context.Context, in ImportDraft) (principal.ImportResult, error) {
	return s.pages.ImportDraft(ctx, in)
}

// ImportEdit decides an import of data that another package keeps in an item. plan gets the
// rows of the keys, and returns nil if the item contains the imported data already.
func (s *Service) ImportEdit(ctx context.Context, id ContentID, keys []RowKey, plan func(ctx context.Context, t *ItemReading) (*Edit, error)) (principal.ImportResult, error) {
	_, ok, err := s.decide(ctx, s.NewBudget(), id, func(ctx context.Context) (*attempt, error) {
		read, err := s.contents.Read(ctx, id, ContentQuery{Rows: keys})
		if err != nil {
			return nil, err
		}
		if read.Header.State != commit.Live {
			return nil, fault.NotFoundf([]string{"contentId"}, "there is no %s; give it a line before this one", id)
		}
		edit, err := plan(ctx, &ItemReading{Header: &read.Header, Rows: read.Rows})
		if err != nil || edit == nil {
			return nothingToChange, err
		}
		a, _ := s.planEdit(&read.Header, edit, nil)
		return a, nil
	})
	if err != nil || !ok {
		return principal.Unchanged, err
	}
	return principal.Created, nil
}

// exportPages exports the pages of all items.
func (s *Service) exportPages(ctx context.Context, to ExportSink) error {
	var after ContentID
	for {
		ids, err := s.contents.ScanContents(ctx, after, scanPage)
		if err != nil || len(ids) == 0 {
			return err
		}
		rows, err := s.contents.ReadMany(ctx, ids, nil)
		if err != nil {
			return err
		}
		for i := range rows {
			if h := &rows[i].Header; h.Page != nil && h.Exists(s.Now()) {
				if err := s.pages.ExportPage(ctx, h, to); err != nil {
					return err
				}
			}
		}
		if len(ids) < scanPage {
			return nil
		}
		after = ids[len(ids)-1]
	}
}

// exportDrafts exports the drafts of all users.
func (s *Service) exportDrafts(ctx context.Context, to ExportSink) error {
	return s.EachHeader(ctx, principal.ID.IsUser, func(h *principal.Header) error { return s.pages.ExportDrafts(ctx, h.ID, to) })
}
