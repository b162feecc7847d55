package exchange

import (
	"context"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// ImportBranch is a branch of an item's page. Branch 1 always exists.
type ImportBranch struct {
	Content    string         `json:"contentId"`
	Number     int            `json:"number"` // one more than the number of branches so far
	CopiedFrom *int           `json:"copiedFrom,omitempty"`
	CreatedAt  *clock.Instant `json:"createdAt,omitempty"` // nil: now
	CreatedBy  string         `json:"createdBy"`
	Current    bool           `json:"current,omitempty"` // the branch that readers see
	Working    bool           `json:"working,omitempty"` // the one that editors work on
}

// ImportRevision is a revision of an item's text. The first revision of an item sets the item's
// own locale.
type ImportRevision struct {
	Content      string         `json:"contentId"`
	Branch       int            `json:"branch"`
	Locale       *string        `json:"locale,omitempty"` // nil: the text is not translatable
	Number       int            `json:"number"`           // one more than the last one of the locale
	Title        string         `json:"title"`
	Body         string         `json:"body"`
	Author       string         `json:"author"`
	CreatedAt    *clock.Instant `json:"createdAt,omitempty"` // nil: now
	BaseRevision *int           `json:"baseRevision,omitempty"`
	Suggestion   *string        `json:"suggestion,omitempty"` // the suggestion that it was made from
	Current      bool           `json:"current,omitempty"`    // in its locale and branch
}

// ImportSuggestion is a suggestion of a text.
type ImportSuggestion struct {
	ID           string         `json:"id"`
	Content      string         `json:"contentId"`
	Branch       int            `json:"branch"`
	Locale       *string        `json:"locale,omitempty"`
	Title        string         `json:"title"`
	Body         string         `json:"body"`
	Note         *string        `json:"note,omitempty"`
	Author       string         `json:"author"`
	CreatedAt    *clock.Instant `json:"createdAt,omitempty"` // nil: now
	BaseRevision *int           `json:"baseRevision,omitempty"`
	State        *string        `json:"state,omitempty"`     // nil: OPEN
	DecidedBy    *string        `json:"decidedBy,omitempty"` // of a suggestion that is not OPEN
	Revision     *int           `json:"revision,omitempty"`  // the revision that it became, if ACCEPTED
}

// ImportDraft is a draft of its author.
type ImportDraft struct {
	Content      string         `json:"contentId"`
	Author       string         `json:"author"`
	Branch       int            `json:"branch"`
	Locale       *string        `json:"locale,omitempty"`
	Title        string         `json:"title"`
	Body         string         `json:"body"`
	BaseRevision *int           `json:"baseRevision,omitempty"`
	Version      *int           `json:"version,omitempty"`   // nil: 1
	UpdatedAt    *clock.Instant `json:"updatedAt,omitempty"` // nil: now
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
