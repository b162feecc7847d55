package repair

import (
	"context"
	"fmt"

	"carrel/core/sched"
	"carrel/lease"
)

// makeKeyClaims makes the claims that a lease lacks for the keys that it holds. It returns how many
// claims it has changed.
func (s *Service) makeKeyClaims(ctx context.Context, l *lease.Scanned) (int, error) {
	n := 0
	for _, k := range l.Keys {
		made, err := s.makeClaim(ctx, k, string(l.ID))
		if n += made; err != nil {
			return n, err
		}
	}
	return n, nil
}

// makeLeaseClaims is makeKeyClaims for all leases.
func (s *Service) makeLeaseClaims(ctx context.Context) (int, error) {
	n := 0
	err := s.eachLease(ctx, func(l *lease.Scanned) error {
		made, err := s.makeKeyClaims(ctx, l)
		n += made
		return err
	})
	return n, err
}

// eachLease calls see for all leases.
func (s *Service) eachLease(ctx context.Context, see func(l *lease.Scanned) error) error {
	return sched.Pages(ctx, rebuildPage, s.leases.Scan, leaseKey, func(found []lease.Scanned) error {
		for i := range found {
			if err := see(&found[i]); err != nil {
				return fmt.Errorf("%s: %w", found[i].ID, err)
			}
		}
		return nil
	})
}

// leases makes the claims that leases lack, and sweeps leases whose reminders were lost.
func (c *scrubbing) leases() error {
	return scrubTable(c, c.s.leases.Scan, leaseKey, func(l lease.Scanned) error {
		made, err := c.s.makeKeyClaims(c.ctx, &l)
		c.found.Mismatches += made
		if err == nil && l.Missed {
			c.found.Finished++
			err = c.s.leases.Sweep(c.ctx, l.ID)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", l.ID, err)
		}
		return nil
	})
}

func leaseKey(l lease.Scanned) lease.ID { return l.ID }

// auditLeases checks the claims of permanent leases. A pending one may be taking its keys,
// or have been interrupted.
func (s *Service) auditLeases(ctx context.Context, r *AuditReport) error {
	return s.eachLease(ctx, func(l *lease.Scanned) error {
		if len(l.Keys) > 0 {
			r.Leases++
		}
		if !l.Permanent {
			return nil
		}
		for _, k := range l.Keys {
			if err := s.auditClaim(ctx, r, k, string(l.ID), "a key"); err != nil {
				return err
			}
		}
		return nil
	})
}
