package observe

import (
	"context"

	"carrel/core/claim"
)

func (s *measuredStore) claimCalls() []namedCall {
	return []namedCall{
		{&s.readClaim, "ReadClaim"},
		{&s.putClaim, "PutClaim"},
		{&s.dropClaim, "DropClaim"},
		{&s.scanClaims, "ScanClaims"},
	}
}

func (s *measuredStore) ReadClaim(ctx context.Context, k claim.Key, serial bool) (claim.Claim, error) {
	ctx, call := s.readClaim.begin(ctx)
	v, err := s.next.ReadClaim(ctx, k, serial)
	call.ended(err)
	return v, err
}

func (s *measuredStore) PutClaim(ctx context.Context, c claim.Claim, over *claim.Token) (claim.Claim, error) {
	ctx, call := s.putClaim.begin(ctx)
	v, err := s.next.PutClaim(ctx, c, over)
	call.ended(err)
	return v, err
}

func (s *measuredStore) DropClaim(ctx context.Context, k claim.Key, record string, token *claim.Token) error {
	ctx, call := s.dropClaim.begin(ctx)
	err := s.next.DropClaim(ctx, k, record, token)
	call.ended(err)
	return err
}

func (s *measuredStore) ScanClaims(ctx context.Context, after claim.Key, limit int) ([]claim.Claim, error) {
	ctx, call := s.scanClaims.begin(ctx)
	v, err := s.next.ScanClaims(ctx, after, limit)
	call.ended(err)
	return v, err
}
