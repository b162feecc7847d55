package library

import (
	"context"

	"carrel/core/commit"
	"carrel/core/fault"
)

// Restamp gives an item of this seq an equal state with a newer timestamp, by
// which derived rows can be written over whatever hides them. An item that is
// not there becomes void, as where a change is fenced. Where the state has
// moved on it does nothing.
func (s *Service) Restamp(ctx context.Context, id ContentID, seq int64) error {
	_, _, err := s.decide(ctx, s.NewBudget(), id, func(ctx context.Context) (*attempt, error) {
		rows, err := s.contents.Read(ctx, id, ContentQuery{Serial: true})
		if err != nil {
			return nil, err
		}
		h := rows.Header
		if h.Seq != seq {
			return nothingToChange, nil
		}
		if h.State == commit.Absent {
			h = Header{Content: Content{ID: id}, State: commit.Void}
		}
		h.Seq, h.MTS = seq+1, s.MTS(h.MTS)
		// Nobody's rows change by it, so nothing is in flight.
		return s.contentAttempt(InFlight{Content: id, Base: seq}, &ContentCommit{ID: id, Base: seq, Header: h}), nil
	})
	if fault.ReasonOf(err) == fault.ReasonOutcomeUnknown {
		return nil // the next reading tells
	}
	return err
}
