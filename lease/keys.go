package lease

import (
	"context"
	"errors"

	"carrel/core/claim"
	"carrel/core/sched"
)

// keyRecord reports which keys a lease holds. It implements claim.Record.
type keyRecord struct{ s *Service }

// Record returns how leases have keys.
func Record(s *Service) claim.Record { return keyRecord{s} }

// Look implements claim.Record.
func (r keyRecord) Look(ctx context.Context, record string, k claim.Key) (claim.Look, error) {
	seen, err := r.s.look(ctx, ID(record))
	if err != nil {
		return claim.Look{}, err
	}
	l := seen.l
	if l == nil {
		return claim.Look{Status: claim.Ended}, nil
	}
	look := claim.Look{Status: claim.Idle, Base: l.Seq, Number: l.Fence}
	switch {
	case l.Ended():
		look.Status = claim.Ended
	case l.keeps(k, r.s.engine.Now()) && seen.ownerGone:
		look.Status = claim.Lapsed
	case l.keeps(k, r.s.engine.Now()):
		look.Status = claim.Held
	}
	return look, nil
}

// Fence implements claim.Record: a pending lease expires. Look has found that the deadline of this state has
// passed. The clock is not asked again, because it may have gone back since.
func (r keyRecord) Fence(ctx context.Context, record string, base int64) (bool, error) {
	before, err := r.s.read(ctx, ID(record))
	if err != nil || before == nil || before.Seq != base || before.State != Pending {
		return false, err
	}
	verdict, err := r.s.write(before.ended(Expired)).Commit(ctx, r.s.engine.NewEntryID())
	return err == nil && verdict.Applied, err
}

// End implements claim.Record: the lease of a deleted user is ended.
func (r keyRecord) End(ctx context.Context, record string) error {
	seen, err := r.s.look(ctx, ID(record))
	if err == nil && seen.ownerGone {
		_, err = r.s.change(ctx, ID(record), r.s.revoke)
	}
	return err
}

// release removes the claims of an ended lease, and takes it off the list of its owner. It tries each
// claim, even if others fail.
func (s *Service) release(ctx context.Context, l *Lease) error {
	keys := l.keys()
	err := sched.ForEach(ctx, s.rt, len(keys), claimsAtOnce, func(i int) error {
		return s.claims.Drop(ctx, keys[i], string(l.ID), nil)
	})
	return errors.Join(err, s.takeOff(ctx, l))
}
