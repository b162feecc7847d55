package repair

import (
	"context"
	"errors"
	"fmt"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// urlOf returns the key of the URL that an item owns; the zero Key if it has none.
func urlOf(h *library.Header) claim.Key {
	if h.State != commit.Live || h.CanonicalURL == "" {
		return claim.Key{}
	}
	return claim.URL(h.Tenant(), h.CanonicalURL)
}

// emailOf returns the key of the address that a user owns; the zero Key if it has none.
func emailOf(h *principal.Header) claim.Key {
	if h.State != commit.Live || h.Email == "" || !h.ID.IsUser() {
		return claim.Key{}
	}
	return claim.Email(h.Tenant(), h.Email)
}

// makeClaim makes the claim of the name that a record owns, if it is missing. It returns how many
// claims it has changed. It changes none of a record that owns the name too; the audit reports that.
func (s *Service) makeClaim(ctx context.Context, k claim.Key, record string) (int, error) {
	if k == (claim.Key{}) {
		return 0, nil
	}
	pointsTo, err := s.claims.Candidate(ctx, k)
	if err == nil && pointsTo != record {
		err = s.claims.Take(ctx, k, record, s.engine.Now())
	}
	switch {
	case errors.Is(err, claim.ErrTaken):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("the claim of %s: %w", record, err)
	case pointsTo == record:
		return 0, nil
	}
	return 1, nil
}

// makeEmailClaim is makeClaim for the address of a user.
func (s *Service) makeEmailClaim(ctx context.Context, p principal.ID) (int, error) {
	if !p.IsUser() {
		return 0, nil
	}
	headers, err := s.principals.ReadPrincipals(ctx, []principal.ID{p})
	if err != nil {
		return 0, err
	}
	return s.makeClaim(ctx, emailOf(&headers[0]), string(p))
}

// claims removes claims that have expired and whose records do not own their keys: those of
// interrupted changes.
func (c *scrubbing) claims() error {
	return scrubTable(c, c.s.claims.Scan, claimKey, func(current claim.Claim) error {
		stale, err := c.s.claims.Stale(c.ctx, current)
		if err == nil && stale {
			stale, err = c.s.claims.Release(c.ctx, current)
		}
		if err != nil {
			return fmt.Errorf("the claim of %s: %w", current.Record, err)
		}
		if stale {
			c.found.Finished++
		}
		return nil
	})
}

func claimKey(c claim.Claim) claim.Key { return c.Key }

// auditClaim reports a name that has no claim, or whose claim points to another record.
func (s *Service) auditClaim(ctx context.Context, r *AuditReport, k claim.Key, record, what string) error {
	if k == (claim.Key{}) {
		return nil
	}
	pointsTo, err := s.claims.Candidate(ctx, k)
	switch {
	case err != nil:
		return fmt.Errorf("the claim of %s: %w", record, err)
	case pointsTo == "":
		r.mismatch("%s has %s without a claim; carrel rebuild makes one", record, what)
	case pointsTo != record:
		r.mismatch("%s has %s, which %s has too", record, what, pointsTo)
	}
	return nil
}

// auditEmails checks the claims of all e-mail addresses.
func (s *Service) auditEmails(ctx context.Context, r *AuditReport) error {
	return s.people.Upkeep.EachHeader(ctx, principal.Any, func(h *principal.Header) error {
		return s.auditClaim(ctx, r, emailOf(h), string(h.ID), "an e-mail address")
	})
}

// auditClaims counts claims, and the stale ones among them, which only the scrubber removes.
func (s *Service) auditClaims(ctx context.Context, r *AuditReport) error {
	return sched.Pages(ctx, rebuildPage, s.claims.Scan, claimKey, func(found []claim.Claim) error {
		for _, current := range found {
			stale, err := s.claims.Stale(ctx, current)
			if err != nil {
				return fmt.Errorf("the claim of %s: %w", current.Record, err)
			}
			if r.Claims++; stale {
				r.StaleClaims++
			}
		}
		return nil
	})
}
