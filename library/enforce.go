package library

import (
	"context"
	"time"

	"carrel/core/commit"
)

// enforceWithin is how long one try of an enforcement may take: much less than
// ChangesOverlap.
const enforceWithin = 20 * time.Second

// enforce sends one enforcement until it is acknowledged, or the tries end, and then
// notifies followers of the libraries. Each try has a time of its own for its changes: the
// changes of a try that was delayed for long would be where nobody looks for them any more.
func (s *Service) enforce(ctx context.Context, e *Enforcement) error {
	err := s.Insist(ctx, func() error {
		return s.enforceNow(ctx, e, func() { e.At = s.publish.Stamp(s.StoreNow()) })
	})
	if err == nil {
		s.publish.Enforced(e)
	}
	return err
}

// EnforceQuietly is enforce without changes.
func (s *Service) EnforceQuietly(ctx context.Context, e *Enforcement) error {
	return s.Insist(ctx, func() error { return s.enforceNow(ctx, e, func() {}) })
}

// enforceNow is one try, begun when it is its turn. It ends in time, so that
// its changes are where they are looked for.
func (s *Service) enforceNow(ctx context.Context, e *Enforcement, begin func()) error {
	if err := s.permits.Take(ctx); err != nil {
		return err
	}
	defer s.permits.Give()
	if s.Over() {
		return commit.ErrEnding // it came while this one waited for its turn, or paused
	}
	within, cancel := s.rt.Deadline(ctx, enforceWithin)
	defer cancel()
	begin()
	return s.contents.Enforce(within, e)
}
