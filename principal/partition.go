package principal

import (
	"context"

	"carrel/core/commit"
)

// Partition reads the partition of a user or a group for its creation. A creation
// reserves its id with a void state and the request row.
func (s *Service) Partition(ctx context.Context, globalID string, key *commit.RequestKey) (*commit.Partition, error) {
	id := ID(globalID)
	rows, err := s.store.ReadPrincipal(ctx, id, Query{Request: key})
	if err != nil {
		return nil, err
	}
	before := rows.Header
	claim := func(row *commit.RequestRow) *commit.Attempt {
		c := &Commit{ID: id, Base: before.Seq, Request: row,
			Header: Header{ID: id, State: commit.Void, Seq: before.Seq + 1, MTS: s.engine.MTS(before.MTS)}}
		return s.commits(commit.Reach{}, c)
	}
	return &commit.Partition{State: before.State, Request: rows.Request, Claim: claim}, nil
}
