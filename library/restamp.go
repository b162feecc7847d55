package library

import (
	"context"

	"carrel/core/commit"
	"carrel/core/fault"
)

// Restamp gives an item an equal state with a newer timestamp if its Seq is seq, and otherwise does
// nothing. Rows that are derived from the newer state overwrite whatever hides the earlier ones. An
// item that does not exist becomes void, as when a change is fenced.
func (u Upkeep) Restamp(ctx context.Context, id ContentID, seq int64) error {
	_, _, err := u.s.decide(ctx, u.s.engine.NewBudget(), id, func(ctx context.Context) (*attempt, error) {
		rows, err := u.s.contents.Read(ctx, id, ContentQuery{Serial: true})
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
		h.Seq, h.MTS = seq+1, u.s.engine.MTS(h.MTS)
		// It changes no rows, so nothing is in flight.
		return u.s.contentAttempt(inFlight{}, &ContentCommit{ID: id, Base: seq, Header: h}), nil
	})
	if fault.ReasonOf(err) == fault.ReasonOutcomeUnknown {
		return nil // the next reading returns the newer state
	}
	return err
}
