package library

import (
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// What a change says that an item has left is told to readers to whom the item
// itself is not shown. So it is exact: a bucket in which the item never stood
// in this very library is not among it, however the item came to it. Which
// entries are deleted does not tell that: those are deleted that may stand.

// Left are the buckets of its owner's library in which the item has stood and
// does not stand in this state.
func (h *Header) Left(m Member) Buckets {
	if m.Seq == 0 {
		// Without a row it was never there, or somebody has told already: a row is
		// dropped only after its library was enforced.
		return 0
	}
	left := m.Left
	switch {
	case m.Leaving && m.Left == 0:
		left = h.reach(m.Principal) // a row from before this was noted
	case !m.Leaving:
		left = h.stood(m)
	}
	if m.Active() && h.State == commit.Live {
		left &^= h.stands(m.Principal)
	}
	return left
}

// Tells says whether a change is written for a row. Without a row there is
// nothing to tell, and the change could take the place of one that Tells of the
// row that there was: two processes may write at the same instant.
func (e *IndexUpdate) Tells(m Member) bool { return e.At != 0 && m.Seq != 0 }

// stands are the buckets of a member's library in which the item belongs.
func (h *Header) stands(p principal.ID) (bs Buckets) {
	for _, b := range AllBuckets {
		if InBucket(b, h.Visibility, h.ID, p) {
			bs = bs.With(b)
		}
	}
	return bs
}

// reach are the buckets in which entries of the item may still stand.
func (h *Header) reach(p principal.ID) (bs Buckets) {
	for _, b := range AllBuckets {
		if InBucket(b, h.Widest, h.ID, p) || slices.ContainsFunc(h.Unsettled, func(u Superseded) bool { return InBucket(b, u.Widest, h.ID, p) }) {
			bs = bs.With(b)
		}
	}
	return bs
}

// stood are the buckets in which the item stands in the library of m's
// principal, an active member, or stood when it was seen by more than now; of
// the latter those that may still hold an entry: what has left the others was
// told when it did.
func (h *Header) stood(m Member) Buckets {
	was := m.Left
	for _, b := range AllBuckets {
		if m.Since < h.until(b, m.Principal) {
			was = was.With(b)
		}
	}
	return h.stands(m.Principal) | was&h.reach(m.Principal)
}

// until is when the item has last ceased to belong in a bucket of a member's
// library because fewer see it; 0: never.
func (h *Header) until(b Bucket, p principal.ID) clock.Instant {
	switch {
	case b == principal.Private:
		return 0
	case InBucket(b, principal.LoggedIn, h.ID, p):
		return h.LoggedInUntil
	}
	return h.PublicUntil
}

// narrow notes in a header that has its new MTS and visibility who has ceased to
// see the item.
func (h *Header) narrow(before principal.Visibility) {
	if before >= principal.LoggedIn && h.Visibility < principal.LoggedIn {
		h.LoggedInUntil = h.MTS
	}
	if before >= principal.Public && h.Visibility < principal.Public {
		h.PublicUntil = h.MTS
	}
}

// became is the row of a principal whose role changes from that of before, in a
// header that has its new MTS.
func (h *Header) became(before Member, to ContentRole) Member {
	row := Member{Principal: before.Principal, Role: to, Seq: h.Seq, Since: before.Since, Left: before.Left}
	switch {
	case to == NoRole:
		row.Role, row.Leaving = before.Role, true
		row.Left = h.stood(before)
	case !before.Active():
		row.Since = h.MTS
	}
	return row
}
