package library

import (
	"context"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
)

// movesWindow is the fixed hour in which the moves of an item are counted.
const movesWindow = time.Hour

// move sets the position of an item, in a header that has its new MTS. now is the time by the
// store's clock.
func move(h *Header, position, now clock.Instant) {
	if h.MTS >= h.MovesSince.Add(movesWindow) {
		h.MovesSince, h.Moves = h.MTS, 0
	}
	h.Moves++
	h.MovedAt = now
	h.Position = position
	h.Widest = h.Visibility
}

// pauseOf returns how long an item must still keep its position; 0: it may move at once. A hot item
// moves at most once in HotPause, because each move leaves dead rows in every library that has it.
func (s *Service) pauseOf(h *Header) time.Duration {
	now, last := s.engine.StoreNow(), h.MovedAt
	hot := h.Moves >= s.tune.HotMoves && now < h.MovesSince.Add(movesWindow)
	if !hot || last > now.Add(commit.AheadAtMost) {
		// Working clocks do not differ by so much. The clock that dated the last move has been set
		// back, so it is unknown how long ago the move was.
		return 0
	}
	return max(0, time.Duration(last.Add(s.tune.HotPause)-now)*time.Microsecond)
}

// deferUntil returns, by the clock of this process, when an updated item may move; 0: at once.
// A hot item waits for the end of its pause. An item with many unsettled positions or titles waits until
// they are cleaned up, because each index update deletes all of them.
func (s *Service) deferUntil(h *Header, now clock.Instant) clock.Instant {
	wait := s.pauseOf(h)
	if max(len(h.Unsettled), len(h.UnsettledTitles)) >= s.tune.MaxUnsettled {
		wait = max(wait, s.tune.HotPause)
	}
	if wait == 0 || !s.journal.MayDefer() {
		return 0
	}
	return now.Add(wait)
}

// runDue runs the deferred move that an entry records.
func (s *Service) runDue(ctx context.Context, e commit.Entry) (bool, error) {
	return s.Move(ctx, ContentID(e.Key), e.All)
}

// Move runs the deferred move of an item, as a mutation of its own. If an update would have to be
// deferred now, because another process has moved the item within the pause or too many positions
// are unsettled, it defers the move again, under a new entry of this process's list. It reports
// whether it moved the item. It does not move an item whose move it defers again, or that is
// already at its position, deleted or absent. all is the All of the entry that records the move: a fan-out of that
// change, which may have failed, is then done by that of the move.
func (s *Service) Move(ctx context.Context, id ContentID, all bool) (bool, error) {
	var later commit.Entry
	// The position of its last change may be older than what a page has read as the newest one.
	whatever := func() clock.Instant { return 0 }
	e, ok, err := s.decideFrom(ctx, s.engine.NewBudget(), id, whatever, func(ctx context.Context) (*attempt, error) {
		rows, err := s.contents.Read(ctx, id, ContentQuery{Serial: true})
		if err != nil {
			return nil, err
		}
		h := rows.Header
		if h.State != commit.Live || h.Position == h.LastModified {
			return nothingToChange, nil
		}
		if due := s.deferUntil(&h, s.engine.Now()); due != 0 {
			later = commit.Entry{Kind: commit.Content, Key: string(id), Base: h.Seq, Due: due, Decided: true, Reach: commit.Reach{All: all}}
			return nothingToChange, nil
		}
		after := h
		after.Seq, after.MTS = h.Seq+1, s.engine.MTS(h.MTS)
		move(&after, h.LastModified, s.engine.StoreNow())
		e := inFlight{Entry: commit.Entry{Reach: commit.Reach{Scope: commit.ScopeAll}}}
		c := &ContentCommit{ID: id, Base: h.Seq, Supersede: &Superseded{h.Position, h.Widest}}
		planTitle(&h, &after, &e.Entry, c)
		e.All = e.All || all
		c.Header = after
		return s.contentAttempt(e, c), nil
	})
	if err == nil && later.Due != 0 {
		return false, s.putOff(ctx, later)
	}
	if err != nil || !ok {
		return false, err
	}
	s.finish(ctx, e)
	return true, nil
}

// putOff records a move that is deferred again. The record is durable when putOff returns, so the
// former entry may be dropped.
func (s *Service) putOff(ctx context.Context, e commit.Entry) error {
	e.ID = s.engine.NewEntryID()
	if err := s.journal.Begin(ctx, e); err != nil {
		return err
	}
	s.journal.Defer(e)
	return nil
}
