package commit

import (
	"context"
	"fmt"

	"carrel/core/clock"
)

// ListID names the in-flight list of one process incarnation.
type ListID string

// InFlightList is a process's whole list of changes under way.
type InFlightList struct {
	ID    ListID
	Stamp int64 // its write time, in microseconds, rising with each write
	// Blocks are its entries, as package commit encodes them: one block, or none where
	// the list is empty. Only lists of earlier versions of this program have several.
	Blocks [][]byte
}

// UnreadableLists is the error of JournalStore.InFlightLists and OpenLists where some lanes
// are of no form that this program knows: damaged, or of a later one. A caller that has to know
// all that is under way treats it as any other error.
type UnreadableLists struct {
	IDs []ListID // in their order
	Err error    // why, of all of them
}

// Error names the lanes, for logs.
func (u *UnreadableLists) Error() string {
	return fmt.Sprintf("the in-flight lists %q cannot be read: %v", u.IDs, u.Err)
}

// Unwrap gives the error of the store.
func (u *UnreadableLists) Unwrap() error { return u.Err }

// Due is a hint that something is to be done at an instant, of the kind and key of
// an in-flight entry. The domain of its kind decides by the key's own row.
type Due struct {
	At   clock.Instant
	Kind Kind
	Key  string
	// MTS is the mts of the state that the hint was written for. It orders the
	// writes and removals of the hint of one instant and key.
	MTS clock.Instant
}

// Row returns kind and key as stores write them, in one text. Items, which were the
// first kind with hints, are written as their id, "c:<tenant>:<name>"; every other
// kind as its letter, "=" and the key.
func (d Due) Row() string {
	if d.Kind == Content {
		return d.Key
	}
	return string(rune(d.Kind)) + "=" + d.Key
}

// DueOf returns the hint of an instant that Row has written.
func DueOf(at clock.Instant, row string, mts clock.Instant) Due {
	if len(row) > 1 && row[1] == '=' {
		return Due{At: at, Kind: Kind(row[0]), Key: row[2:], MTS: mts}
	}
	return Due{At: at, Kind: Content, Key: row, MTS: mts}
}

// JournalStore keeps what is under way and what is due.
type JournalStore interface {
	// PutInFlightList replaces the lane's list. It must be durable no later than a Commit of
	// this process that follows it. A lane without blocks is removed, or is kept and
	// listed without blocks.
	PutInFlightList(ctx context.Context, l InFlightList) error
	// InFlightLists reads all lanes with the stamps of their last writes. One that cannot
	// be read keeps no other back: all others come beside an *UnreadableLists.
	InFlightLists(ctx context.Context) ([]InFlightList, error)
	// InFlight reads the lanes of all processes, those that are empty perhaps left out, by
	// as few and as short statements as possible, which are sent during the call. InFlight
	// must show each lane as of the last PutInFlightList that was acknowledged before the call, or
	// later. Where the store cannot promise that, it returns an error: also where a
	// process may use it that does not keep its list in this way.
	InFlight(ctx context.Context) ([]InFlightList, error)
	// DeleteInFlightList must remove the lane iff nothing newer than stamp was written.
	DeleteInFlightList(ctx context.Context, id ListID, stamp int64) error
	// PutDue must be durable no later than a Commit of this process that follows it.
	// Of two hints that differ in MTS only, the newer one must be kept. A hint that
	// is older than a removal may be left out.
	PutDue(ctx context.Context, d Due) error
	// DueUntil lists what is due at or before an instant, earliest first. Where a
	// part of the hints cannot be read, the others come beside the error. A hint
	// that another process has written later than its own time may be missing for
	// some minutes.
	DueUntil(ctx context.Context, until clock.Instant, limit int) ([]Due, error)
	// DropDue must remove the hint iff none newer than d.MTS was put.
	DropDue(ctx context.Context, d Due) error
}
