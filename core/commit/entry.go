// Package commit is the part of the write protocol that all domains share: how a change
// is decided, and the entries of the in-flight lists. It knows no domain.
package commit

import (
	"fmt"

	"carrel/core/clock"
)

// Kind is the domain that an entry belongs to. Kinds are stored in lists, so a kind is never
// reused.
type Kind byte

// The kinds of entries.
const (
	Content   Kind = 'c' // an item
	Principal Kind = 'p' // a user or a group
	Lease     Kind = 'l' // a lease; it has reminders only, and no entries
	Paste     Kind = 't' // a paste
)

// Entry is a pending change. It is on the in-flight list of its process from before its
// compare-and-set is sent until all rows derived from the change are written. Processes keep copies
// of some rows and cannot see from a copy whether its row has changed since. An entry that changes
// such a row lingers: it stays on the list for as long as there may be copies of the former state.
type Entry struct {
	ID   EntryID
	Kind Kind
	// Key names the partition that changes.
	Key string
	// Base is the Seq of the state that the change is based on.
	Base int64
	// Span is how many states before Base the first change of a merged entry is based on.
	Span int64
	// Due is when a deferred change must run; 0 if it is not deferred.
	Due clock.Instant
	// Decided is whether the compare-and-set is known to have been applied.
	Decided bool
	// Lingers is whether the entry stays on the list for some time after the change has ended
	// (Journal.Linger). It is not stored.
	Lingers bool
	// Ended is whether the change has ended: the entry lingers. There is nothing left to do for it,
	// and its Base names no state. With an empty Key it covers all partitions of its kind.
	Ended bool
	// Reach is what is left to do after the change. Its Principals are not modified in place.
	Reach
	// Unreadable is whether the stored form of Reach could not be read. It is not stored.
	Unreadable bool
}

// Check returns an error if this program cannot finish an entry: if its kind is of a later version,
// or it could not be read.
func (e *Entry) Check() error {
	switch e.Kind {
	case Content, Principal, Paste:
		if e.Unreadable {
			return fmt.Errorf("the change %x of %s: %w", e.ID, e.Key, errBlock)
		}
		return nil
	}
	return fmt.Errorf("the change %x of %s is of the unknown kind %q", e.ID, e.Key, e.Kind)
}

// Recoverable reports whether the change must be on the list: there is work to finish after it,
// or it lingers.
func (e *Entry) Recoverable() bool { return !e.AffectsNothing() || e.Due != 0 || e.Lingers }

// MayInclude reports whether the entry may be about the change that led to the state seq.
func (e *Entry) MayInclude(seq int64) bool { return e.Base-e.Span < seq && seq <= e.Base+1 }
