// Package commit is what all domains share of the write protocol: the entries of
// the in-flight lists, and how they are written. It knows no domain: what an entry
// is about is its payload, which the domain of its kind encodes.
package commit

import "carrel/core/clock"

// Kind tells which domain an entry belongs to. Lists that exist hold kinds, so a
// kind is never used for anything else.
type Kind byte

// The kinds of entries.
const (
	Content   Kind = 'c' // an item
	Principal Kind = 'p' // a user or a group
	Lease     Kind = 'l' // a lease; it has hints only, and no entries
	Paste     Kind = 't' // a paste
)

// Entry is a change under way. It is on the list of its process before its
// compare-and-set is sent, and until everything that the change concerns was
// written.
type Entry struct {
	ID   EntryID
	Kind Kind
	// Key names the partition that changes.
	Key string
	// Base is the Seq of the state that the change was made of.
	Base int64
	// Due is when a deferred change shall run; 0: it is not deferred.
	Due clock.Instant
	// Decided: the compare-and-set is known to have been applied.
	Decided bool
	// Payload is what the domain needs to finish the change; nil: nothing is left
	// to finish. It is not changed in place.
	Payload []byte
}
