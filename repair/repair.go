package repair

import (
	"context"
	"errors"
	"fmt"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/feed"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// repairAtOnce is how many items of one library are repaired at a time.
const repairAtOnce = 16

// errHidden is the error of a repair that does not show.
var errHidden = errors.New("what was written does not show")

// hiddenByHand returns the error for derived rows that cannot be repaired.
func hiddenByHand() *fault.Error {
	return fault.Unavailablef(errHidden, "the repair has no effect: rows were deleted by hand with a timestamp in the future")
}

// repairItem updates an item in p's library and record to its state, and checks that they show it.
// An operator who deletes a library leaves tombstones that are later than the states of its items,
// and hide what is written at the time of these states. So if the item does not show, it gets an
// equal state with a newer timestamp, and is written again.
func (s *Service) repairItem(ctx context.Context, p principal.ID, id library.ContentID) error {
	for restamped := false; ; restamped = true {
		rows, err := s.contents.Read(ctx, id, library.ContentQuery{Members: []principal.ID{p}, Serial: restamped})
		if err != nil {
			return err
		}
		h := rows.Header
		if restamped {
			h.Widest = principal.Public // a wrong entry may be in any bucket
		}
		if h.Seq != 0 {
			err := s.library.Upkeep.ApplyIndexQuietly(ctx, &library.IndexUpdate{Header: &h, Rows: rows.Members, All: true})
			if err != nil {
				return err
			}
		}
		differs, err := s.differs(ctx, &rows.Header, rows.Members[0], false)
		if err != nil || !differs {
			return err
		}
		if restamped {
			return hiddenByHand()
		}
		if err := s.library.Upkeep.Restamp(ctx, id, rows.Header.Seq); err != nil {
			return err
		}
	}
}

// repairAll is repairItem for several items.
func (s *Service) repairAll(ctx context.Context, p principal.ID, ids []library.ContentID) error {
	if s.engine.Ending() {
		return commit.ErrEnding
	}
	if len(ids) == 0 {
		return nil
	}
	return sched.ForEach(ctx, s.rt, len(ids), repairAtOnce, func(i int) error { return s.repairItem(ctx, p, ids[i]) })
}

// differs reports whether p's library or record differ from the item's header and p's member
// row, which are of one snapshot. If built is set, an order in which the library is not complete does not count.
func (s *Service) differs(ctx context.Context, h *library.Header, m library.Member, built bool) (bool, error) {
	must := library.NoRole
	if h.State == commit.Live && m.Active() {
		must = m.Role
	}
	for _, o := range library.AllOrders {
		for _, b := range library.AllBuckets {
			e, found, err := s.entryAt(ctx, m.Principal, b, h.Key(o))
			if err != nil {
				return false, err
			}
			holds := must != library.NoRole && library.InBucket(b, h.Visibility, h.ID, m.Principal)
			if found == holds && (!found || e.Role == must && e.PlacedBy(h)) {
				continue
			}
			if built && o == library.ByTitle {
				if complete, err := s.libraries.Built(ctx, m.Principal, o); err != nil || !complete {
					return false, err
				}
			}
			return true, nil
		}
	}
	roles, err := s.libraries.Roles(ctx, m.Principal, []library.ContentID{h.ID})
	return err == nil && roles[0] != must, err
}

// entryAt reads the entry with a key, if there is one.
func (s *Service) entryAt(ctx context.Context, p principal.ID, b library.Bucket, at library.EntryKey) (e library.Entry,
	found bool, err error) {
	es, err := s.libraries.EntriesAt(ctx, p, b, []library.EntryKey{at})
	if err != nil {
		return library.Entry{}, false, err
	}
	return es[0], es[0].EntryKey == at, nil
}

// dropStray removes the entry with a key from p's library, unless the item's state justifies it. It reads
// serially: an entry whose state is accepted, but not known to most replicas yet, would otherwise be removed
// for good, because the same entry cannot be put again.
func (s *Service) dropStray(ctx context.Context, p principal.ID, b library.Bucket, at library.EntryKey) error {
	e, found, err := s.entryAt(ctx, p, b, at)
	if err != nil || !found {
		return err
	}
	rows, err := s.contents.Read(ctx, at.Content, library.ContentQuery{Members: []principal.ID{p}, Serial: true})
	if err != nil || justified(e, b, p, rows) {
		return err
	}
	return s.engine.Retry(ctx, func() error { return s.libraries.DropEntries(ctx, p, []library.BucketEntry{{Bucket: b, Entry: e}}) })
}

// RepairRow repairs an entry of a library that a reader has found to be wrong.
func (s *Service) RepairRow(ctx context.Context, r commit.Repair) error {
	switch e := r.Row.(type) {
	case library.BucketEntry:
		return s.RepairEntry(ctx, principal.ID(r.Key), e)
	case feed.Entry:
		return s.library.Upkeep.DropFromFeed(ctx, e)
	}
	return fmt.Errorf("a repair of %s names no entry of a library or a feed, but %T", r.Key, r.Row)
}

// RepairEntry removes an entry that a reader found to be wrong from p's library, and updates
// the library to the item's state.
func (s *Service) RepairEntry(ctx context.Context, p principal.ID, e library.BucketEntry) error {
	if err := s.library.Upkeep.RestoreItem(ctx, p, e.Content); err != nil {
		return err
	}
	return s.dropStray(ctx, p, e.Bucket, e.EntryKey)
}
