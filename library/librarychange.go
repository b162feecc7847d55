package library

import (
	"context"

	"carrel/core/clock"
	"carrel/principal"
)

// LibraryChange is what a follower is told: *LibraryEntryPlaced or
// *LibraryEntryRemoved.
type LibraryChange interface{ IsLibraryChange() }

// LibraryEntryPlaced tells that an item is new in a library, has moved to this
// place, or differs.
type LibraryEntryPlaced struct{ Edge *LibraryEdge }

// LibraryEntryRemoved tells that an item stands no more in the part of the
// library that the follower reads.
type LibraryEntryRemoved struct{ ContentID ContentID }

// IsLibraryChange marks what a follower is told.
func (*LibraryEntryPlaced) IsLibraryChange() {}

// IsLibraryChange marks what a follower is told.
func (*LibraryEntryRemoved) IsLibraryChange() {}

// Following is one viewer's following of one library. Next is called by one goroutine at
// a time; Close by any, once no call of Next is under way.
type Following interface {
	// Await waits until Next has something to return, or ctx ends.
	Await(ctx context.Context)
	// Next returns the next change. Its error is RESYNC where the library must be read
	// again, and that of ctx when it ends.
	Next(ctx context.Context) (LibraryChange, error)
	// BillTo counts what resolving the viewer's groups has cost since the last call as
	// work for v, the viewer of one event.
	BillTo(v *principal.Viewer)
	Close()
}

// Publisher tells those who follow a library of what is written into it.
type Publisher interface {
	// Stamp returns the key of the changes of one write, which begins now.
	Stamp(now clock.Instant) clock.Instant
	// IndexApplied is called when an enforcement with a key was acknowledged.
	IndexApplied(e *IndexUpdate)
	// Updated is called for an update whose move is deferred: it touches no library
	// until then.
	Updated(id ContentID)
}
