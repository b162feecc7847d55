package library

import (
	"carrel/core/clock"
	"carrel/core/commit"
)

// LibraryKey is a place in one principal's library.
type LibraryKey struct {
	Bucket   Bucket
	Position clock.Instant
}

// Derived is what one member row makes of its principal's library: the keys
// where the item stands, and those where it must not. No key is in both.
type Derived struct {
	Put    []LibraryKey
	Delete []LibraryKey
	// Role is what content_by_principal tells; NoRole deletes the row.
	Role ContentRole
	// Tells says that a change of the library is written, and Left what it tells.
	Tells bool
	Left  Buckets
}

// Derive fills d, whose slices are reused, from a header and a member row of
// one snapshot. h must be e.Header or a newer reading of it.
//
// The current position is put into the buckets that the visibility allows, if
// the row is active and the item is live. Deleted are every unsettled position
// in the buckets up to its widest, and the current one in those buckets, up to
// its widest, in which it must not stand. Nothing else: a private item never
// puts a tombstone into the PUBLIC bucket.
func (e *IndexUpdate) Derive(h *Header, m Member, d *Derived) {
	d.Put, d.Delete, d.Role = d.Put[:0], d.Delete[:0], NoRole
	d.Tells, d.Left = e.Tells(m), h.Left(m)
	stands := m.Active() && h.State == commit.Live
	if stands {
		d.Role = m.Role
	}
	for _, b := range AllBuckets {
		switch {
		case stands && InBucket(b, h.Visibility, h.ID, m.Principal):
			d.Put = append(d.Put, LibraryKey{b, h.Position})
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
