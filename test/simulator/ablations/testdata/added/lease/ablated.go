package lease

import (
	"context"
	"time"

	"carrel/core/commit"
)

// ablatedCommit confirms the first key of a lease by one write, and all by a second one.
func (s *Service) ablatedCommit(ctx context.Context, l *Lease, row Row) (Row, error) {
	if l.State != Confirmed || len(l.Documents) < 2 || !commit.Ablated("lease-confirmed-by-key") {
		return s.store.CommitRow(ctx, row)
	}
	first := *l
	first.Documents = l.Documents[:1]
	if current, err := s.store.CommitRow(ctx, first.row()); err != nil || current.Seq != row.Seq {
		return current, err
	}
	l.Seq++
	rest := l.row()
	current, err := s.store.CommitRow(ctx, rest)
	if err == nil && current.Seq == rest.Seq {
		return row, nil
	}
	return current, err
}

// ablatedClaim claims the keys of a lease, early or late: one of the two.
func (s *Service) ablatedClaim(ctx context.Context, l *Lease, early bool) (int64, error) {
	if early != commit.Ablated("lease-after-claims") {
		return l.Fence, nil
	}
	return s.claimKeys(ctx, l)
}

// ablatedFirst returns how long a lease lasts before it has its keys.
func (in *Acquire) ablatedFirst() time.Duration {
	if commit.Ablated("lease-whole-at-once") {
		return in.ttl()
	}
	return min(in.ttl(), provisionalTTL)
}
