package lease

import (
	"context"

	"carrel/core/claim"
	"carrel/core/fault"
	"carrel/core/id"
)

// Lease returns a lease to a caller with its token, or nil if there is none.
//
// Errors: BAD_USER_INPUT if globalID is not an id; FORBIDDEN for another token.
func (s *Service) Lease(ctx context.Context, globalID, token string) (*Lease, error) {
	switch id.KindOf(globalID) {
	case id.Malformed:
		return nil, fault.BadInputf("lease: not an id")
	case id.Lease:
	default:
		return nil, nil
	}
	var l *Lease
	err := s.Early(ctx, s.NewBudget(), func(ctx context.Context) (err error) {
		l, err = s.read(ctx, ID(globalID))
		return err
	})
	switch {
	case err != nil || l == nil:
		return nil, err
	case !l.opens(token):
		return nil, fault.Forbiddenf(nil, "this is not the token of the lease")
	}
	return s.expireIfOverdue(ctx, l)
}

// KeyAvailable reports whether a key could be leased now. Its error is BAD_USER_INPUT if the
// text is not a key.
func (s *Service) KeyAvailable(ctx context.Context, key string) (bool, error) {
	if checkKey(key) != nil {
		return false, fault.BadInputf("a key has 1 to %d bytes of valid UTF-8", MaxKey)
	}
	var holder string
	err := s.Early(ctx, s.NewBudget(), func(ctx context.Context) (err error) {
		holder, err = s.claims.Holder(ctx, claim.Leased(key))
		return err
	})
	return err == nil && holder == "", err
}
