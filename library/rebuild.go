package library

import (
	"context"
	"fmt"
	"math"

	"carrel/core/fault"
)

// Pages of a rebuild and of an audit, in rows: few enough to be held, many
// enough that the round trips do not count.
const rebuildPage = 100

// RebuildLibrary brings a library back from the record of what was shared with
// its owner. Administrators of the owner's tenant only.
func (s *Service) RebuildLibrary(ctx context.Context, v *Viewer, principal string) (*RebuildOutcome, error) {
	v.forget()
	defer v.forget()
	if !v.SignedIn() {
		return nil, unauthenticated()
	}
	p, err := ParsePrincipalID(principal)
	if err != nil {
		var faults fault.List
		faults.Add(err, "principalId")
		return nil, faults
	}
	if err := s.requireActor(ctx, s.newBudget(), v, p.Tenant()); err != nil {
		return nil, err
	}
	headers, err := s.store.ReadPrincipals(ctx, []PrincipalID{p})
	if err != nil {
		return nil, err
	}
	sees, err := s.seesPrincipal(ctx, v, p, &headers[0])
	switch {
	case err != nil:
		return nil, err
	case !sees:
		return nil, noSuchPrincipal("principalId")
	case !v.Administers(p.Tenant()):
		return nil, fault.Forbiddenf([]string{"principalId"}, "only an administrator of the tenant may rebuild a library")
	}
	restored, removed, err := s.rebuildAsked(ctx, p)
	if err != nil {
		return nil, err
	}
	return &RebuildOutcome{Principal: principalOf(headers[0]), Restored: restored, Removed: removed}, nil
}

// Rebuild brings p's library in line with everything that p has a role on, and
// takes out what no header justifies. It runs in place, beside live traffic: it
// removes nothing newer than what it read. restored and removed are numbers of
// items in the PRIVATE bucket, which holds all.
func (s *Service) Rebuild(ctx context.Context, p PrincipalID) (restored, removed int, err error) {
	before, err := s.store.CountLibrary(ctx, p, Private, math.MaxInt32)
	if err != nil {
		return 0, 0, err
	}
	pause := mendPause
	for range mendTries {
		n, complete, err := s.rebuildOnce(ctx, p)
		if removed += n; err != nil {
			return 0, 0, err
		}
		if complete {
			now, err := s.store.CountLibrary(ctx, p, Private, math.MaxInt32)
			return max(0, now-before+removed), removed, err
		}
		// It was deleted while it was rebuilt, or by a clock that is ahead.
		if err := s.pause(ctx, pause); err != nil {
			return 0, 0, err
		}
		pause *= 2
	}
	return 0, 0, hiddenByHand()
}

// rebuildOnce is Rebuild, and tells whether the library was left alone meanwhile.
func (s *Service) rebuildOnce(ctx context.Context, p PrincipalID) (removed int, complete bool, err error) {
	// Whatever is deleted by hand from here on takes the marks of completeness,
	// which hold as of now, with it.
	asOf := s.now()
	if err := s.restore(ctx, p); err != nil {
		return 0, false, err
	}
	for _, b := range allBuckets {
		n, err := s.sweep(ctx, p, b)
		if err != nil {
			return 0, false, err
		}
		if b == Private {
			removed = n
		}
	}
	if err := s.insist(ctx, func() error { return s.store.SetBuilt(ctx, p, asOf) }); err != nil {
		return 0, false, err
	}
	if complete, err = s.store.Built(ctx, p); err != nil || !complete {
		return removed, false, err
	}
	complete, err = s.store.Recorded(ctx, p)
	return removed, complete, err
}

// restore mends everything that p has a role on: by the record of what was
// shared with p, or where that is missing too, by looking at every item.
func (s *Service) restore(ctx context.Context, p PrincipalID) error {
	recorded, err := s.store.Recorded(ctx, p)
	if err != nil {
		return fmt.Errorf("looking for the record of what %s has a role on: %w", p, err)
	}
	if recorded {
		return s.mendRecorded(ctx, p)
	}
	s.log.WarnContext(ctx, "the record of what a principal has a role on is missing: looking at all items", "principal", string(p))
	return s.mendHeld(ctx, p)
}

// mendRecorded mends what the record names.
func (s *Service) mendRecorded(ctx context.Context, p PrincipalID) error {
	var after ContentID
	for {
		shared, err := s.store.SharedWith(ctx, p, after, rebuildPage)
		if err != nil {
			return err
		}
		ids := make([]ContentID, len(shared))
		for i, sh := range shared {
			ids[i], after = sh.Content, sh.Content
		}
		if err := s.mendAll(ctx, p, ids); err != nil || len(shared) < rebuildPage {
			return err
		}
	}
}

// mendHeld mends all items that have a row of p.
func (s *Service) mendHeld(ctx context.Context, p PrincipalID) error {
	var after ContentID
	for {
		ids, err := s.store.ScanContents(ctx, after, rebuildPage)
		if err != nil || len(ids) == 0 {
			return err
		}
		rows, err := s.store.ReadMany(ctx, ids, []PrincipalID{p})
		if err != nil {
			return err
		}
		var held []ContentID
		for i := range rows {
			if rows[i].Members[0].Seq != 0 {
				held = append(held, ids[i])
			}
		}
		if err := s.mendAll(ctx, p, held); err != nil || len(ids) < rebuildPage {
			return err
		}
		after = ids[len(ids)-1]
	}
}

// sweep walks a bucket, drops the entries that no header justifies, and has
// the record name the others.
func (s *Service) sweep(ctx context.Context, p PrincipalID, b Bucket) (dropped int, err error) {
	err = s.walkBucket(ctx, p, b, func(entries []Entry, rows []ContentRows) error {
		if s.ending.IsOpen() {
			return errEnding
		}
		n, err := s.dropStrays(ctx, p, b, entries, rows)
		dropped += n
		if err != nil || b != Private {
			return err
		}
		return s.mendUnrecorded(ctx, p, rows)
	})
	return dropped, err
}

// dropStrays drops the entries that the rows, which were read after them, do
// not justify.
func (s *Service) dropStrays(ctx context.Context, p PrincipalID, b Bucket, entries []Entry, rows []ContentRows) (dropped int, err error) {
	for i, e := range entries {
		if justified(e, b, p, &rows[i]) {
			continue
		}
		dropped++
		if err := s.dropStray(ctx, p, b, EntryKey{e.Position, e.Content}); err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

// mendUnrecorded mends the items on which p's role is recorded otherwise than
// it is.
func (s *Service) mendUnrecorded(ctx context.Context, p PrincipalID, rows []ContentRows) error {
	ids := make([]ContentID, 0, len(rows))
	for i := range rows {
		if rows[i].Header.State == Live {
			ids = append(ids, rows[i].Header.ID)
		}
	}
	recorded, err := s.store.Roles(ctx, p, ids)
	if err != nil {
		return err
	}
	var wrong []ContentID
	n := 0
	for i := range rows {
		if rows[i].Header.State != Live {
			continue
		}
		role := NoRole
		if m := rows[i].Members[0]; m.Active() {
			role = m.Role
		}
		if recorded[n] != role {
			wrong = append(wrong, ids[n])
		}
		n++
	}
	return s.mendAll(ctx, p, wrong)
}

// walkBucket reads a bucket from its oldest entry on, with the headers of the
// entries and p's member rows, read after the entries were.
func (s *Service) walkBucket(ctx context.Context, p PrincipalID, b Bucket, see func([]Entry, []ContentRows) error) error {
	slice := Slice{Owner: p, Bucket: b, Newer: true, Limit: rebuildPage}
	for {
		entries, err := s.store.PageLibrary(ctx, slice)
		if err != nil || len(entries) == 0 {
			return err
		}
		ids := make([]ContentID, len(entries))
		for i, e := range entries {
			ids[i] = e.Content
		}
		rows, err := s.store.ReadMany(ctx, ids, []PrincipalID{p})
		if err != nil {
			return err
		}
		if err := see(entries, rows); err != nil {
			return err
		}
		if len(entries) < rebuildPage {
			return nil
		}
		last := entries[len(entries)-1]
		slice.From = &EntryKey{last.Position, last.Content}
	}
}

// justified tells whether an entry stands where the item's state has it.
func justified(e Entry, b Bucket, p PrincipalID, rows *ContentRows) bool {
	h := &rows.Header
	return h.State == Live && rows.Members[0].Active() && e.Position == h.Position && StandsIn(b, h.Visibility, e.Content, p)
}
