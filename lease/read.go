package lease

import (
	"context"

	"carrel/core/claim"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/principal"
)

// Lease returns a lease to a caller with its token, or nil if there is none. It ends the lease of a
// deleted user.
//
// Errors: BAD_USER_INPUT if globalID is not an id; FORBIDDEN for another token.
func (s *Service) Lease(ctx context.Context, globalID, token string) (*Lease, error) {
	switch id.KindOf(globalID) {
	case id.Malformed:
		return nil, fault.BadInputf("lease: not an id; that of a lease has the form l:<%d digits of 0-9 and a-f>", id.RandomDigits)
	case id.Lease:
	default:
		return nil, nil
	}
	var seen *look
	err := s.engine.WithBudget(ctx, s.engine.NewBudget(), func(ctx context.Context) (err error) {
		seen, err = s.look(ctx, ID(globalID))
		return err
	})
	switch {
	case err != nil || seen.l == nil:
		return nil, err
	case !seen.l.opens(token):
		return nil, fault.Forbiddenf(nil, "this is not the token of the lease")
	case seen.ownerGone:
		return s.change(ctx, seen.l.ID, s.revoke)
	}
	return s.expireIfOverdue(ctx, seen.l)
}

// KeyAvailable reports whether a viewer could lease a key of its tenant now.
//
// Errors: UNAUTHENTICATED; BAD_USER_INPUT if the text is not a key.
func (s *Service) KeyAvailable(ctx context.Context, v *principal.Viewer, key string) (bool, error) {
	if !v.SignedIn() {
		return false, fault.SignInFirst()
	}
	holder, err := s.holder(ctx, v.User.Tenant(), key)
	return err == nil && holder == "", err
}

// KeyHolder returns the lease that holds a key of a tenant to an administrator of it, or nil if none
// does. The tenant is the viewer's own by default.
//
// Errors: BAD_USER_INPUT if a text is not a key, or not a tenant; FORBIDDEN.
func (s *Service) KeyHolder(ctx context.Context, v *principal.Viewer, key string, tenant *string) (*Lease, error) {
	of := v.User.Tenant()
	if tenant != nil {
		of = *tenant
		if err := id.CheckTenant(of); err != nil {
			return nil, fault.BadInputf("tenant: %s", err)
		}
	}
	if !v.Administers(of) {
		return nil, fault.Forbiddenf(nil, "only administrators of the tenant may look up who holds a key")
	}
	holder, err := s.holder(ctx, of, key)
	if err != nil || holder == "" {
		return nil, err
	}
	return s.read(ctx, ID(holder))
}

// holder returns the id of the lease that holds a key, or "".
func (s *Service) holder(ctx context.Context, tenant, key string) (holder string, err error) {
	if checkKey(key) != nil {
		return "", fault.BadInputf("a key has 1 to %d bytes of valid UTF-8", MaxKey)
	}
	err = s.engine.WithBudget(ctx, s.engine.NewBudget(), func(ctx context.Context) error {
		record, look, err := s.claims.Look(ctx, claim.Leased(tenant, key))
		if look.Status == claim.Held {
			holder = record
		}
		return err
	})
	return holder, err
}
