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
	"carrel/library"
	"carrel/principal"
)

// A rebuild keeps its progress beside the library, in a note: after a restart,
// or at another gateway, it is continued and not begun again. What was restored
// before the note was written was restored after the rebuild had begun. The store
// loses the note with a library that is deleted by hand. So while the note is
// there, everything up to After is in the library, and a rebuild whose note has
// gone begins again.
//
// Two gateways may rebuild one library at the same time: they continue the
// rebuild that began last, and both write how far they have got in it.

// rebuildContinued is how long after its last progress a rebuild is continued.
// Single rows that were deleted by hand meanwhile would stay missing, so a later
// request starts a rebuild from the beginning.
const rebuildContinued = time.Hour

// rebuildKeepAfter is after how many restored items the progress is kept. A page
// of items that p has no role on counts as rebuildPageCost.
const (
	rebuildKeepAfter = 100
	rebuildPageCost  = 10
)

// errOvertaken: the note of this rebuild is gone, or is that of another rebuild.
var errOvertaken = errors.New("the library was deleted, or is rebuilt by another gateway")

// rebuildProgress is how far a rebuild has got.
type rebuildProgress struct {
	AsOf clock.Instant `json:"asOf"` // when the rebuild began
	At   clock.Instant `json:"at"`   // when this was kept
	Step uint64        `json:"-"`    // rises with each time that it is kept
	// Unrecorded: the record was missing, so every item is looked at.
	Unrecorded bool `json:"unrecorded,omitempty"`
	// After is the item up to which everything is restored; Restored: everything is.
	After    library.ContentID `json:"after,omitempty"`
	Restored bool              `json:"restored,omitempty"`
	// Before is the number of items in the library when the rebuild began, and
	// Removed that of entries dropped since.
	Before  int `json:"before"`
	Removed int `json:"removed,omitempty"`
}

// openRebuild continues the rebuild that p's library has a note of, or begins
// one. last is the try before, if there was one.
func (s *Service) openRebuild(ctx context.Context, p principal.ID, last *rebuild) (*rebuild, error) {
	// The marks of completeness will hold as of now: a deletion by hand from here
	// on takes them along, also one that the next reading sees. Now is the store's:
	// a note of a clock ahead would outlast a deletion.
	asOf := s.StoreNow()
	complete, err := s.isComplete(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("looking whether the library of %s is complete: %w", p, err)
	}
	recorded, err := s.libraries.Recorded(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("looking for the record of what %s has a role on: %w", p, err)
	}
	kept, err := s.rebuildKept(ctx, p)
	if err != nil {
		return nil, err
	}
	// A record that was lost meanwhile names nothing, not even what is to come.
	if kept != nil && kept.Unrecorded == !recorded && asOf < kept.At.Add(rebuildContinued) {
		return &rebuild{s: s, p: p, wasComplete: complete, rebuildProgress: *kept}, nil
	}
	r := &rebuild{s: s, p: p, wasComplete: complete, rebuildProgress: rebuildProgress{AsOf: asOf, Unrecorded: !recorded}}
	if last != nil {
		r.Before, r.Removed = last.Before, last.Removed
	} else if r.Before, err = s.libraries.CountLibrary(ctx, p, principal.Private, math.MaxInt32); err != nil {
		return nil, err
	}
	return r, r.write(ctx)
}

// rebuildKept reads the progress of a rebuild; nil where none is kept, or one
// that this version cannot read.
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

// write keeps the progress. The step comes first, so that of two notes of one
// rebuild the store keeps the one that is further on.
func (r *rebuild) write(ctx context.Context) error {
	r.At = r.s.StoreNow()
	body, err := json.Marshal(&r.rebuildProgress)
	if err != nil {
		return fmt.Errorf("the progress of a rebuild: %w", err)
	}
	note := append(binary.BigEndian.AppendUint64(nil, r.Step), body...)
	return r.s.Retry(ctx, func() error { return r.s.libraries.PutRebuildNote(ctx, r.p, r.AsOf, note) })
}

// passed notes that everything up to an item is restored; n items were.
func (r *rebuild) passed(ctx context.Context, after library.ContentID, n int) error {
	r.After = after
	if r.looked += rebuildPageCost + n; r.looked < rebuildKeepAfter {
		return nil
	}
	return r.keep(ctx)
}

// keep writes the progress, unless the note of this rebuild is gone.
func (r *rebuild) keep(ctx context.Context) error {
	if err := r.check(ctx); err != nil {
		return err
	}
	r.looked = 0
	r.Step++
	return r.write(ctx)
}

// check is errOvertaken where the note of this rebuild is not the one kept.
func (r *rebuild) check(ctx context.Context) error {
	kept, err := r.s.rebuildKept(ctx, r.p)
	if err == nil && (kept == nil || kept.AsOf != r.AsOf) {
		err = errOvertaken
	}
	return err
}

// doneElsewhere reports whether the note has gone because another gateway has
// completed the library. Of a library that was marked as complete before, that
// cannot be told: somebody may have deleted the note.
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
