package repair

import (
	"context"
	"fmt"
	"slices"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/core/timeline"
	"carrel/library"
	"carrel/principal"
)

// Derived rows may be damaged by an operator who deletes or inserts rows by hand. The operator's
// clock dates these writes later than the states from which the rows are derived, so writing those
// states again has no visible effect. Each repair therefore reads back what it wrote, and gives the
// state a newer timestamp if the repair does not show.

// The number of times that a state is restamped, and the first of the growing pauses between them.
// The clock of the operator may be ahead of this process's by the sum of the pauses, which is 12 s.
const (
	repairTries = 9
	repairPause = 50 * time.Millisecond
)

// repairAtOnce is how many items of one library are repaired at a time.
const repairAtOnce = 16

// repairItem updates an item in p's library and record to its state, and checks that they show
// it.
func (s *Service) repairItem(ctx context.Context, p principal.ID, id library.ContentID) error {
	return s.restamping(ctx, func(again bool) (int64, error) {
		rows, err := s.contents.Read(ctx, id, library.ContentQuery{Members: []principal.ID{p}, Serial: again})
		if err != nil {
			return nothingWrong, err
		}
		h := rows.Header
		if again {
			// A row that was inserted by hand may be in any bucket.
			h.Widest = principal.Public
		}
		if h.Seq != 0 {
			err := s.ApplyIndexQuietly(ctx, &library.IndexUpdate{Header: &h, Rows: rows.Members, Reverse: true})
			if err != nil {
				return nothingWrong, err
			}
		}
		differs, err := s.differs(ctx, &rows.Header, rows.Members[0])
		if err != nil || !differs {
			return nothingWrong, err
		}
		return rows.Header.Seq, nil
	}, func(seq int64) error { return s.Restamp(ctx, id, seq) })
}

// nothingWrong is the result of a step of restamping when the derived rows are correct.
const nothingWrong int64 = -1

// restamping repeats step until it returns nothingWrong. step repairs derived rows, and returns the
// seq of their state if they are still wrong: restamp gives that state a newer timestamp. again
// reports that step was called before.
func (s *Service) restamping(ctx context.Context, step func(again bool) (int64, error), restamp func(seq int64) error) error {
	pause := repairPause
	for n := 0; ; n++ {
		seq, err := step(n > 0)
		if err != nil || seq == nothingWrong {
			return err
		}
		if n == repairTries {
			return hiddenByHand()
		}
		if n > 0 {
			if err := s.Pause(ctx, pause); err != nil {
				return err
			}
			pause *= 2
		}
		if err := restamp(seq); err != nil {
			return err
		}
	}
}

// hiddenByHand returns the error for derived rows that cannot be repaired.
func hiddenByHand() *fault.Error {
	return fault.Unavailablef(nil, "the repair has no effect: rows were deleted or inserted by hand with a timestamp in the future")
}

// repairAll is repairItem for several items.
func (s *Service) repairAll(ctx context.Context, p principal.ID, ids []library.ContentID) error {
	if s.Ending() {
		return commit.ErrEnding
	}
	if len(ids) == 0 {
		return nil
	}
	return sched.ForEach(ctx, s.rt, len(ids), repairAtOnce, func(i int) error { return s.repairItem(ctx, p, ids[i]) })
}

// differs reports whether p's library or record differ from the item's header and p's member
// row, which are of one snapshot.
func (s *Service) differs(ctx context.Context, h *library.Header, m library.Member) (bool, error) {
	must := library.NoRole
	if h.State == commit.Live && m.Active() {
		must = m.Role
	}
	for _, b := range library.AllBuckets {
		e, found, err := s.entryAt(ctx, m.Principal, b, library.EntryKey{Position: h.Position, Content: h.ID})
		if err != nil {
			return false, err
		}
		if found != (must != library.NoRole && library.InBucket(b, h.Visibility, h.ID, m.Principal)) || found && e.Role != must {
			return true, nil
		}
	}
	roles, err := s.libraries.Roles(ctx, m.Principal, []library.ContentID{h.ID})
	return err == nil && roles[0] != must, err
}

// entryAt reads the entry with a key, if there is one.
func (s *Service) entryAt(ctx context.Context, p principal.ID, b library.Bucket, at library.EntryKey) (e library.Entry, found bool, err error) {
	// A slice that starts right after the key has the entry of the key as its first one, if it
	// exists: one row, read from the newer side.
	behind := library.EntryKey{Position: at.Position, Content: at.Content + "\x00"}
	entries, err := s.libraries.PageLibrary(ctx, library.Slice{Owner: p, Bucket: b, From: &behind, Limit: 1})
	if err != nil || len(entries) == 0 {
		return library.Entry{}, false, err
	}
	e = entries[0]
	return e, e.Position == at.Position && e.Content == at.Content, nil
}

// dropStray removes the entry with a key from p's library, unless the item's state justifies
// it.
func (s *Service) dropStray(ctx context.Context, p principal.ID, b library.Bucket, at library.EntryKey) error {
	return s.restamping(ctx, func(again bool) (int64, error) {
		e, found, err := s.entryAt(ctx, p, b, at)
		if err != nil || !found {
			return nothingWrong, err
		}
		rows, err := s.contents.Read(ctx, at.Content, library.ContentQuery{Members: []principal.ID{p}, Serial: again})
		if err != nil || justified(e, b, p, rows) {
			return nothingWrong, err
		}
		err = s.Retry(ctx, func() error { return s.libraries.DropEntries(ctx, p, []library.BucketEntry{{Bucket: b, Entry: e}}) })
		if err == nil && again {
			err = s.ApplyIndexQuietly(ctx, &library.IndexUpdate{Header: without(&rows.Header, at), Rows: rows.Members, Reverse: true})
		}
		if err != nil {
			return nothingWrong, err
		}
		if _, found, err = s.entryAt(ctx, p, b, at); err != nil || !found {
			return nothingWrong, err
		}
		return rows.Header.Seq, nil
	}, func(seq int64) error { return s.Restamp(ctx, at.Content, seq) })
}

// without returns a copy of h from which the deletion of an unjustified entry is derived, in every
// bucket that may have it. at is the key of the entry. If that is not the item's position, the copy
// is as if the item had just moved away from there.
func without(h *library.Header, at library.EntryKey) *library.Header {
	w := *h
	if at.Position == h.Position {
		w.Widest = principal.Public
	} else {
		w.Unsettled = append(slices.Clone(h.Unsettled), library.Superseded{Position: at.Position, Widest: principal.Public})
	}
	return &w
}

// repair repairs an entry of a library that a reader has found to be wrong.
func (s *Service) repair(ctx context.Context, r commit.Repair) error {
	switch e := r.Row.(type) {
	case library.BucketEntry:
		return s.RepairEntry(ctx, principal.ID(r.Key), e)
	case timeline.Entry:
		return s.DropFromFeed(ctx, e)
	}
	return fmt.Errorf("a repair of %s names no entry of a library or a feed, but %T", r.Key, r.Row)
}

// RepairEntry removes an entry that a reader found to be wrong from p's library, and updates
// the library to the item's state.
func (s *Service) RepairEntry(ctx context.Context, p principal.ID, e library.BucketEntry) error {
	if err := s.RestoreItem(ctx, p, e.Content); err != nil {
		return err
	}
	return s.dropStray(ctx, p, e.Bucket, library.EntryKey{Position: e.Position, Content: e.Content})
}
