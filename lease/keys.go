package lease

import (
	"context"

	"carrel/core/claim"
	"carrel/core/sched"
)

// keyRecord reports which keys a lease holds. It implements claim.Record.
type keyRecord struct{ s *Service }

// Look implements claim.Record.
func (r keyRecord) Look(ctx context.Context, record string, k claim.Key) (claim.Look, error) {
	l, err := r.s.read(ctx, ID(record))
	if err != nil {
		return claim.Look{}, err
	}
	switch now := r.s.Now(); {
	case l == nil || l.Ended():
		return claim.Look{Status: claim.Ended}, nil
	case k == claim.Leased(k.Name) && l.keeps(k.Name, now):
		return claim.Look{Status: claim.Held, Base: l.Seq}, nil
	}
	return claim.Look{Status: claim.Idle, Base: l.Seq}, nil
}

// Fence implements claim.Record: a pending lease whose deadline has passed expires.
func (r keyRecord) Fence(ctx context.Context, record string, base int64) (bool, error) {
	before, err := r.s.read(ctx, ID(record))
	if err != nil || before == nil || before.Seq != base || !before.overdue(r.s.Now()) {
		return false, err
	}
	verdict, err := r.s.write(before.ended(Expired)).Commit(ctx, r.s.NewEntryID())
	return err == nil && verdict.Applied, err
}

// End implements claim.Record. A lease is fenced instead.
func (keyRecord) End(context.Context, string) error { return nil }

// release removes the claims of an ended lease. It tries each claim, even if others fail.
func (s *Service) release(ctx context.Context, l *Lease) error {
	keys := l.keys()
	return sched.ForEach(ctx, s.rt, len(keys), claimsAtOnce, func(i int) error {
		return s.claims.Drop(ctx, claim.Leased(keys[i]), string(l.ID), nil)
	})
}

// releaseLater releases the claims of an ended lease in the background. Its keys are free
// already, so no caller waits. Claims that fail are released when the lease is swept.
func (s *Service) releaseLater(ctx context.Context, l *Lease) {
	ctx = s.rt.Detach(ctx)
	s.rt.Go(func() {
		ctx, cancel := s.rt.Deadline(ctx, endWithin)
		defer cancel()
		if err := s.release(ctx, l); err != nil {
			s.log.DebugContext(ctx, "the claims of an ended lease stay until they are swept", "lease", l.ID, "error", err)
		}
	})
}
