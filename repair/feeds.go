package repair

import (
	"context"
	"fmt"

	"carrel/library"
	"carrel/paste"
)

// rebuildPastes updates the feed of pastes from all pastes, and cleans up those whose reminders were
// lost. It returns how many entries were missing or wrong.
func (s *Service) rebuildPastes(ctx context.Context) (repaired int, err error) {
	err = s.pastes.Each(ctx, func(p *paste.Paste) error {
		wrong, _, err := s.pastes.Repair(ctx, p)
		if wrong {
			repaired++
		}
		return err
	})
	if err != nil {
		return repaired, fmt.Errorf("rebuild the feed of pastes: %w", err)
	}
	return repaired, nil
}

// pastes repairs the entries of pastes in the feed, and cleans up those whose reminders were lost.
func (c *scrubbing) pastes() error {
	return scrubTable(c, c.s.pastes.Scan, func(p *paste.Paste) paste.ID { return p.ID }, func(p *paste.Paste) error {
		wrong, missing, err := c.s.pastes.Repair(c.ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.ID, err)
		}
		if wrong {
			c.found.Mismatches++
		}
		if missing {
			c.found.Finished++
		}
		return nil
	})
}

// auditPastes checks all pastes, their bodies and their feed.
func (s *Service) auditPastes(ctx context.Context, r *AuditReport) error {
	err := s.pastes.Each(ctx, func(p *paste.Paste) error {
		lives, err := s.pastes.Audit(ctx, p, func(format string, args ...any) {
			r.mismatch("%s: "+format, append([]any{p.ID}, args...)...)
		})
		if lives {
			r.Pastes++
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.pastes.AuditFeed(ctx, r.mismatch)
	return err
}

// auditFeed checks the entry of an item in the feed of its tenant.
func (s *Service) auditFeed(ctx context.Context, r *AuditReport, h *library.Header) error {
	wrong, err := s.library.Upkeep.FeedIsWrong(ctx, h)
	if err == nil && wrong {
		r.mismatch("%s is PUBLIC and not in the feed of its tenant", h.ID)
	}
	return err
}
