package repair

import (
	"context"
	"fmt"

	"carrel/core/clock"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// deriveAtOnce is how many items DeriveAll works on at once.
const deriveAtOnce = 16

// DeriveAll writes everything that is derived from the authoritative rows of a store:
// libraries, what was shared with whom, memberships, the directory, claims and feeds. It also
// finishes interrupted changes, and may be repeated. It calls report now and then with the
// number of items and principals that are done.
func (s *Service) DeriveAll(ctx context.Context, report func(done, of int)) error {
	asOf := s.engine.Now()
	of, err := s.countAll(ctx)
	if err != nil {
		return fmt.Errorf("count items and principals: %w", err)
	}
	done := 0
	advance := func(n int) {
		done += n
		report(done, of)
	}
	if err := s.deriveContents(ctx, advance); err != nil {
		return fmt.Errorf("writing libraries: %w", err)
	}
	// Only now is a library complete.
	err = s.people.Upkeep.EachHeader(ctx, principal.Any, func(h *principal.Header) error {
		if err := s.derivePrincipal(ctx, h.ID, asOf); err != nil {
			return fmt.Errorf("%s: %w", h.ID, err)
		}
		advance(1)
		return nil
	})
	if err != nil {
		return fmt.Errorf("writing memberships: %w", err)
	}
	if err := s.finishDeletions(ctx, advance); err != nil {
		return fmt.Errorf("finishing deletions: %w", err)
	}
	if _, err = s.RebuildDirectory(ctx); err != nil {
		return err
	}
	if _, err = s.makeLeaseClaims(ctx); err != nil {
		return err
	}
	_, err = s.rebuildPastes(ctx)
	return err
}

// countAll returns the number of items and principals, whatever their state.
func (s *Service) countAll(ctx context.Context) (int, error) {
	n := 0
	if err := s.eachPrincipal(ctx, func(principal.ID) error { n++; return nil }); err != nil {
		return 0, err
	}
	var after library.ContentID
	for {
		ids, err := s.contents.ScanContents(ctx, after, rebuildPage)
		if n += len(ids); err != nil || len(ids) < rebuildPage {
			return n, err
		}
		after = ids[len(ids)-1]
	}
}

func (s *Service) deriveContents(ctx context.Context, report func(n int)) error {
	var after library.ContentID
	for {
		ids, err := s.contents.ScanContents(ctx, after, rebuildPage)
		if err != nil || len(ids) == 0 {
			return err
		}
		err = sched.ForEach(ctx, s.rt, len(ids), deriveAtOnce, func(i int) error {
			if err := s.deriveContent(ctx, ids[i]); err != nil {
				return fmt.Errorf("%s: %w", ids[i], err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		report(len(ids))
		if len(ids) < rebuildPage {
			return nil
		}
		after = ids[len(ids)-1]
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

// derivePrincipal writes the memberships of a group, makes the claim of a user's e-mail
// address, and marks the library of either as complete.
func (s *Service) derivePrincipal(ctx context.Context, p principal.ID, asOf clock.Instant) error {
	var after principal.ID
	for p.IsGroup() {
		rows, err := s.principals.GroupMembersPage(ctx, p, after, rebuildPage, false)
		if err != nil {
			return err
		}
		if err := s.people.Upkeep.ApplyMembers(ctx, rows); err != nil {
			return err
		}
		if len(rows.Members) < rebuildPage {
			break
		}
		after = rows.Members[len(rows.Members)-1].Principal
	}
	if _, err := s.makeEmailClaim(ctx, p); err != nil {
		return err
	}
	return s.engine.Retry(ctx, func() error { return s.libraries.SetBuilt(ctx, p, asOf) })
}
