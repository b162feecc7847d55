package observe

import (
	"context"

	"carrel/lease"
)

func (s *measuredStore) leaseCalls() []namedCall {
	return []namedCall{
		{&s.readLease, "ReadLease"},
		{&s.commitLease, "CommitLease"},
		{&s.dropLease, "DropLease"},
		{&s.scanLeases, "ScanLeases"},
	}
}

func (s *measuredStore) ReadLease(ctx context.Context, id lease.ID) (lease.Row, error) {
	ctx, call := s.readLease.begin(ctx)
	v, err := s.next.ReadLease(ctx, id)
	call.ended(err)
	return v, err
}

func (s *measuredStore) CommitLease(ctx context.Context, r lease.Row) (lease.Row, error) {
	ctx, call := s.commitLease.begin(ctx)
	v, err := s.next.CommitLease(ctx, r)
	call.ended(err)
	return v, err
}

func (s *measuredStore) DropLease(ctx context.Context, id lease.ID, seq int64) error {
	ctx, call := s.dropLease.begin(ctx)
	err := s.next.DropLease(ctx, id, seq)
	call.ended(err)
	return err
}

func (s *measuredStore) ScanLeases(ctx context.Context, after lease.ID, limit int) ([]lease.Row, error) {
	ctx, call := s.scanLeases.begin(ctx)
	v, err := s.next.ScanLeases(ctx, after, limit)
	call.ended(err)
	return v, err
}
