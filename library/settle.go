package library

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
)

// settle is step 6: what this walk has made needless is removed.
//
// Only a walk over all member rows takes positions out of unsettled, and only
// those that the oldest snapshot it used had superseded. Leaving rows go when
// no snapshot that was enforced is older than they are: pages of a snapshot
// may be of different seq, and a row that began to leave after the oldest one
// was enforced, but is dropped by its own mutation.
func (w *walk) settle(ctx context.Context) error {
	if w.oldest == nil {
		return nil
	}
	if w.oldest.Seq <= w.entry.Base {
		// A quorum read shows what was decided only once the commit of it was
		// acknowledged, which it was not where the writers told the outcome.
		return fmt.Errorf("%s: the state after %d is not to be read yet", w.entry.Content, w.entry.Base)
	}
	if w.newest.State == commit.Deleted {
		return w.purge(ctx)
	}
	s := w.s
	settlement := Settlement{ID: w.entry.Content}
	if w.entry.Scope == commit.ScopeAll {
		settlement.Positions = positionsOf(w.oldest.Unsettled)
	}
	for _, m := range w.leaving {
		if m.Seq <= w.oldest.Seq {
			settlement.Leaving = append(settlement.Leaving, m)
		}
	}
	return s.settleAll(ctx, &settlement)
}

// settleAll sends a settlement, in parts where there are many rows.
func (s *Service) settleAll(ctx context.Context, all *Settlement) error {
	if len(all.Positions) == 0 && len(all.Leaving) == 0 && !all.Final {
		return nil
	}
	parts := slices.Collect(slices.Chunk(all.Leaving, s.tune.SnapshotPage))
	if len(parts) == 0 {
		parts = [][]Member{nil}
	}
	for i, part := range parts {
		one := &Settlement{ID: all.ID, Leaving: part, Purge: all.Purge}
		if i == len(parts)-1 {
			one.Positions, one.Final = all.Positions, all.Final
		}
		if err := s.Retry(ctx, func() error { return s.contents.Settle(ctx, one) }); err != nil {
			return err
		}
	}
	return nil
}

// bury removes the rows of a deleted item. The header is reduced last, and by
// a walk over all rows only: until then others find in it what to clean up.
//
// Rows read in a page before the delete was decided are members still in the
// store, so the walk that buries must have begun after it.
func (w *walk) purge(ctx context.Context) error {
	if w.entry.Scope != commit.ScopeAll || w.oldest.State != commit.Deleted {
		return w.s.settleAll(ctx, &Settlement{ID: w.entry.Content, Leaving: w.rows, Purge: true})
	}
	if w.oldest.Page != nil {
		if err := w.s.purgePage(ctx, w.entry.Content); err != nil {
			return err
		}
	}
	return w.s.settleAll(ctx, &Settlement{
		ID: w.entry.Content, Positions: positionsOf(w.oldest.Unsettled), Leaving: w.rows, Purge: true, Final: true,
	})
}

func positionsOf(superseded []Superseded) []clock.Instant {
	positions := make([]clock.Instant, len(superseded))
	for i, u := range superseded {
		positions[i] = u.Position
	}
	return positions
}
