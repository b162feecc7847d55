package commit

import (
	"context"
)

// Journal is the process's list of changes under way, as the Service uses it.
// Package journal implements it.
type Journal interface {
	// Begin puts e on the list and returns once a write of the list whose copy
	// held e was acknowledged. Too many entries: Unavailable.
	Begin(ctx context.Context, e Entry) error
	// Decided notes that the compare-and-set of the entry was applied.
	Decided(id EntryID)
	// End takes the entry off; the next write of the list carries that.
	End(id EntryID)
	// Defer keeps e, which is decided, until e.Due, when the Service's RunDue is
	// called. It joins the deferred entry of its key, if there is one.
	Defer(e Entry)
	// Leave hands the entry to the background: it is resumed as recovery would,
	// with growing pauses, until it is done. Entries of one partition may be merged.
	Leave(e Entry)
	// MayDefer tells whether there is space for deferred moves: changes that are
	// not decided, and moves that are deferred, fill less than half of the list.
	MayDefer() bool
	// Repair asks for a repair in the background.
	Repair(r Repair)
}

// Repair asks for derived rows to be brought in line that a reader has found to be
// wrong. Repairs are compared with ==.
type Repair struct {
	Kind Kind
	Key  string
	// Row is the row that was found, of a type of the domain of the kind.
	Row any
}
