package repair

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
	"carrel/paste"
)

// feedRun is the filling of the feeds of public content in this process.
type feedRun struct {
	mu      sync.Mutex
	filled  bool // seen once: they are never incomplete again
	running *rebuildRun
}

// requireFeeds answers UNAVAILABLE while the feeds of public content are not complete. The
// first who asks starts the filling of them, and waits a little.
func (s *Service) requireFeeds(ctx context.Context) error {
	if filled, err := s.feedsFilled(ctx); err != nil || filled {
		return err
	}
	run := s.startFeeds(ctx)
	ended, err := s.rt.Wait(ctx, run.ended, rebuildWait)
	if err != nil {
		return err
	}
	if ended && run.err == nil {
		return nil
	}
	cause := errors.New("the feeds are not filled yet")
	if ended {
		cause = run.err
	}
	return &fault.Error{Code: fault.Unavailable, RetryAfter: library.RebuildRetryAfter, Err: cause,
		Msg: "the list of public content is being made; try again in a few seconds"}
}

// feedsFilled reports whether all items are in the feeds.
func (s *Service) feedsFilled(ctx context.Context) (bool, error) {
	s.feeding.mu.Lock()
	filled := s.feeding.filled
	s.feeding.mu.Unlock()
	if filled {
		return true, nil
	}
	filled, err := s.FeedsComplete(ctx)
	if err != nil {
		return false, fmt.Errorf("reading whether the feeds are complete: %w", err)
	}
	s.feeding.mu.Lock()
	defer s.feeding.mu.Unlock()
	s.feeding.filled = s.feeding.filled || filled
	return s.feeding.filled, nil
}

// startFeeds starts to fill the feeds, unless that is under way.
func (s *Service) startFeeds(ctx context.Context) *rebuildRun {
	s.feeding.mu.Lock()
	defer s.feeding.mu.Unlock()
	if s.feeding.running != nil {
		return s.feeding.running
	}
	run := &rebuildRun{ended: s.rt.Latch()}
	s.feeding.running = run
	background := s.rt.Detach(ctx)
	s.rt.Go(func() {
		_, run.err = s.rebuildContentFeeds(background)
		if run.err != nil {
			s.log.ErrorContext(background, "filling the feeds of public content", "error", run.err)
		}
		s.feeding.mu.Lock()
		s.feeding.running = nil
		s.feeding.mu.Unlock()
		run.ended.Open()
	})
	return run
}

// rebuildContentFeeds brings the feeds of public content in line with all items, beside live
// traffic, and marks them as complete. What is created or changed meanwhile is written by
// that change. It returns how many entries were missing or wrong.
func (s *Service) rebuildContentFeeds(ctx context.Context) (mended int, err error) {
	var wrong atomic.Int64
	var after library.ContentID
	for {
		ids, err := s.contents.ScanContents(ctx, after, rebuildPage)
		if err != nil {
			return 0, err
		}
		err = sched.ForEach(ctx, s.rt, len(ids), deriveAtOnce, func(i int) error {
			if s.Ending() {
				return commit.ErrEnding
			}
			mended, err := s.repairFeed(ctx, ids[i])
			wrong.Add(int64(mended))
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
	return int(wrong.Load()), s.SetFeedsComplete(ctx)
}

// repairFeed brings the feed in line with an item. It returns how many entries were wrong.
func (s *Service) repairFeed(ctx context.Context, id library.ContentID) (int, error) {
	rows, err := s.contents.Read(ctx, id, library.ContentQuery{})
	if err != nil {
		return 0, err
	}
	wrong, err := s.RepairFeed(ctx, &rows.Header)
	if err != nil || !wrong {
		return 0, err
	}
	return 1, nil
}

// rebuildFeeds brings all feeds in line with items and pastes. It returns how many entries
// were missing or wrong.
func (s *Service) rebuildFeeds(ctx context.Context) (mended int, err error) {
	if mended, err = s.rebuildContentFeeds(ctx); err != nil {
		return mended, fmt.Errorf("rebuilding the feeds of public content: %w", err)
	}
	err = s.pastes.Each(ctx, func(p *paste.Paste) error {
		wrong, _, err := s.pastes.Mend(ctx, p)
		if wrong {
			mended++
		}
		return err
	})
	if err != nil {
		return mended, fmt.Errorf("rebuilding the feed of pastes: %w", err)
	}
	return mended, nil
}

// pastes brings the feed in line with the next pastes, and tidies those whose hints were lost.
func (c *scrubbing) pastes(ctx context.Context, limit int) error {
	ps, err := c.s.pastes.Scan(ctx, c.at.Paste, limit)
	if err != nil {
		return err
	}
	for _, p := range ps {
		wrong, missed, err := c.s.pastes.Mend(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.ID, err)
		}
		if wrong {
			c.report.Mismatches++
		}
		if missed {
			c.report.Settled++
		}
		c.report.Next = ScrubPlace{Pastes: true, Paste: p.ID}
	}
	if len(ps) < limit {
		c.report.Next = ScrubPlace{}
	}
	return nil
}

// feed gives an item the entry that it lacks in the feed of its tenant. While the feeds of a
// store were never completed, that is no mistake.
func (c *scrubbing) feed(ctx context.Context, h *library.Header) error {
	filled, err := c.s.feedsFilled(ctx)
	if err != nil {
		return err
	}
	wrong, err := c.s.RepairFeed(ctx, h)
	if wrong && filled {
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

// auditFeed checks the entry of an item in the feed of its tenant. In a store whose feeds
// were never completed entries may be missing.
func (s *Service) auditFeed(ctx context.Context, r *AuditReport, h *library.Header) error {
	wrong, err := s.FeedIsWrong(ctx, h)
	if err != nil || !wrong {
		return err
	}
	if filled, err := s.feedsFilled(ctx); err != nil || !filled {
		return err
	}
	r.mismatch("%s is PUBLIC and not in the feed of its tenant", h.ID)
	return nil
}
