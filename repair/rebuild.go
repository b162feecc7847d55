package repair

import (
	"context"
	"errors"
	"math"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// rebuildPage is the number of rows in a page of a rebuild or an audit: few enough to hold in
// memory, many enough that round trips do not matter.
const rebuildPage = 100

// RebuildLibrary restores a library from the record of what was shared with its owner. Only
// administrators of the owner's tenant may call it.
func (s *Service) RebuildLibrary(ctx context.Context, v *principal.Viewer, owner string) (*library.RebuildOutcome, error) {
	defer v.Forget()
	var faults fault.List
	p, err := principal.ParseID(owner)
	faults.Add(err, "principalId")
	m, err := s.people.BeginAsActor(v, p.Tenant(), commit.Call{Name: "rebuildLibrary", Faults: faults})
	if err != nil {
		return nil, err
	}
	headers, err := s.principals.ReadPrincipals(ctx, []principal.ID{p})
	if err != nil {
		return nil, err
	}
	if err := m.CheckActor(ctx); err != nil {
		return nil, err
	}
	sees, err := s.people.Sees(ctx, v, p, &headers[0])
	switch {
	case err != nil:
		return nil, err
	case !sees:
		return nil, principal.NoSuchPrincipal("principalId")
	case !v.Administers(p.Tenant()):
		return nil, fault.Forbiddenf([]string{"principalId"}, "only an administrator of the tenant may rebuild a library")
	}
	restored, removed, err := s.rebuildOnRequest(ctx, p)
	if err != nil {
		return nil, err
	}
	return &library.RebuildOutcome{Principal: principal.Of(headers[0]), Restored: restored, Removed: removed}, nil
}

// The number of tries of a rebuild, and the first of the growing pauses between them. The clock of an
// operator who has deleted a library may be ahead of this process's by their sum, which is 12 s.
const (
	rebuildTries = 9
	rebuildPause = 50 * time.Millisecond
)

// Rebuild updates p's library to everything that p has a role on, and removes what no header
// justifies. It runs in place, while the store is in use: it removes nothing newer than what it
// read. restored and removed are numbers of items in the PRIVATE bucket, which has all items.
// It continues a rebuild that was interrupted, in any process.
func (s *Service) Rebuild(ctx context.Context, p principal.ID) (restored, removed int, err error) {
	var r *rebuild
	pause := rebuildPause
	for range rebuildTries {
		if gone, err := s.people.DeletedOf(ctx, []principal.ID{p}); err != nil {
			return 0, 0, err
		} else if len(gone) > 0 {
			return 0, 0, principal.NoSuchPrincipal()
		}
		if r, err = s.openRebuild(ctx, p, r); err != nil {
			return 0, 0, err
		}
		complete, err := r.run(ctx)
		if err != nil && !errors.Is(err, errHidden) {
			return 0, 0, err
		}
		if complete {
			now, err := s.libraries.CountLibrary(ctx, p, principal.Private, math.MaxInt32)
			return max(0, now-r.Before+r.Removed), r.Removed, err
		}
		// The library was deleted during the rebuild, or with a timestamp in the future.
		if err := s.engine.Pause(ctx, pause); err != nil {
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
	// wasComplete reports that the library was marked as complete before this try.
	wasComplete bool
	rebuildProgress
	// looked counts the items and pages since the progress was stored (see rebuildKeepAfter).
	looked int
}

// run does the rest of a try, and reports whether the library is complete.
func (r *rebuild) run(ctx context.Context) (complete bool, err error) {
	if !r.Restored {
		err = r.restore(ctx)
	}
	for _, o := range library.AllOrders {
		for _, b := range library.AllBuckets {
			if err == nil {
				err = r.sweep(ctx, o, b)
			}
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

// finish marks the library as complete as of the start of the rebuild: the store does not show
// the mark of a library that was deleted by hand since.
func (r *rebuild) finish(ctx context.Context) (complete bool, err error) {
	if err := r.check(ctx); err != nil {
		return false, err
	}
	recorded, err := r.s.libraries.Recorded(ctx, r.p)
	if err != nil {
		return false, err
	}
	if !recorded && !r.Unrecorded {
		return false, nil // a record that was lost meanwhile did not name all items
	}
	if err := r.s.engine.Retry(ctx, func() error { return r.s.libraries.SetBuilt(ctx, r.p, r.AsOf) }); err != nil {
		return false, err
	}
	if complete, err = r.s.isComplete(ctx, r.p); err != nil {
		return false, err
	}
	// If the library is not complete, there is nothing to continue.
	return complete, r.s.engine.Retry(ctx, func() error { return r.s.libraries.DropRebuildNote(ctx, r.p, r.AsOf) })
}

// isComplete reports whether p's library and record are both marked as complete.
func (s *Service) isComplete(ctx context.Context, p principal.ID) (bool, error) {
	for _, o := range library.AllOrders {
		if built, err := s.libraries.Built(ctx, p, o); err != nil || !built {
			return false, err
		}
	}
	return s.libraries.Recorded(ctx, p)
}

// restore repairs the entries of everything that p has a role on, according to the record of
// what was shared with p or, if that is missing too, by reading every item.
func (r *rebuild) restore(ctx context.Context) error {
	repair := r.repairRecorded
	if r.Unrecorded {
		r.s.log.WarnContext(ctx, "the record of what a principal has a role on is missing: all items are read", "principal", string(r.p))
		repair = r.repairHeld
	}
	if err := repair(ctx); err != nil {
		return err
	}
	r.Restored = true
	return r.keep(ctx)
}

// repairRecorded repairs the items in the record, from where the rebuild has got to.
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

// repairHeld repairs all items that have a row of p, from where the rebuild has got to.
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

// sweep walks through a bucket in one order, drops the entries that no header justifies, and completes the
// record with the others. It costs a hundredth of restore. After an interruption it starts
// again.
func (r *rebuild) sweep(ctx context.Context, o library.Order, b library.Bucket) error {
	s, p := r.s, r.p
	return s.walkBucket(ctx, p, o, b, func(entries []library.Entry, rows []library.ContentRows) error {
		if s.engine.Ending() {
			return commit.ErrEnding
		}
		dropped, err := s.dropStrays(ctx, p, b, entries, rows)
		if err != nil || b != principal.Private || o != library.ByChange {
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

// dropStrays drops the entries that the rows, which were read after them, do not justify. If a
// change has just moved an item, it writes the entry at the new position first: otherwise
// readers would miss the item until the change is done.
func (s *Service) dropStrays(ctx context.Context, p principal.ID, b library.Bucket, entries []library.Entry,
	rows []library.ContentRows) (dropped int, err error) {
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

// repairUnrecorded repairs the items on which p's role is recorded wrongly.
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

// walkBucket reads a bucket in ascending order, with the headers of the entries and p's
// member rows, which are read after the entries.
func (s *Service) walkBucket(ctx context.Context, p principal.ID, o library.Order, b library.Bucket,
	see func([]library.Entry, []library.ContentRows) error) error {
	var rows []library.ContentRows
	read := func(ctx context.Context, after *library.EntryKey, limit int) (entries []library.Entry, err error) {
		entries, rows, err = s.bucketPage(ctx, library.Slice{Owner: p, Bucket: b, Order: o, Ascending: true, From: after, Limit: limit})
		return entries, err
	}
	key := func(e library.Entry) *library.EntryKey { return &e.EntryKey }
	return sched.Pages(ctx, rebuildPage, read, key, func(entries []library.Entry) error { return see(entries, rows) })
}

// bucketPage reads entries of a bucket, and then the headers of their items with the owner's member rows.
func (s *Service) bucketPage(ctx context.Context, slice library.Slice) ([]library.Entry, []library.ContentRows, error) {
	entries, err := s.libraries.PageLibrary(ctx, slice)
	if err != nil || len(entries) == 0 {
		return nil, nil, err
	}
	ids := make([]library.ContentID, len(entries))
	for i := range entries {
		ids[i] = entries[i].Content
	}
	rows, err := s.contents.ReadMany(ctx, ids, []principal.ID{slice.Owner})
	return entries, rows, err
}

// justified reports whether the item's state requires an entry at e's place.
func justified(e library.Entry, b library.Bucket, p principal.ID, rows *library.ContentRows) bool {
	h := &rows.Header
	holds := h.State == commit.Live && rows.Members[0].Active() && library.InBucket(b, h.Visibility, e.Content, p)
	return holds && e.PlacedBy(h) && e.EntryKey == h.Key(e.Order())
}
