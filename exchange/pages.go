package exchange

import (
	"context"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// ImportBranch is a branch of an item's page. Branch 1 always exists.
type ImportBranch struct {
	Content    string
	Number     int // one more than the number of branches so far
	CopiedFrom *int
	CreatedAt  *clock.Instant // nil: now
	CreatedBy  string
	// Current makes it the branch that readers see, Working the one that editors work on.
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

// exportPages exports the pages of all items.
func (s *Service) exportPages(ctx context.Context, to Sink) error {
	var after library.ContentID
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
			if h := &rows[i].Header; h.Page != nil && h.Exists(s.engine.Now()) {
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
func (s *Service) exportDrafts(ctx context.Context, to Sink) error {
	return s.people.Upkeep.EachHeader(ctx, principal.ID.IsUser, func(h *principal.Header) error { return s.pages.ExportDrafts(ctx, h.ID, to) })
}
