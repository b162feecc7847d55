package library

import (
	"context"

	"carrel/core/commit"
)

// principalPartition reads the partition of a user or a group for its creation. Its
// claim is a void state with the row.
func (s *Service) principalPartition(ctx context.Context, globalID string, key *commit.RequestKey) (*commit.Partition, error) {
	id := PrincipalID(globalID)
	rows, err := s.store.ReadPrincipal(ctx, id, PrincipalQuery{Request: key})
	if err != nil {
		return nil, err
	}
	before := rows.Header
	claim := func(row *commit.RequestRow) *commit.Attempt {
		c := &PrincipalCommit{ID: id, Base: before.Seq, Request: row,
			Header: PrincipalHeader{ID: id, State: commit.Void, Seq: before.Seq + 1, MTS: s.MTS(before.MTS)}}
		e := InFlight{Principal: id, Base: before.Seq}
		return &commit.Attempt{Entry: e.Entry(), Commit: func(ctx context.Context, by commit.EntryID) (commit.Verdict, error) {
			c.Writer = by
			return s.store.CommitPrincipal(ctx, c)
		}}
	}
	return &commit.Partition{State: before.State, Request: rows.Request, Claim: claim}, nil
}
