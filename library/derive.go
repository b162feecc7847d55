package library

import (
	"carrel/core/clock"
	"carrel/core/commit"
)

// LibraryKey identifies an entry in one principal's library.
type LibraryKey struct {
	Bucket   Bucket
	Position clock.Instant
}

// Derived is the state of a principal's library that follows from one member row: the keys at
// which the item must have an entry, and those at which it must not. No key is in both.
type Derived struct {
	Put    []LibraryKey
	Delete []LibraryKey
	// Role is written to the record of what was shared with the principal; NoRole deletes the row.
	Role ContentRole
	// WritesChange reports that a change of the library is written, with RemovedFrom, Holds and Cause.
	WritesChange       bool
	RemovedFrom, Holds Buckets
	Cause              Cause
}

// Derive fills d, whose slices are reused, from a header and a member row of one snapshot. h
// must be e.Header or a newer reading of it.
//
// If the row is active and the item is live, its current position is written to the buckets
// that the visibility allows. Every unsettled position is deleted from the buckets up to the
// widest visibility of that position. The current position is deleted from the buckets, up to its
// own widest visibility, in which the item does not belong. Nothing else is deleted: a private item
// never writes a tombstone to the PUBLIC bucket.
func (e *IndexUpdate) Derive(h *Header, m Member, d *Derived) {
	d.Put, d.Delete, d.Role, d.Holds = d.Put[:0], d.Delete[:0], NoRole, 0
	d.WritesChange, d.RemovedFrom, d.Cause = e.WritesChange(m), h.RemovedFrom(m), e.cause(h, m)
	present := m.Active() && h.State == commit.Live
	if present {
		d.Role = m.Role
	}
	for _, b := range AllBuckets {
		switch {
		case present && InBucket(b, h.Visibility, h.ID, m.Principal):
			d.Put, d.Holds = append(d.Put, LibraryKey{b, h.Position}), d.Holds.With(b)
		case b <= h.Widest:
			d.Delete = append(d.Delete, LibraryKey{b, h.Position})
		}
	}
	for _, u := range h.Unsettled {
		for _, b := range AllBuckets {
			if b <= u.Widest {
				d.Delete = append(d.Delete, LibraryKey{b, u.Position})
			}
		}
	}
}
