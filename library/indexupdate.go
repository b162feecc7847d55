package library

import (
	"context"
	"time"

	"carrel/core/commit"
)

// applyTimeout is the time limit of one try to apply an index update. It is much less than
// ChangesOverlap.
const applyTimeout = 20 * time.Second

// applyIndex sends one index update until it is acknowledged, or the tries end, and then notifies
// followers of the libraries. Each try dates its changes anew, because followers no longer read
// changes that are dated too long ago.
func (s *Service) applyIndex(ctx context.Context, e *IndexUpdate) error {
	err := s.engine.Retry(ctx, func() error {
		return s.applyNow(ctx, e, func() { e.At = s.publish.Stamp(s.engine.StoreNow()) })
	})
	if err == nil {
		s.publish.IndexApplied(e)
	}
	return err
}

// ApplyIndexQuietly is applyIndex, but writes no changes for followers and does not notify them.
func (u Upkeep) ApplyIndexQuietly(ctx context.Context, e *IndexUpdate) error {
	return u.s.engine.Retry(ctx, func() error { return u.s.applyNow(ctx, e, func() {}) })
}

// applyNow is one try. It calls begin, which dates the changes, when its turn has come. The time
// limit ensures that changes are not written so late that followers no longer read them.
func (s *Service) applyNow(ctx context.Context, e *IndexUpdate, begin func()) error {
	account := string(e.Causes.By)
	if err := s.permits.Take(ctx, account); err != nil {
		return err
	}
	defer s.permits.Give(account)
	if s.engine.Over() {
		return commit.ErrEnding // the shutdown began while this try waited for its turn, or paused
	}
	within, cancel := s.rt.Deadline(ctx, applyTimeout)
	defer cancel()
	begin()
	return s.contents.ApplyIndex(within, e)
}
