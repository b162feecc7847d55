package library

import (
	"context"

	"carrel/core/commit"
)

// contentPartition reads the partition of an item for its creation. Its claim is a
// void state, as a fence makes it, with the row.
func (s *Service) contentPartition(ctx context.Context, globalID string, key *commit.RequestKey) (*commit.Partition, error) {
	id := ContentID(globalID)
	rows, err := s.contents.Read(ctx, id, ContentQuery{Request: key})
	if err != nil {
		return nil, err
	}
	before := rows.Header
	claim := func(row *commit.RequestRow) *commit.Attempt {
		h := Header{Content: Content{ID: id}, State: commit.Void, Seq: before.Seq + 1, MTS: s.MTS(before.MTS)}
		a := s.contentAttempt(InFlight{Content: id, Base: before.Seq}, &ContentCommit{ID: id, Base: before.Seq, Header: h, Request: row})
		return &commit.Attempt{Entry: a.entry.Entry(), Commit: a.commit}
	}
	return &commit.Partition{State: before.State, Request: rows.Request, Claim: claim}, nil
}
