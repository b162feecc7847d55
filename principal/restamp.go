package principal

import (
	"context"

	"carrel/core/commit"
	"carrel/core/fault"
)

// RestampPrincipal gives the state of a user or a group a new mts, if it still has the seq. All
// rows that were derived from the state before are then older than it.
func (s *Service) RestampPrincipal(ctx context.Context, id ID, seq int64) error {
	_, _, err := s.Decide(ctx, s.NewBudget(), string(id), func(ctx context.Context) (*commit.Attempt, error) {
		rows, err := s.store.ReadPrincipal(ctx, id, Query{Serial: true})
		if err != nil {
			return nil, err
		}
		h := rows.Header
		if h.Seq != seq {
			return commit.Nothing, nil
		}
		if h.State == commit.Absent {
			h = Header{ID: id, State: commit.Void}
		}
		h.Seq, h.MTS = seq+1, s.MTS(h.MTS)
		return s.commits(InFlight{Principal: id, Base: seq}, &Commit{ID: id, Base: seq, Header: h}), nil
	})
	if fault.ReasonOf(err) == fault.ReasonOutcomeUnknown {
		return nil // the next reading returns the newer state
	}
	return err
}
