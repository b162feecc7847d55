package library

import (
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// The buckets that a change reports in RemovedFrom are shown to readers who may not see the item.
// So they are exact: they include no bucket in which the item never had an entry in this library.
// They cannot be derived from the entries that are deleted, because a deletion also names entries
// that may never have existed.

// RemovedFrom returns the buckets of m's library in which the item had an entry and has none in
// this state.
func (h *Header) RemovedFrom(m Member) Buckets {
	if m.Seq == 0 {
		// The item was never there, or its removal was reported before: a row is dropped only after
		// its library was updated.
		return 0
	}
	removed := m.RemovedFrom
	switch {
	case m.Leaving && m.RemovedFrom == 0:
		removed = h.possibleBuckets(m.Principal) // a row that was written before RemovedFrom was recorded
	case !m.Leaving:
		removed = h.heldBuckets(m)
	}
	if m.Active() && h.State == commit.Live {
		removed &^= h.currentBuckets(m.Principal)
	}
	return removed
}

// WritesChange reports whether a change is written for a row. Without a row there is nothing to
// report, and the change could replace one that is written for the former row: two processes
// may write at the same instant.
func (e *IndexUpdate) WritesChange(m Member) bool { return e.At != 0 && m.Seq != 0 }

// currentBuckets returns the buckets of a member's library in which the item belongs.
func (h *Header) currentBuckets(p principal.ID) (bs Buckets) {
	for _, b := range AllBuckets {
		if InBucket(b, h.Visibility, h.ID, p) {
			bs = bs.With(b)
		}
	}
	return bs
}

// possibleBuckets returns the buckets in which the item may still have entries.
func (h *Header) possibleBuckets(p principal.ID) (bs Buckets) {
	for _, b := range AllBuckets {
		if InBucket(b, h.Widest, h.ID, p) || slices.ContainsFunc(h.Unsettled, func(u Superseded) bool { return InBucket(b, u.Widest, h.ID, p) }) {
			bs = bs.With(b)
		}
	}
	return bs
}

// heldBuckets returns the buckets in which the item has an entry in the library of m's principal,
// an active member. It also returns buckets in which the item had an entry when more readers saw
// it, if they may still have the entry. For all others the removal was reported when it happened.
func (h *Header) heldBuckets(m Member) Buckets {
	was := m.RemovedFrom
	for _, b := range AllBuckets {
		if m.Since < h.until(b, m.Principal) {
			was = was.With(b)
		}
	}
	return h.currentBuckets(m.Principal) | was&h.possibleBuckets(m.Principal)
}

// until returns when the item last ceased to belong in a bucket of a member's library because
// fewer readers see it; 0: never.
func (h *Header) until(b Bucket, p principal.ID) clock.Instant {
	switch {
	case b == principal.Private:
		return 0
	case InBucket(b, principal.LoggedIn, h.ID, p):
		return h.LoggedInUntil
	}
	return h.PublicUntil
}

// recordNarrowing records, in a header that has its new MTS and visibility, which readers no longer
// see the item.
func (h *Header) recordNarrowing(before principal.Visibility) {
	if before >= principal.LoggedIn && h.Visibility < principal.LoggedIn {
		h.LoggedInUntil = h.MTS
	}
	if before >= principal.Public && h.Visibility < principal.Public {
		h.PublicUntil = h.MTS
	}
}

// nextMember returns the row of a principal whose role changes from that in before, in a header
// that has its new MTS.
func (h *Header) nextMember(before Member, to ContentRole) Member {
	row := Member{Principal: before.Principal, Role: to, Seq: h.Seq, Since: before.Since, RemovedFrom: before.RemovedFrom}
	switch {
	case to == NoRole:
		row.Role, row.Leaving = before.Role, true
		row.RemovedFrom = h.heldBuckets(before)
	case !before.Active():
		row.Since = h.MTS
	}
	return row
}
