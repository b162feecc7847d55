package repair

import (
	"context"
	"fmt"
	"sync/atomic"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// rebuiltAtOnce is how many items or principals RebuildAll works on at once.
const rebuiltAtOnce = 16

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
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	return &RebuildReport{Principals: r.principals, Contents: int(r.items.Load()), Repaired: int(r.repaired.Load())}, nil
}

// DeriveAll is RebuildAll for a copied store, which has no derived rows yet: it writes them without
// comparing. It also finishes interrupted changes, and may be repeated.
func (s *Service) DeriveAll(ctx context.Context, report func(done, of int)) error {
	r := &rebuildAll{s: s, blind: true, asOf: s.engine.Now(), report: report}
	return r.run(ctx)
}

// rebuildAll is a running RebuildAll or DeriveAll.
type rebuildAll struct {
	s               *Service
	blind           bool // libraries and memberships are written without comparing
	asOf            clock.Instant
	report          func(done, of int)
	done, of        int
	principals      int
	items, repaired atomic.Int64
}

func (r *rebuildAll) run(ctx context.Context) (err error) {
	s := r.s
	if r.of, err = s.countAll(ctx); err != nil {
		return fmt.Errorf("count items and principals: %w", err)
	}
	if err := r.contents(ctx); err != nil {
		return fmt.Errorf("rebuild from items: %w", err)
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
		return err
	}
	if r.blind {
		// Only now are all memberships recorded.
		err := s.people.Upkeep.EachDeleted(ctx, func(h *principal.Header) error { return s.people.Upkeep.RemoveDeleted(ctx, h.ID) })
		if err != nil {
			return fmt.Errorf("finish deletions: %w", err)
		}
	}
	found, err := s.RebuildDirectory(ctx)
	if r.repaired.Add(int64(found)); err != nil {
		return fmt.Errorf("rebuild the directory: %w", err)
	}
	made, err := s.makeLeaseClaims(ctx)
	if r.repaired.Add(int64(made)); err != nil {
		return fmt.Errorf("rebuild the claims of leases: %w", err)
	}
	fed, err := s.rebuildPastes(ctx)
	r.repaired.Add(int64(fed))
	return err
}

// countAll returns the number of items and principals, whatever their state.
func (s *Service) countAll(ctx context.Context) (int, error) {
	n := 0
	if err := s.eachPrincipal(ctx, func(principal.ID) error { n++; return nil }); err != nil {
		return 0, err
	}
	err := s.eachContents(ctx, func(ids []library.ContentID) error { n += len(ids); return nil })
	return n, err
}

// eachPrincipal calls see for all users and groups, deleted ones too, each once.
func (s *Service) eachPrincipal(ctx context.Context, see func(principal.ID) error) error {
	key := func(p principal.ID) principal.ID { return p }
	return sched.Pages(ctx, rebuildPage, s.principals.ScanPrincipals, key, func(ids []principal.ID) error {
		for _, id := range ids {
			if err := see(id); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachContents calls see with all items, whatever their state, a page at a time.
func (s *Service) eachContents(ctx context.Context, see func([]library.ContentID) error) error {
	key := func(id library.ContentID) library.ContentID { return id }
	return sched.Pages(ctx, rebuildPage, s.contents.ScanContents, key, see)
}

func (r *rebuildAll) progress(n int) {
	r.done += n
	r.report(r.done, r.of)
}

func (r *rebuildAll) contents(ctx context.Context) error {
	return r.s.eachContents(ctx, func(ids []library.ContentID) error {
		err := sched.ForEach(ctx, r.s.rt, len(ids), rebuiltAtOnce, func(i int) error {
			content := r.content
			if r.blind {
				content = r.s.deriveContent
			}
			if err := content(ctx, ids[i]); err != nil {
				return fmt.Errorf("%s: %w", ids[i], err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		r.progress(len(ids))
		return nil
	})
}

// scrubbing returns a walk of the scrubber that ends at an error. endStep adds to repaired what it has
// found.
func (r *rebuildAll) scrubbing(ctx context.Context) *scrubbing {
	return &scrubbing{s: r.s, ctx: ctx, rest: func(step commit.ScrubStep) (context.Context, error) {
		r.repaired.Add(int64(step.Mismatches))
		return ctx, step.Err
	}}
}

// content repairs an item in the libraries and records of all its members, whatever is in flight.
func (r *rebuildAll) content(ctx context.Context, id library.ContentID) error {
	r.items.Add(1)
	c := r.scrubbing(ctx)
	var after principal.ID
	for {
		page, wrong, err := c.compareContent(id, after)
		if err != nil {
			return err
		}
		for _, p := range wrong {
			if err := r.s.repairItem(ctx, p, id); err != nil {
				return err
			}
			c.found.Mismatches++
		}
		if len(page.Members) < scrubLook {
			return c.endStep(nil)
		}
		after = page.Members[len(page.Members)-1].Principal
	}
}

// deriveContent writes the derived rows of an item, and makes the claim of its URL.
func (s *Service) deriveContent(ctx context.Context, id library.ContentID) error {
	if err := s.library.Upkeep.DeriveContent(ctx, id); err != nil {
		return err
	}
	rows, err := s.contents.Read(ctx, id, library.ContentQuery{})
	if err != nil {
		return err
	}
	_, err = s.makeClaim(ctx, urlOf(&rows.Header), string(id))
	return err
}

// principal repairs memberships, and removes from a library and its record what no item
// justifies. Then the library is complete.
func (r *rebuildAll) principal(ctx context.Context, p principal.ID) error {
	s := r.s
	if r.blind {
		if err := s.derivePrincipal(ctx, p); err != nil {
			return err
		}
	} else {
		c := r.scrubbing(ctx)
		if err := c.owner(p); err != nil {
			return err
		}
		if err := c.endStep(nil); err != nil {
			return err
		}
	}
	// A principal that does not exist gets no mark. If it is deleted after this check, the store ignores the
	// mark, which is older than the deletion.
	headers, err := s.principals.ReadPrincipals(ctx, []principal.ID{p})
	if err != nil || headers[0].State == commit.Deleted || headers[0].State == commit.Void {
		return err
	}
	return s.engine.Retry(ctx, func() error { return s.libraries.SetBuilt(ctx, p, r.asOf) })
}

// derivePrincipal writes the memberships of a group, and makes the claim of a user's e-mail address.
func (s *Service) derivePrincipal(ctx context.Context, p principal.ID) error {
	if p.IsGroup() {
		return s.eachGroupPage(ctx, p, func(rows *principal.Rows) error { return s.people.Upkeep.ApplyMembers(ctx, rows) })
	}
	_, err := s.makeEmailClaim(ctx, p)
	return err
}
