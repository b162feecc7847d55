package library

import (
	"maps"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// ChangeReason says how a change of a library came about. Stores keep the numbers, which
// are never used for anything else.
type ChangeReason uint8

// The reasons of changes. The zero value is one that is not known.
const (
	UnknownReason ChangeReason = 0
	ReasonShared  ChangeReason = 1 // the owner was given a role, at the creation of the item or later
	ReasonRole    ChangeReason = 2 // the owner's role was replaced by another one
	ReasonUpdated ChangeReason = 3 // a field of the item was changed, visibility and expiresAt included
	ReasonRevised ChangeReason = 4 // readers see another text
	ReasonRemoved ChangeReason = 5 // the owner's role was taken away
	ReasonDeleted ChangeReason = 6 // the item was deleted
	ReasonExpired ChangeReason = 7 // the item has reached its expiresAt
)

var changeReasonNames = [...]string{"", "SHARED", "ROLE_CHANGED", "UPDATED", "REVISED", "REMOVED", "DELETED", "EXPIRED"}

// String returns the name of the reason in the API contract, or "" if it is not known.
func (r ChangeReason) String() string {
	if int(r) < len(changeReasonNames) {
		return changeReasonNames[r]
	}
	return ""
}

// Cause is the author and the kind of a change of a library, as far as they are known.
type Cause struct {
	Reason ChangeReason
	By     principal.ID // empty: nobody, or not known
}

// removes reports whether an item leaves the library by this cause, unless it comes back.
func (c Cause) removes() bool {
	return c.Reason == ReasonRemoved || c.Reason == ReasonDeleted || c.Reason == ReasonExpired
}

// OfPlaced returns the cause of an event that shows the item in the library, and OfRemoved that of
// an event that reports its removal. A later change may have turned the one event into the other.
func (c Cause) OfPlaced() Cause {
	if c.removes() {
		return Cause{}
	}
	return c
}

// OfRemoved is described at OfPlaced.
func (c Cause) OfRemoved() Cause {
	if !c.removes() {
		return Cause{}
	}
	return c
}

// ReasonOrNull returns the reason, or nil if it is not known.
func (c *Cause) ReasonOrNull() *ChangeReason {
	if c.Reason.String() == "" { // a later release may have stored it
		return nil
	}
	return &c.Reason
}

// Causes are the causes of one change of an item, by library. The process that makes the change
// knows them; a process that finishes it instead does not.
type Causes struct {
	// By is who makes the change: the account whose index updates wait for each other. It is empty for
	// work that nobody waits for.
	By principal.ID
	// All is the cause for the libraries that are not in Of.
	All Cause
	Of  map[principal.ID]Cause
	// LastModified is that of the state that the change has made. A later one shows that the item
	// was updated since.
	LastModified clock.Instant
}

// reasonForAll is a reason that is the same for all libraries.
func reasonForAll(r ChangeReason) Causes { return Causes{All: Cause{Reason: r}} }

// reasonsOfRoles are the reasons of a change of member rows. changed are the new rows, of a
// header that has its new MTS.
func reasonsOfRoles(h *Header, changed []Member) Causes {
	of := make(map[principal.ID]Cause, len(changed))
	for _, m := range changed {
		reason := ReasonRole
		switch {
		case m.Leaving:
			reason = ReasonRemoved
		case m.Since == h.MTS:
			reason = ReasonShared
		}
		of[m.Principal] = Cause{Reason: reason}
	}
	return Causes{Of: of}
}

// madeBy sets who makes the change, and its author for each library. It calls authorOf in any order. It writes
// nothing if there are no causes: nothingToChange is shared.
func (c *Causes) madeBy(by principal.ID, authorOf func(owner principal.ID) principal.ID) {
	if c.All.Reason == UnknownReason && len(c.Of) == 0 {
		return
	}
	c.By = by
	if c.All.Reason != UnknownReason {
		c.All.By = authorOf("")
	}
	for p, cause := range c.Of {
		cause.By = authorOf(p)
		c.Of[p] = cause
	}
}

// then returns the causes of two changes whose fan-outs run together: for each library that of the
// later change, if that change concerns the library. The order in which maps are copied does not
// matter.
func (c Causes) then(later Causes) Causes {
	if later.All.Reason != UnknownReason {
		return later
	}
	if len(later.Of) == 0 {
		c.By = later.By
		return c
	}
	of := maps.Clone(c.Of)
	if of == nil {
		of = make(map[principal.ID]Cause, len(later.Of))
	}
	maps.Copy(of, later.Of)
	return Causes{By: later.By, All: c.All, Of: of, LastModified: c.LastModified}
}

// cause returns the cause with which the change of a row is written. h and m are of one snapshot,
// which may be of a later state than the change: if a reason does not fit the row of the snapshot,
// the cause is not known.
func (e *IndexUpdate) cause(h *Header, m Member) Cause {
	c, listed := e.Causes.Of[m.Principal]
	if !listed {
		c = e.Causes.All
	}
	fits := m.Active() && h.State == commit.Live
	switch c.Reason {
	case ReasonUpdated, ReasonRevised:
		// The author of a later update has made what an event shows.
		fits = fits && h.LastModified <= e.Causes.LastModified
	case ReasonRemoved:
		fits = !m.Active() && h.State == commit.Live
	case ReasonDeleted, ReasonExpired:
		// The deletion does not concern a principal whose role had ended before: it may not know
		// what has become of the item.
		fits = m.Active() && h.State == commit.Deleted
	}
	if !fits {
		return Cause{}
	}
	return c
}
