package library

import (
	"slices"

	"carrel/core/collation"
	"carrel/core/commit"
)

// LibraryKey identifies an entry in one principal's library.
type LibraryKey struct {
	Bucket Bucket
	EntryKey
}

// Entry returns the entry to put at a key, of the header and the member row from which d was derived.
func (d *Derived) Entry(h *Header, m Member, k LibraryKey) *Entry {
	d.entry = Entry{EntryKey: k.EntryKey, MTS: h.MTS, Role: m.Role}
	if k.Title != "" {
		d.entry.TitleHash = collation.Hash(h.OrderTitle())
	}
	return &d.entry
}

// Derived is the state of a principal's library that follows from one member row: the keys at
// which the item must have an entry, and those at which it must not. No key is in both.
type Derived struct {
	Put    []LibraryKey
	Delete []LibraryKey
	// Role is written to the record of what was shared with the principal if IndexUpdate.All is set; NoRole deletes the row.
	Role ContentRole
	// WritesChange reports that a change of the library is written, with RemovedFrom, Holds and Cause.
	WritesChange       bool
	RemovedFrom, Holds Buckets
	Cause              Cause

	entry Entry // that Entry returned last
}

// Derive fills d, whose slices are reused, from a header and a member row of one snapshot. h
// must be e.Header or a newer reading of it.
//
// If the row is active and the item is live, its current position is written to the buckets
// that the visibility allows. Every unsettled position is deleted from the buckets up to the
// widest visibility of that position. The current position is deleted from the buckets, up to its
// own widest visibility, in which the item does not belong. Nothing else is deleted: a private item
// never writes a tombstone to the PUBLIC bucket. With e.All, the same is done for the titles. An unsettled title may
// be the current one again: then it is not deleted from the buckets that it is written to.
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
			d.Put, d.Holds = append(d.Put, LibraryKey{b, h.Key(ByChange)}), d.Holds.With(b)
		case b <= h.Widest:
			d.Delete = append(d.Delete, LibraryKey{b, h.Key(ByChange)})
		}
	}
	for _, u := range h.Unsettled {
		for _, b := range AllBuckets {
			if b <= u.Widest {
				d.Delete = append(d.Delete, LibraryKey{b, EntryKey{Position: u.Position, Content: h.ID}})
			}
		}
	}
	if e.All {
		current := EntryKey{Title: e.TitleKey, Content: h.ID}
		if h != e.Header || current.Title == "" {
			current = h.Key(ByTitle)
		}
		d.titles(h, current)
	}
}

// titles adds the keys in the order of titles. d.Holds are the buckets that hold the item.
func (d *Derived) titles(h *Header, current EntryKey) {
	for _, b := range AllBuckets {
		switch {
		case d.Holds.Has(b):
			d.Put = append(d.Put, LibraryKey{b, current})
		case b <= h.Widest:
			d.Delete = append(d.Delete, LibraryKey{b, current})
		}
	}
	for _, u := range h.UnsettledTitles {
		for _, b := range AllBuckets {
			key := LibraryKey{b, EntryKey{Title: u.Title, Content: h.ID}}
			if b <= u.Widest && !slices.Contains(d.Put, key) && !slices.Contains(d.Delete, key) {
				d.Delete = append(d.Delete, key)
			}
		}
	}
}
