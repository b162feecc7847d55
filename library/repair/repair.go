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

// What is derived may be damaged by somebody other than the gateways: an
// operator who deletes or inserts rows by hand does so at the time of his
// clock, which is later than the timestamps of the states that the rows are
// derived from. To enforce those states again changes nothing that shows then.
// So whatever mends reads back what it wrote, and has the state rise where it
// does not show.

// A state is raised this often, with growing pauses between: the clock of
// whoever deleted may be ahead of ours by as much as the pauses add up to,
// which is 12 s.
const (
	repairTries = 9
	repairPause = 50 * time.Millisecond
)

// repairAtOnce is how many items are mended at a time in one library.
const repairAtOnce = 16

// mend brings what p's library and record show of an item in line with its
// state, and sees that they do.
func (s *Service) mend(ctx context.Context, p principal.ID, id library.ContentID) error {
	return s.raising(ctx, func(late bool) (int64, error) {
		rows, err := s.contents.Read(ctx, id, library.ContentQuery{Members: []principal.ID{p}, Serial: late})
		if err != nil {
			return settled, err
		}
		h := rows.Header
		if late {
			// What was inserted by hand may stand in any bucket.
			h.Widest = principal.Public
		}
		if h.Seq != 0 {
			err := s.ApplyIndexQuietly(ctx, &library.IndexUpdate{Header: &h, Rows: rows.Members, Reverse: true})
			if err != nil {
				return settled, err
			}
		}
		differs, err := s.differs(ctx, &rows.Header, rows.Members[0])
		if err != nil || !differs {
			return settled, err
		}
		return rows.Header.Seq, nil
	}, func(seq int64) error { return s.Restamp(ctx, id, seq) })
}

// settled is what a step of raising answers when all is right.
const settled int64 = -1

// raising repeats step, and raises the state of the seq that it answers, until
// it answers settled. late tells that it was called before.
func (s *Service) raising(ctx context.Context, step func(late bool) (int64, error), raise func(seq int64) error) error {
	pause := repairPause
	for n := range repairTries {
		seq, err := step(n > 0)
		if err != nil || seq == settled {
			return err
		}
		if n > 0 {
			if err := s.Pause(ctx, pause); err != nil {
				return err
			}
			pause *= 2
		}
		if err := raise(seq); err != nil {
			return err
		}
	}
	return hiddenByHand()
}

// hiddenByHand is why derived rows cannot be mended.
func hiddenByHand() *fault.Error {
	return fault.Unavailablef(nil, "what was written does not show: rows were deleted or inserted by hand with a timestamp in the future")
}

// repairAll is mend for several items.
func (s *Service) repairAll(ctx context.Context, p principal.ID, ids []library.ContentID) error {
	if s.Ending() {
		return commit.ErrEnding
	}
	if len(ids) == 0 {
		return nil
	}
	return sched.ForEach(ctx, s.rt, len(ids), repairAtOnce, func(i int) error { return s.mend(ctx, p, ids[i]) })
}

// differs tells whether p's library or record show the item otherwise than its
// header and p's member row, which are of one snapshot, have it.
func (s *Service) differs(ctx context.Context, h *library.Header, m library.Member) (bool, error) {
	must := library.NoRole
	if h.State == commit.Live && m.Active() {
		must = m.Role
	}
	for _, b := range library.AllBuckets {
		e, stands, err := s.entryAt(ctx, m.Principal, b, library.EntryKey{Position: h.Position, Content: h.ID})
		if err != nil {
			return false, err
		}
		if stands != (must != library.NoRole && library.InBucket(b, h.Visibility, h.ID, m.Principal)) || stands && e.Role != must {
			return true, nil
		}
	}
	roles, err := s.libraries.Roles(ctx, m.Principal, []library.ContentID{h.ID})
	return err == nil && roles[0] != must, err
}

// entryAt reads the entry at a place, if there is one.
func (s *Service) entryAt(ctx context.Context, p principal.ID, b library.Bucket, at library.EntryKey) (e library.Entry, stands bool, err error) {
	// A slice that begins right behind the place has the place as its first
	// entry, if anything stands there: one row, read from the newer side.
	behind := library.EntryKey{Position: at.Position, Content: at.Content + "\x00"}
	entries, err := s.libraries.PageLibrary(ctx, library.Slice{Owner: p, Bucket: b, From: &behind, Limit: 1})
	if err != nil || len(entries) == 0 {
		return library.Entry{}, false, err
	}
	e = entries[0]
	return e, e.Position == at.Position && e.Content == at.Content, nil
}

// dropStray takes what stands at a place out of p's library, unless the item's
// state justifies it.
func (s *Service) dropStray(ctx context.Context, p principal.ID, b library.Bucket, at library.EntryKey) error {
	return s.raising(ctx, func(late bool) (int64, error) {
		e, stands, err := s.entryAt(ctx, p, b, at)
		if err != nil || !stands {
			return settled, err
		}
		rows, err := s.contents.Read(ctx, at.Content, library.ContentQuery{Members: []principal.ID{p}, Serial: late})
		if err != nil || justified(e, b, p, rows) {
			return settled, err
		}
		err = s.Retry(ctx, func() error { return s.libraries.DropEntries(ctx, p, []library.BucketEntry{{Bucket: b, Entry: e}}) })
		if err == nil && late {
			err = s.ApplyIndexQuietly(ctx, &library.IndexUpdate{Header: without(&rows.Header, at), Rows: rows.Members, Reverse: true})
		}
		if err != nil {
			return settled, err
		}
		if _, stands, err = s.entryAt(ctx, p, b, at); err != nil || !stands {
			return settled, err
		}
		return rows.Header.Seq, nil
	}, func(seq int64) error { return s.Restamp(ctx, at.Content, seq) })
}

// without is a header by which nothing stands at a place where nothing should,
// in no bucket: as if the item had left it just now.
func without(h *library.Header, at library.EntryKey) *library.Header {
	w := *h
	if at.Position == h.Position {
		w.Widest = principal.Public
	} else {
		w.Unsettled = append(slices.Clone(h.Unsettled), library.Superseded{Position: at.Position, Widest: principal.Public})
	}
	return &w
}

// repair brings an entry of a library in line that a reader has found to be wrong.
func (s *Service) repair(ctx context.Context, r commit.Repair) error {
	switch e := r.Row.(type) {
	case library.BucketEntry:
		return s.RepairEntry(ctx, principal.ID(r.Key), e)
	case timeline.Entry:
		return s.DropFromFeed(ctx, e)
	}
	return fmt.Errorf("a repair of %s names no entry of a library or a feed, but %T", r.Key, r.Row)
}

// RepairEntry takes an entry that a reader found to be wrong out of p's library,
// and brings the library in line with the item's state.
func (s *Service) RepairEntry(ctx context.Context, p principal.ID, e library.BucketEntry) error {
	if err := s.RestoreItem(ctx, p, e.Content); err != nil {
		return err
	}
	return s.dropStray(ctx, p, e.Bucket, library.EntryKey{Position: e.Position, Content: e.Content})
}
