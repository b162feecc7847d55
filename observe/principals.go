package observe

import (
	"context"

	"carrel/core/commit"
	"carrel/principal"
)

func (s *measuredStore) ReadPrincipal(ctx context.Context, id principal.ID, q principal.Query) (*principal.Rows, error) {
	ctx, call := s.readPrincipal.begin(ctx)
	v, err := s.next.ReadPrincipal(ctx, id, q)
	call.ended(err)
	return v, err
}

func (s *measuredStore) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	ctx, call := s.readPrincipals.begin(ctx)
	v, err := s.next.ReadPrincipals(ctx, ids)
	call.ended(err)
	return v, err
}

func (s *measuredStore) GroupMembersPage(ctx context.Context, group, after principal.ID, limit int, serial bool) (*principal.Rows, error) {
	ctx, call := s.groupMembersPage.begin(ctx)
	v, err := s.next.GroupMembersPage(ctx, group, after, limit, serial)
	call.ended(err)
	return v, err
}

func (s *measuredStore) Confirm(ctx context.Context, claims []principal.MemberOf) ([]principal.GroupMemberRow, error) {
	ctx, call := s.confirm.begin(ctx)
	v, err := s.next.Confirm(ctx, claims)
	call.ended(err)
	return v, err
}

func (s *measuredStore) CommitPrincipal(ctx context.Context, c *principal.Commit) (commit.Verdict, error) {
	ctx, call := s.commitPrincipal.begin(ctx)
	s.tracing.sends(ctx, c.Writer)
	v, err := s.next.CommitPrincipal(ctx, c)
	call.decided(v, err)
	return v, err
}

func (s *measuredStore) ApplyGroupIndex(ctx context.Context, e *principal.GroupIndexUpdate) error {
	ctx, call := s.applyGroupIndex.begin(ctx)
	err := s.next.ApplyGroupIndex(ctx, e)
	call.ended(err)
	return err
}

func (s *measuredStore) CleanUpGroup(ctx context.Context, t *principal.GroupCleanup) error {
	ctx, call := s.cleanUpGroup.begin(ctx)
	err := s.next.CleanUpGroup(ctx, t)
	call.ended(err)
	return err
}

func (s *measuredStore) Memberships(ctx context.Context, p, after principal.ID, limit int) ([]principal.Membership, error) {
	ctx, call := s.memberships.begin(ctx)
	v, err := s.next.Memberships(ctx, p, after, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) MembershipsOf(ctx context.Context, q principal.MembershipsQuery) ([][]principal.Membership, error) {
	ctx, call := s.membershipsOf.begin(ctx)
	v, err := s.next.MembershipsOf(ctx, q)
	call.ended(err)
	return v, err
}

func (s *measuredStore) ScanPrincipals(ctx context.Context, after principal.ID, limit int) ([]principal.ID, error) {
	ctx, call := s.scanPrincipals.begin(ctx)
	v, err := s.next.ScanPrincipals(ctx, after, limit)
	call.ended(err)
	return v, err
}
