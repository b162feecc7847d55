package paste

import (
	"context"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/feed"
)

// ablated reports whether a rule is off.
func ablated(name string) bool { return commit.Ablated(name) }

// ablatedCommit lists a paste before its row is stored.
func (s *Service) ablatedCommit(ctx context.Context, p *Paste, row Row) (Row, error) {
	if ablated("listed-before-stored") && p.listed() {
		if err := s.writeEntry(ctx, p); err != nil {
			return Row{}, err
		}
	}
	return s.store.CommitRow(ctx, row)
}

// ablatedMTS returns the current time instead of that of the state.
func (s *Service) ablatedMTS(p *Paste) clock.Instant {
	if ablated("entry-at-wall-clock") {
		return s.engine.Now()
	}
	return p.MTS
}

// ablatedFence returns the state that a paste has now, and leaves open whether the change
// may still be decided.
func (s *Service) ablatedFence(ctx context.Context, e commit.Entry) (*Paste, bool, error) {
	if !ablated("paste-unfenced") {
		return s.fence(ctx, e)
	}
	p, err := s.read(ctx, ID(e.Key))
	if err == nil && p == nil {
		p = &Paste{ID: ID(e.Key), State: commit.Void}
	}
	return p, false, err
}

// ablatedWithin returns how far back a poll reads, without overlapping the one before.
func ablatedWithin(within time.Duration) time.Duration {
	if ablated("look-without-overlap") {
		return pollEvery
	}
	return within
}

// ablatedBegin reads all that was missed before the follower joins the others, and nothing afterwards.
func (f *Follower) ablatedBegin(ctx context.Context) (err error) {
	if !f.behind || !ablated("missed-before-joined") {
		return nil
	}
	f.page, err = f.s.feeds.Since(ctx, feedName, f.position, maxMissed)
	f.position = feed.Entry{Created: f.s.engine.Now().Add(24 * time.Hour)}
	return err
}
