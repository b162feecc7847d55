package repair

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"carrel/core/clock"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// RebuildReport counts what RebuildAll has checked and repaired.
type RebuildReport struct {
	Principals int `json:"principals"`
	Contents   int `json:"contents"`
	// Repaired counts derived rows that were wrong or missing.
	Repaired int `json:"repaired"`
}

// RebuildAll compares all derived rows with the authoritative ones, repairs the differences,
// and marks all libraries as complete. It works whatever derived rows were lost, including
// those that say what else to rebuild. It may run while the store is in use. It calls report
// now and then with the number of items and principals that are done.
func (s *Service) RebuildAll(ctx context.Context, report func(done, of int)) (*RebuildReport, error) {
	r := &rebuildAll{s: s, asOf: s.engine.Now(), report: report}
	of, err := s.countAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("count items and principals: %w", err)
	}
	r.of = of
	if err := r.contents(ctx); err != nil {
		return nil, fmt.Errorf("rebuild from items: %w", err)
	}
	// Only now is a library complete.
	err = s.eachPrincipal(ctx, func(p principal.ID) error {
		if err := r.principal(ctx, p); err != nil {
			return fmt.Errorf("rebuilding %s: %w", p, err)
		}
		r.principals++
		r.progress(1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	found, err := s.RebuildDirectory(ctx)
	if r.repaired.Add(int64(found)); err != nil {
		return nil, fmt.Errorf("rebuild the directory: %w", err)
	}
	made, err := s.makeLeaseClaims(ctx)
	if r.repaired.Add(int64(made)); err != nil {
		return nil, fmt.Errorf("rebuild the claims of leases: %w", err)
	}
	fed, err := s.rebuildPastes(ctx)
	if r.repaired.Add(int64(fed)); err != nil {
		return nil, err
	}
	return &RebuildReport{Principals: r.principals, Contents: int(r.items.Load()), Repaired: int(r.repaired.Load())}, nil
}

// rebuildAll is a running RebuildAll.
type rebuildAll struct {
	s               *Service
	asOf            clock.Instant
	report          func(done, of int)
	done, of        int
	principals      int
	items, repaired atomic.Int64
}

func (r *rebuildAll) progress(n int) {
	r.done += n
	r.report(r.done, r.of)
}

func (r *rebuildAll) contents(ctx context.Context) error {
	var after library.ContentID
	for {
		ids, err := r.s.contents.ScanContents(ctx, after, rebuildPage)
		if err != nil || len(ids) == 0 {
			return err
		}
		err = sched.ForEach(ctx, r.s.rt, len(ids), deriveAtOnce, func(i int) error {
			if err := r.content(ctx, ids[i]); err != nil {
				return fmt.Errorf("%s: %w", ids[i], err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		r.progress(len(ids))
		if len(ids) < rebuildPage {
			return nil
		}
		after = ids[len(ids)-1]
	}
}

// content repairs an item in the libraries and records of all its members.
func (r *rebuildAll) content(ctx context.Context, id library.ContentID) error {
	r.items.Add(1)
	var after principal.ID
	for {
		page, wrong, err := r.s.compare(ctx, id, after)
		if err != nil {
			return err
		}
		if after == "" {
			made, err := r.s.makeClaim(ctx, urlOf(&page.Header), string(id))
			if r.repaired.Add(int64(made)); err != nil {
				return err
			}
			unlisted, err := r.s.library.Upkeep.RepairFeed(ctx, &page.Header)
			if err != nil {
				return err
			}
			if unlisted {
				r.repaired.Add(1)
			}
		}
		for _, p := range wrong {
			if err := r.s.repairItem(ctx, p, id); err != nil {
				return err
			}
			r.repaired.Add(1)
		}
		left, err := r.s.takeOutDeleted(ctx, &page.Header, page.Members)
		if r.repaired.Add(int64(left)); err != nil {
			return err
		}
		if len(page.Members) < scrubLook {
			return nil
		}
		after = page.Members[len(page.Members)-1].Principal
	}
}

// principal repairs memberships, and removes from a library and its record what no item
// justifies.
func (r *rebuildAll) principal(ctx context.Context, p principal.ID) error {
	c := &scrubbing{s: r.s, budget: math.MaxInt}
	_, err := c.owner(ctx, ScrubPosition{Owners: true, Owner: p})
	r.repaired.Add(int64(c.report.Mismatches))
	if err != nil {
		return err
	}
	// A deleted principal gets no mark. If it is deleted after this check, the store ignores the
	// mark, which is older than the deletion.
	if gone, err := r.s.people.DeletedOf(ctx, []principal.ID{p}); err != nil || len(gone) > 0 {
		return err
	}
	return r.s.engine.Retry(ctx, func() error { return r.s.libraries.SetBuilt(ctx, p, r.asOf) })
}
