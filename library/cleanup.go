package library

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
)

// cleanUp is the step after the index updates: it removes what this walk has made obsolete.
//
// Only a walk over all member rows removes positions from Unsettled, and only those that the
// oldest snapshot it used had superseded. The same is true for titles, if the walk wrote the entries in
// their order. Leaving rows are removed by such a walk, when no snapshot that was applied is older than they
// are: the pages of a walk may be of different seq, so a row may have started to leave after the oldest
// snapshot was applied. Its own mutation then drops it.
func (w *walk) cleanUp(ctx context.Context) error {
	if w.oldest == nil {
		return nil
	}
	if w.oldest.Seq <= w.entry.Base {
		// A quorum read is sure to return a decided state only if its commit was acknowledged,
		// which it was not if the outcome was learned from the Writers.
		return fmt.Errorf("%s: the state after %d cannot be read yet", w.entry.Key, w.entry.Base)
	}
	if w.newest.State == commit.Deleted {
		return w.purge(ctx)
	}
	s := w.s
	cleanup := Cleanup{ID: w.entry.content()}
	if w.entry.Scope == commit.ScopeAll {
		cleanup.Positions = positionsOf(w.oldest.Unsettled)
		if w.entry.All {
			cleanup.Titles = titlesOf(w.oldest.UnsettledTitles)
		}
	}
	for _, m := range w.leaving {
		if m.Seq <= w.oldest.Seq {
			cleanup.Leaving = append(cleanup.Leaving, m)
		}
	}
	return s.cleanUpAll(ctx, &cleanup)
}

// cleanUpAll sends a cleanup, in parts if it has many rows.
func (s *Service) cleanUpAll(ctx context.Context, all *Cleanup) error {
	if len(all.Positions) == 0 && len(all.Titles) == 0 && len(all.Leaving) == 0 && !all.Final {
		return nil
	}
	parts := slices.Collect(slices.Chunk(all.Leaving, s.tune.SnapshotPage))
	if len(parts) == 0 {
		parts = [][]Member{nil}
	}
	for i, part := range parts {
		one := &Cleanup{ID: all.ID, Leaving: part, Purge: all.Purge}
		if i == len(parts)-1 {
			one.Positions, one.Titles, one.Final = all.Positions, all.Titles, all.Final
		}
		if err := s.engine.Retry(ctx, func() error { return s.contents.CleanUp(ctx, one) }); err != nil {
			return err
		}
	}
	return nil
}

// purge removes the rows of a deleted item. The header is reduced last, and only by a walk over
// all rows: until then other walks read from it what to clean up.
//
// Members that were read in a page before the delete was decided may still have rows in the store.
// So only a walk that started after it reduces the header; an earlier one only removes the rows that it
// has read since the delete.
func (w *walk) purge(ctx context.Context) error {
	if w.entry.Scope != commit.ScopeAll || w.oldest.State != commit.Deleted {
		return w.s.cleanUpAll(ctx, &Cleanup{ID: w.entry.content(), Leaving: w.rows, Purge: true})
	}
	if w.oldest.Page != nil {
		if err := w.s.purgePage(ctx, w.entry.content()); err != nil {
			return err
		}
	}
	return w.s.cleanUpAll(ctx, &Cleanup{
		ID: w.entry.content(), Positions: positionsOf(w.oldest.Unsettled), Titles: titlesOf(w.oldest.UnsettledTitles),
		Leaving: w.rows, Purge: true, Final: true,
	})
}

func titlesOf(superseded []SupersededTitle) []clock.Instant {
	at := make([]clock.Instant, len(superseded))
	for i, u := range superseded {
		at[i] = u.At
	}
	return at
}

func positionsOf(superseded []Superseded) []clock.Instant {
	positions := make([]clock.Instant, len(superseded))
	for i, u := range superseded {
		positions[i] = u.Position
	}
	return positions
}
