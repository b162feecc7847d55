package repair

import (
	"context"

	"carrel/library"
	"carrel/principal"
)

// Pages is what package note does for repairs and imports: it knows the texts, and what the further
// rows of items contain.
type Pages interface {
	// ScrubTexts checks the next texts after one, at most limit, and removes those that no row
	// refers to. last is the last text that it has checked.
	ScrubTexts(ctx context.Context, after [16]byte, limit int) (last [16]byte, seen, removed int, err error)
	// AuditPage calls wrong for each mistake in the page of an item, and returns the number
	// of its revisions.
	AuditPage(ctx context.Context, h *library.Header, wrong func(format string, args ...any)) (revisions int, err error)
	// AuditDrafts calls wrong for each mistake in the drafts of a user, and returns their
	// number.
	AuditDrafts(ctx context.Context, user principal.ID, wrong func(format string, args ...any)) (drafts int, err error)
}

// texts removes texts that no row refers to. A step ends with each page.
func (c *scrubbing) texts() error {
	var after [16]byte
	return c.each(func() (more bool, err error) {
		last, seen, removed, err := c.s.pages.ScrubTexts(c.ctx, after, scrubItems)
		c.found.Finished += removed
		if err != nil {
			return false, err
		}
		c.looked, after = scrubLooks, last
		return seen == scrubItems, nil
	})
}

// auditDrafts checks the drafts of all users.
func (s *Service) auditDrafts(ctx context.Context, r *AuditReport) error {
	return s.people.Upkeep.EachHeader(ctx, principal.ID.IsUser, func(h *principal.Header) error {
		drafts, err := s.pages.AuditDrafts(ctx, h.ID, func(format string, args ...any) {
			r.mismatch("%s: "+format, append([]any{h.ID}, args...)...)
		})
		r.Drafts += drafts
		return err
	})
}

// auditPage checks the page of an item.
func (s *Service) auditPage(ctx context.Context, r *AuditReport, h *library.Header) error {
	revisions, err := s.pages.AuditPage(ctx, h, func(format string, args ...any) {
		r.mismatch("%s: "+format, append([]any{h.ID}, args...)...)
	})
	r.Revisions += revisions
	return err
}
