package commit

import (
	"context"
	"fmt"

	"carrel/core/clock"
)

// ListID names the in-flight list of one process incarnation.
type ListID string

// InFlightList is the whole list of pending changes of a process.
type InFlightList struct {
	ID    ListID
	Stamp int64 // its write time in microseconds, which increases with each write
	// Block is its entries, as Encode returns them; empty if there are none.
	Block []byte
}

// UnreadableLists is the error of JournalStore.InFlightLists and OpenLists if some lists cannot
// be decoded: they are damaged, or of a later version. A caller that needs all pending changes
// treats it as any other error.
type UnreadableLists struct {
	IDs []ListID // in their order
	Err error    // the errors of all of them
}

// Error names the lists, for logs.
func (u *UnreadableLists) Error() string {
	return fmt.Sprintf("the in-flight lists %q cannot be read: %v", u.IDs, u.Err)
}

// Unwrap returns the errors of the lists.
func (u *UnreadableLists) Unwrap() error { return u.Err }

// Reminder says that the row of a kind and key needs work at an instant. The domain of the
// kind decides by that row what to do.
type Reminder struct {
	At   clock.Instant
	Kind Kind
	Key  string
	// MTS is the mts of the state that the reminder was written for. It orders the
	// writes and removals of the reminder of one instant and key.
	MTS clock.Instant
}

// Row returns kind and key as one text, as stores write them. An item, which was the first
// kind with reminders, is written as its id, "c:<tenant>:<name>"; every other kind as its
// letter, "=" and the key.
func (d Reminder) Row() string {
	if d.Kind == Content {
		return d.Key
	}
	return string(rune(d.Kind)) + "=" + d.Key
}

// ReminderOf returns the reminder at an instant from the text that Row returned.
func ReminderOf(at clock.Instant, row string, mts clock.Instant) Reminder {
	if len(row) > 1 && row[1] == '=' {
		return Reminder{At: at, Kind: Kind(row[0]), Key: row[2:], MTS: mts}
	}
	return Reminder{At: at, Kind: Content, Key: row, MTS: mts}
}

// JournalStore keeps the in-flight lists and the reminders.
type JournalStore interface {
	// PutInFlightList replaces the list of l.ID. It must be durable no later than a Commit of
	// this process that follows it. An empty list is removed, or is kept and listed.
	PutInFlightList(ctx context.Context, l InFlightList) error
	// InFlightLists reads all lists with the stamps of their last writes. If some cannot be
	// read, it returns all others together with an *UnreadableLists.
	InFlightLists(ctx context.Context) ([]InFlightList, error)
	// InFlight reads the lists of all processes, with as few and as short statements as possible,
	// which are sent during the call. Empty lists may be missing. InFlight must show each list as
	// of the last PutInFlightList that was acknowledged before the call, or later. It returns an
	// error if the store cannot guarantee that.
	InFlight(ctx context.Context) ([]InFlightList, error)
	// DeleteInFlightList must remove the list iff nothing newer than stamp was written.
	DeleteInFlightList(ctx context.Context, id ListID, stamp int64) error
	// PutReminder must be durable no later than a Commit of this process that follows it.
	// Of two reminders that differ in MTS only, the newer one must be kept. A reminder that
	// is older than a removal may be discarded.
	PutReminder(ctx context.Context, d Reminder) error
	// DueReminders lists the reminders due at or before an instant, earliest first. If some reminders
	// cannot be read, it returns the others together with the error.
	DueReminders(ctx context.Context, until clock.Instant, limit int) ([]Reminder, error)
	// DropReminder must remove the reminder iff none newer than d.MTS was put.
	DropReminder(ctx context.Context, d Reminder) error
}
