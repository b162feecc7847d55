package library

import (
	"context"
	"time"

	"carrel/core/commit"
)

// applyWithin is how long one try of an enforcement may take: much less than
// ChangesOverlap.
const applyWithin = 20 * time.Second

// enforce sends one enforcement until it is acknowledged, or the tries end, and then
// notifies followers of the libraries. Each try has a time of its own for its changes: the
// changes of a try that was delayed for long would be where nobody looks for them any more.
func (s *Service) applyIndex(ctx context.Context, e *IndexUpdate) error {
	err := s.Retry(ctx, func() error {
		return s.applyNow(ctx, e, func() { e.At = s.publish.Stamp(s.StoreNow()) })
	})
	if err == nil {
		s.publish.IndexApplied(e)
	}
	return err
}

// ApplyIndexQuietly is enforce without changes.
func (s *Service) ApplyIndexQuietly(ctx context.Context, e *IndexUpdate) error {
	return s.Retry(ctx, func() error { return s.applyNow(ctx, e, func() {}) })
}

// applyNow is one try, begun when it is its turn. It ends in time, so that
// its changes are where they are looked for.
func (s *Service) applyNow(ctx context.Context, e *IndexUpdate, begin func()) error {
	if err := s.permits.Take(ctx); err != nil {
		return err
	}
	defer s.permits.Give()
	if s.Over() {
		return commit.ErrEnding // it came while this one waited for its turn, or paused
	}
	within, cancel := s.rt.Deadline(ctx, applyWithin)
	defer cancel()
	begin()
	return s.contents.ApplyIndex(within, e)
}
