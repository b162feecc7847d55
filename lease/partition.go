package lease

import (
	"context"

	"carrel/core/commit"
)

// Partition reads a lease, for a creation with an idempotency key. A lease that did not get its
// keys has lost its request, so the idempotency key is free again, but the id of the lease stays in
// use. A claim of an id stores a lease that is Refused from the start and has the request. Nothing
// can replace that lease.
func (s *Service) Partition(ctx context.Context, globalID string, key *commit.RequestKey) (*commit.Partition, error) {
	l, err := s.read(ctx, ID(globalID))
	if err != nil {
		return nil, err
	}
	if l != nil {
		p := &commit.Partition{State: commit.Deleted}
		if l.Request != nil && key != nil && l.Request.Key == *key {
			p.Request = l.Request
		}
		return p, nil
	}
	return &commit.Partition{State: commit.Absent, Claim: func(row *commit.RequestRow) *commit.Attempt {
		now := s.engine.Now()
		claimed := &Lease{ID: ID(globalID), Seq: 1, State: Refused, CreatedAt: now, Deadline: now, Request: row}
		a := s.write(claimed)
		insert := a.Commit
		a.Commit = func(ctx context.Context, writer commit.EntryID) (commit.Verdict, error) {
			// This reminder is for removing the row. If it is lost, the scrubber removes the row.
			if err := s.putReminder(ctx, claimed, claimed.Deadline.Add(keptFor)); err != nil {
				return commit.Verdict{}, err
			}
			return insert(ctx, writer)
		}
		return a
	}}, nil
}
