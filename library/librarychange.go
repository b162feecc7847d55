package library

import (
	"context"

	"carrel/core/clock"
	"carrel/principal"
)

// LibraryChange is a change that a follower receives: *LibraryEntryPlaced or
// *LibraryEntryRemoved.
type LibraryChange interface{ IsLibraryChange() }

// LibraryEntryPlaced reports that an item is new in a library, has moved to this position, or
// has changed.
type LibraryEntryPlaced struct {
	Edge *LibraryEdge
	Cause
}

// LibraryEntryRemoved reports that an item is no longer in the part of the library that the
// follower reads.
type LibraryEntryRemoved struct {
	ContentID ContentID
	// Cause is zero for followers who may not know whether the item still exists.
	Cause
}

// IsLibraryChange marks the type as a LibraryChange.
func (*LibraryEntryPlaced) IsLibraryChange() {}

// IsLibraryChange marks the type as a LibraryChange.
func (*LibraryEntryRemoved) IsLibraryChange() {}

// Subscription is one viewer's subscription to one library. Only one goroutine at a time may call
// Next. Any may call Close, once no call of Next is running.
type Subscription interface {
	// Await waits until Next has something to return, or ctx ends.
	Await(ctx context.Context)
	// Next returns the next change. Its error is RESYNC if the library must be read again, and
	// that of ctx when it ends.
	Next(ctx context.Context) (LibraryChange, error)
	// BillTo charges to v, the viewer of one event, what resolving the viewer's groups has cost since
	// BillTo was last called.
	BillTo(v *principal.Viewer)
	// Cursor returns a cursor. A subscription that follows the library after it gets the change that
	// Next returned last and all later ones, and may get recent ones again.
	Cursor() string
	Close()
}

// Publisher notifies followers of what is written into their libraries.
type Publisher interface {
	// Stamp returns the ChangeKey.At of the changes of a write that starts now.
	Stamp(now clock.Instant) clock.Instant
	// IndexApplied is called when an index update that writes changes was acknowledged.
	IndexApplied(e *IndexUpdate)
	// Updated is called for an update whose move is deferred: it changes no library until then.
	Updated(id ContentID)
}
