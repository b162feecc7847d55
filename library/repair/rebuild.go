package repair

import (
	"context"
	"errors"
	"math"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// Pages of a rebuild and of an audit, in rows: few enough to be held, many
// enough that the round trips do not count.
const rebuildPage = 100

// RebuildLibrary brings a library back from the record of what was shared with
// its owner. Administrators of the owner's tenant only.
func (s *Service) RebuildLibrary(ctx context.Context, v *principal.Viewer, owner string) (*library.RebuildOutcome, error) {
	defer v.Forget()
	var faults fault.List
	p, err := principal.ParseID(owner)
	faults.Add(err, "principalId")
	if _, err := s.BeginAsActor(ctx, v, p.Tenant(), commit.Call{Name: "rebuildLibrary", Faults: faults}); err != nil {
		return nil, err
	}
	headers, err := s.people.ReadPrincipals(ctx, []principal.ID{p})
	if err != nil {
		return nil, err
	}
	sees, err := s.Sees(ctx, v, p, &headers[0])
	switch {
	case err != nil:
		return nil, err
	case !sees:
		return nil, principal.NoSuchPrincipal("principalId")
	case !v.Administers(p.Tenant()):
		return nil, fault.Forbiddenf([]string{"principalId"}, "only an administrator of the tenant may rebuild a library")
	}
	restored, removed, err := s.rebuildAsked(ctx, p)
	if err != nil {
		return nil, err
	}
	return &library.RebuildOutcome{Principal: principal.Of(headers[0]), Restored: restored, Removed: removed}, nil
}

// Rebuild brings p's library in line with everything that p has a role on, and
// takes out what no header justifies. It runs in place, beside live traffic: it
// removes nothing newer than what it read. restored and removed are numbers of
// items in the PRIVATE bucket, which holds all. A rebuild that was interrupted,
// in whichever process, is continued.
func (s *Service) Rebuild(ctx context.Context, p principal.ID) (restored, removed int, err error) {
	var r *rebuild
	pause := repairPause
	for range repairTries {
		if r, err = s.openRebuild(ctx, p, r); err != nil {
			return 0, 0, err
		}
		complete, err := r.run(ctx)
		if err != nil {
			return 0, 0, err
		}
		if complete {
			now, err := s.libraries.CountLibrary(ctx, p, principal.Private, math.MaxInt32)
			return max(0, now-r.Before+r.Removed), r.Removed, err
		}
		// It was deleted while it was rebuilt, or by a clock that is ahead.
		if err := s.Pause(ctx, pause); err != nil {
			return 0, 0, err
		}
		pause *= 2
	}
	return 0, 0, hiddenByHand()
}

// rebuild is one try to rebuild a library.
type rebuild struct {
	s *Service
	p principal.ID
	// wasComplete: the library was marked as complete before this try.
	wasComplete bool
	rebuildProgress
	looked int // since the progress was kept, as rebuildKeepAfter counts
}

// run does what is left of a try, and tells whether the library is complete.
func (r *rebuild) run(ctx context.Context) (complete bool, err error) {
	if !r.Restored {
		err = r.restore(ctx)
	}
	for _, b := range library.AllBuckets {
		if err == nil {
			err = r.sweep(ctx, b)
		}
	}
	if err == nil {
		complete, err = r.finish(ctx)
	}
	if errors.Is(err, errOvertaken) {
		return r.doneElsewhere(ctx)
	}
	return complete, err
}

// finish marks the library as complete as of the beginning of the rebuild: the
// store does not show the mark of a library that was deleted by hand since.
func (r *rebuild) finish(ctx context.Context) (complete bool, err error) {
	if err := r.check(ctx); err != nil {
		return false, err
	}
	recorded, err := r.s.libraries.Recorded(ctx, r.p)
	if err != nil {
		return false, err
	}
	if !recorded && !r.Unrecorded {
		return false, nil // a record that was lost meanwhile did not name everything
	}
	if err := r.s.Retry(ctx, func() error { return r.s.libraries.SetBuilt(ctx, r.p, r.AsOf) }); err != nil {
		return false, err
	}
	if complete, err = r.s.isComplete(ctx, r.p); err != nil {
		return false, err
	}
	// Of a library that is not complete nothing is left to continue.
	return complete, r.s.Retry(ctx, func() error { return r.s.libraries.DropRebuildNote(ctx, r.p, r.AsOf) })
}

// isComplete tells whether p's library and record carry their marks.
func (s *Service) isComplete(ctx context.Context, p principal.ID) (bool, error) {
	built, err := s.libraries.Built(ctx, p)
	if err != nil || !built {
		return false, err
	}
	return s.libraries.Recorded(ctx, p)
}

// restore mends everything that p has a role on: by the record of what was
// shared with p, or where that is missing too, by looking at every item.
func (r *rebuild) restore(ctx context.Context) error {
	mend := r.repairRecorded
	if r.Unrecorded {
		r.s.log.WarnContext(ctx, "the record of what a principal has a role on is missing: looking at all items", "principal", string(r.p))
		mend = r.repairHeld
	}
	if err := mend(ctx); err != nil {
		return err
	}
	r.Restored = true
	return r.keep(ctx)
}

// repairRecorded mends what the record names, from where the rebuild has got to.
func (r *rebuild) repairRecorded(ctx context.Context) error {
	for {
		shared, err := r.s.libraries.SharedWith(ctx, r.p, r.After, rebuildPage)
		if err != nil || len(shared) == 0 {
			return err
		}
		ids := make([]library.ContentID, len(shared))
		for i := range shared {
			ids[i] = shared[i].Content
		}
		if err := r.s.repairAll(ctx, r.p, ids); err != nil || len(ids) < rebuildPage {
			return err
		}
		if err := r.passed(ctx, ids[len(ids)-1], len(ids)); err != nil {
			return err
		}
	}
}

// repairHeld mends all items that have a row of p, from where the rebuild has got to.
func (r *rebuild) repairHeld(ctx context.Context) error {
	for {
		ids, err := r.s.contents.ScanContents(ctx, r.After, rebuildPage)
		if err != nil || len(ids) == 0 {
			return err
		}
		rows, err := r.s.contents.ReadMany(ctx, ids, []principal.ID{r.p})
		if err != nil {
			return err
		}
		var held []library.ContentID
		for i := range rows {
			if rows[i].Members[0].Seq != 0 {
				held = append(held, ids[i])
			}
		}
		if err := r.s.repairAll(ctx, r.p, held); err != nil || len(ids) < rebuildPage {
			return err
		}
		if err := r.passed(ctx, ids[len(ids)-1], len(held)); err != nil {
			return err
		}
	}
}

// sweep walks a bucket, drops the entries that no header justifies, and has
// the record name the others. It costs a hundredth of restore, and is never
// continued but done again.
func (r *rebuild) sweep(ctx context.Context, b library.Bucket) error {
	s, p := r.s, r.p
	return s.walkBucket(ctx, p, b, func(entries []library.Entry, rows []library.ContentRows) error {
		if s.Ending() {
			return commit.ErrEnding
		}
		dropped, err := s.dropStrays(ctx, p, b, entries, rows)
		if err != nil || b != principal.Private {
			return err
		}
		if dropped > 0 {
			r.Removed += dropped
			if err := r.keep(ctx); err != nil {
				return err
			}
		}
		return s.repairUnrecorded(ctx, p, rows)
	})
}

// dropStrays drops the entries that the rows, which were read after them, do
// not justify. Where a change has just moved an item, it is written at its new
// position first: readers would miss it otherwise until the change is done.
func (s *Service) dropStrays(ctx context.Context, p principal.ID, b library.Bucket, entries []library.Entry, rows []library.ContentRows) (dropped int, err error) {
	for i, e := range entries {
		if justified(e, b, p, &rows[i]) {
			continue
		}
		dropped++
		if err := s.RepairEntry(ctx, p, library.BucketEntry{Bucket: b, Entry: e}); err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

// repairUnrecorded mends the items on which p's role is recorded otherwise than
// it is.
func (s *Service) repairUnrecorded(ctx context.Context, p principal.ID, rows []library.ContentRows) error {
	ids := make([]library.ContentID, 0, len(rows))
	for i := range rows {
		if rows[i].Header.State == commit.Live {
			ids = append(ids, rows[i].Header.ID)
		}
	}
	recorded, err := s.libraries.Roles(ctx, p, ids)
	if err != nil {
		return err
	}
	var wrong []library.ContentID
	n := 0
	for i := range rows {
		if rows[i].Header.State != commit.Live {
			continue
		}
		role := library.NoRole
		if m := rows[i].Members[0]; m.Active() {
			role = m.Role
		}
		if recorded[n] != role {
			wrong = append(wrong, ids[n])
		}
		n++
	}
	return s.repairAll(ctx, p, wrong)
}

// walkBucket reads a bucket from its oldest entry on, with the headers of the
// entries and p's member rows, read after the entries were.
func (s *Service) walkBucket(ctx context.Context, p principal.ID, b library.Bucket, see func([]library.Entry, []library.ContentRows) error) error {
	slice := library.Slice{Owner: p, Bucket: b, Newer: true, Limit: rebuildPage}
	for {
		entries, err := s.libraries.PageLibrary(ctx, slice)
		if err != nil || len(entries) == 0 {
			return err
		}
		ids := make([]library.ContentID, len(entries))
		for i, e := range entries {
			ids[i] = e.Content
		}
		rows, err := s.contents.ReadMany(ctx, ids, []principal.ID{p})
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
		slice.From = &library.EntryKey{Position: last.Position, Content: last.Content}
	}
}

// justified tells whether an entry stands where the item's state has it.
func justified(e library.Entry, b library.Bucket, p principal.ID, rows *library.ContentRows) bool {
	h := &rows.Header
	return h.State == commit.Live && rows.Members[0].Active() && e.Position == h.Position && library.InBucket(b, h.Visibility, e.Content, p)
}
