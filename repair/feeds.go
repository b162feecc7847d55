package repair

import (
	"context"
	"fmt"
	"sync/atomic"

	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/paste"
)

// rebuildContentFeeds updates the feeds of public content from all items, while the store is in
// use. It returns how many entries were missing.
func (s *Service) rebuildContentFeeds(ctx context.Context) (repaired int, err error) {
	var wrong atomic.Int64
	var after library.ContentID
	for {
		ids, err := s.contents.ScanContents(ctx, after, rebuildPage)
		if err != nil {
			return 0, err
		}
		err = sched.ForEach(ctx, s.rt, len(ids), deriveAtOnce, func(i int) error {
			if s.engine.Ending() {
				return commit.ErrEnding
			}
			repaired, err := s.repairFeed(ctx, ids[i])
			wrong.Add(int64(repaired))
			return err
		})
		if err != nil {
			return 0, err
		}
		if len(ids) < rebuildPage {
			break
		}
		after = ids[len(ids)-1]
	}
	return int(wrong.Load()), nil
}

// repairFeed updates the entry of an item. It returns how many entries were wrong.
func (s *Service) repairFeed(ctx context.Context, id library.ContentID) (int, error) {
	rows, err := s.contents.Read(ctx, id, library.ContentQuery{})
	if err != nil {
		return 0, err
	}
	wrong, err := s.library.Upkeep.RepairFeed(ctx, &rows.Header)
	if err != nil || !wrong {
		return 0, err
	}
	return 1, nil
}

// rebuildFeeds updates all feeds from items and pastes. It returns how many entries were
// missing or wrong.
func (s *Service) rebuildFeeds(ctx context.Context) (repaired int, err error) {
	if repaired, err = s.rebuildContentFeeds(ctx); err != nil {
		return repaired, fmt.Errorf("rebuild the feeds of public content: %w", err)
	}
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

// pastes repairs the entries of the next pastes in the feed, and cleans up those whose reminders
// were lost.
func (c *scrubbing) pastes(ctx context.Context, limit int) error {
	ps, err := c.s.pastes.Scan(ctx, c.at.Paste, limit)
	if err != nil {
		return err
	}
	for _, p := range ps {
		wrong, missing, err := c.s.pastes.Repair(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.ID, err)
		}
		if wrong {
			c.report.Mismatches++
		}
		if missing {
			c.report.Finished++
		}
		c.report.Next = ScrubPosition{Pastes: true, Paste: p.ID}
	}
	if len(ps) < limit {
		c.report.Next = ScrubPosition{}
	}
	return nil
}

// feed adds the entry of an item to the feed of its tenant, if it is missing.
func (c *scrubbing) feed(ctx context.Context, h *library.Header) error {
	wrong, err := c.s.library.Upkeep.RepairFeed(ctx, h)
	if wrong {
		c.report.Mismatches++
	}
	return err
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
