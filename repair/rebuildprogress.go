package repair

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/library"
	"carrel/principal"
)

// A rebuild stores its progress in a note with the library, so that it is continued after a
// restart, or by another gateway. A deletion of the library by hand, at any time after the start of
// the rebuild, deletes the note too. So while the note exists, everything up to After, which was
// restored after that start, is in the library. A rebuild whose note is gone starts again.
//
// Two gateways may rebuild one library at the same time: they continue the rebuild that started
// last, and both store their progress in it.

// rebuildContinued is for how long after its last progress a rebuild is continued. It would not
// restore single rows that were deleted by hand meanwhile, so a later request starts from the
// beginning.
const rebuildContinued = time.Hour

// rebuildKeepAfter is the number of restored items after which the progress is stored. A page of
// items that p has no role on counts as rebuildPageCost.
const (
	rebuildKeepAfter = 100
	rebuildPageCost  = 10
)

// errOvertaken means that the note of this rebuild is gone, or is that of another rebuild.
var errOvertaken = errors.New("the library was deleted, or is rebuilt by another gateway")

// rebuildProgress is the progress of a rebuild.
type rebuildProgress struct {
	AsOf clock.Instant `json:"asOf"` // when the rebuild started
	At   clock.Instant `json:"at"`   // when this was stored
	Step uint64        `json:"-"`    // rises each time that it is stored
	// Titles is the collation.Version of the entries by title that are restored.
	Titles int `json:"titles"`
	// Unrecorded: the record was missing, so every item is read.
	Unrecorded bool `json:"unrecorded,omitempty"`
	// After is the item up to which everything is restored. Restored means that everything is.
	After    library.ContentID `json:"after,omitempty"`
	Restored bool              `json:"restored,omitempty"`
	// Before is the number of items in the library when the rebuild started, and Removed the
	// number of entries dropped since.
	Before  int `json:"before"`
	Removed int `json:"removed,omitempty"`
}

// openRebuild continues the rebuild in the note of p's library, or starts one. last is the previous
// try, if there was one.
func (s *Service) openRebuild(ctx context.Context, p principal.ID, last *rebuild) (*rebuild, error) {
	// The marks of completeness will be as of now: a later deletion by hand removes them too, even
	// one that the next read sees. Now is the store's time, because a note dated by a clock that is
	// ahead would survive a deletion.
	asOf := s.engine.StoreNow()
	complete, err := s.isComplete(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("read whether the library of %s is complete: %w", p, err)
	}
	recorded, err := s.libraries.Recorded(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("read the record of what %s has a role on: %w", p, err)
	}
	kept, err := s.rebuildKept(ctx, p)
	if err != nil {
		return nil, err
	}
	// If the record was lost meanwhile, it does not name the items that are still to be restored. A rebuild by a program
	// with other keys of titles has restored none by these.
	if kept != nil && kept.Unrecorded == !recorded && kept.Titles == collation.Version && asOf < kept.At.Add(rebuildContinued) {
		return &rebuild{s: s, p: p, wasComplete: complete, rebuildProgress: *kept}, nil
	}
	r := &rebuild{s: s, p: p, wasComplete: complete,
		rebuildProgress: rebuildProgress{AsOf: asOf, Titles: collation.Version, Unrecorded: !recorded}}
	if last != nil {
		r.Before, r.Removed = last.Before, last.Removed
	} else if r.Before, err = s.libraries.CountLibrary(ctx, p, principal.Private, math.MaxInt32); err != nil {
		return nil, err
	}
	return r, r.write(ctx)
}

// rebuildKept reads the progress of a rebuild; nil if there is none, or one that this version
// cannot read.
func (s *Service) rebuildKept(ctx context.Context, p principal.ID) (*rebuildProgress, error) {
	note, err := s.libraries.RebuildNote(ctx, p)
	if err != nil || len(note) < 8 {
		return nil, err
	}
	kept := rebuildProgress{Step: binary.BigEndian.Uint64(note)}
	if json.Unmarshal(note[8:], &kept) != nil {
		return nil, nil
	}
	return &kept, nil
}

// write stores the progress. The step comes first, so that of two notes of one rebuild the
// store keeps the one with more progress.
func (r *rebuild) write(ctx context.Context) error {
	r.At = r.s.engine.StoreNow()
	body, err := json.Marshal(&r.rebuildProgress)
	if err != nil {
		return fmt.Errorf("the progress of a rebuild: %w", err)
	}
	note := append(binary.BigEndian.AppendUint64(nil, r.Step), body...)
	return r.s.engine.Retry(ctx, func() error { return r.s.libraries.PutRebuildNote(ctx, r.p, r.AsOf, note) })
}

// passed records that everything up to an item is restored. n is the number of items that were
// restored since the last call.
func (r *rebuild) passed(ctx context.Context, after library.ContentID, n int) error {
	r.After = after
	if r.looked += rebuildPageCost + n; r.looked < rebuildKeepAfter {
		return nil
	}
	return r.keep(ctx)
}

// keep stores the progress, unless the note of this rebuild is gone.
func (r *rebuild) keep(ctx context.Context) error {
	if err := r.check(ctx); err != nil {
		return err
	}
	r.looked = 0
	r.Step++
	return r.write(ctx)
}

// check returns errOvertaken if the note of this rebuild is not the stored one.
func (r *rebuild) check(ctx context.Context) error {
	kept, err := r.s.rebuildKept(ctx, r.p)
	if err == nil && (kept == nil || kept.AsOf != r.AsOf) {
		err = errOvertaken
	}
	return err
}

// doneElsewhere reports whether the note is gone because another gateway has completed the
// library. For a library that was marked as complete before, that is unknown: an operator may
// have deleted the note.
func (r *rebuild) doneElsewhere(ctx context.Context) (bool, error) {
	if r.wasComplete {
		return false, nil
	}
	kept, err := r.s.rebuildKept(ctx, r.p)
	if err != nil || kept != nil {
		return false, err
	}
	return r.s.isComplete(ctx, r.p)
}
