package principal

import (
	"context"
	"errors"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/fault"
)

// A user owns its e-mail address by a claim (docs/unique-names.md). Its header decides: the
// address is written in one compare-and-set, based on a header that was read before the claim
// was taken.

// takeEmail takes the claim of an address for a user whose header has been read. Its error is
// TAKEN at email if another user has it.
func (s *Service) takeEmail(ctx context.Context, id ID, email string) error {
	err := s.claims.Take(ctx, claim.Email(id.Tenant(), email), string(id), s.claims.Until())
	if errors.Is(err, claim.ErrTaken) {
		return emailTaken()
	}
	return err
}

func emailTaken() *fault.Error {
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonTaken, Path: []string{"email"}, Msg: "another user has this e-mail address"}
}

// changeEmail takes the claim of the address that a plan gives a user, and records the claim of
// the former address in the plan.
func (s *Service) changeEmail(ctx context.Context, before *Header, p *changePlan) (err error) {
	if p.after.Email == before.Email || p.after.Email == "" {
		return nil
	}
	if before.Email != "" {
		if p.formerEmail, err = s.claims.Former(ctx, claim.Email(before.Tenant(), before.Email), string(before.ID)); err != nil {
			return err
		}
	}
	return s.takeEmail(ctx, p.after.ID, p.after.Email)
}

// emailRecord reports to package claim which address a user owns. It implements claim.Record.
type emailRecord struct{ s *Service }

// EmailRecord returns how users have addresses.
func EmailRecord(s *Service) claim.Record { return emailRecord{s} }

// Look implements claim.Record.
func (r emailRecord) Look(ctx context.Context, record string, k claim.Key) (claim.Look, error) {
	rows, err := r.s.store.ReadPrincipal(ctx, ID(record), Query{Serial: true})
	if err != nil {
		return claim.Look{}, err
	}
	h := &rows.Header
	look := claim.Look{Base: h.Seq}
	switch {
	case h.State == commit.Deleted:
		look.Status = claim.Ended
	case h.State == commit.Live && h.Email != "" && claim.Email(ID(record).Tenant(), h.Email) == k:
		look.Status = claim.Held
	}
	return look, nil
}

// Fence implements claim.Record.
func (r emailRecord) Fence(ctx context.Context, record string, base int64) (bool, error) {
	id := ID(record)
	rows, err := r.s.store.ReadPrincipal(ctx, id, Query{Serial: true})
	if err != nil || rows.Header.Seq != base {
		return false, err
	}
	verdict, err := r.s.store.CommitPrincipal(ctx, r.s.fenceOf(id, &rows.Header))
	return err == nil && verdict.Applied, err
}

// End implements claim.Record. Users do not expire.
func (emailRecord) End(context.Context, string) error { return nil }
