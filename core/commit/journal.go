package commit

import (
	"context"
	"time"
)

// Journal is the in-flight list of this process, as the domains use it. Package journal
// implements it.
type Journal interface {
	// Begin puts e on the list, and returns once a write of the list that contains e was
	// acknowledged. It returns UNAVAILABLE if there are too many entries.
	Begin(ctx context.Context, e Entry) error
	// Decided records that the compare-and-set of the entry was applied.
	Decided(id EntryID)
	// End removes the entry, from the stored list with its next write. A decided entry that
	// lingers stays as an ended one.
	End(id EntryID)
	// Linger keeps entries of a kind on the list for a time after their changes have ended: those
	// with Lingers set, and all that are taken over from other processes' lists. It must be called
	// before the first change. Without it, no entry of the kind lingers.
	Linger(kind Kind, d time.Duration)
	// Defer keeps e, which is decided, until e.Due, when the handler's RunDue is called.
	// It is merged with the deferred entry of its key, if there is one.
	Defer(e Entry)
	// FinishLater passes the entry to background work, which resumes it as recovery would, with
	// growing pauses, until its change is finished. Entries of one partition may be merged.
	FinishLater(e Entry)
	// MayDefer reports whether there is space for deferred changes: undecided and deferred changes
	// must fill less than half of the list.
	MayDefer() bool
	// Repair requests a repair in the background.
	Repair(r Repair)
}

// Repair is a request to repair derived rows that a reader has found to be wrong. Repairs
// are compared with ==.
type Repair struct {
	Kind Kind
	Key  string
	// Row is the wrong row, of a type of the kind's domain.
	Row any
}

// ScrubStep is what a step of the scrubber has found and repaired, up to the error by which it failed.
type ScrubStep struct {
	// Finished counts what interrupted changes have left behind: items with unsettled positions or
	// wrong entries, claims that have expired, leases and pastes whose reminders were lost, and texts
	// that no row refers to.
	Finished int
	// Mismatches counts derived rows that were wrong or missing.
	Mismatches int
	Err        error
}
