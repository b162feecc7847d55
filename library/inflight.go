package library

import (
	"fmt"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// InFlight is a change in flight. It is recorded durably before its compare-and-set can apply,
// and removed only after a snapshot with Seq > Base was applied to its scope.
type InFlight struct {
	ID commit.EntryID
	// Content is the item that changes.
	Content ContentID
	Base    int64
	Scope   commit.Scope
	// Principals in order of id, for ScopeListed.
	Principals []principal.ID
	// All: all derived rows are written (IndexUpdate.All).
	All bool
	// Due is when the deferred move of a hot item must run; 0: not deferred.
	Due clock.Instant
	// Decided: the compare-and-set is known to have been applied. Decided entries of one
	// partition may be merged.
	Decided bool
	// Causes are those of the changes of libraries. They are not recorded: a process that
	// finishes the change of another one does not know them.
	Causes Causes
}

// Entry returns the change as its process records it.
func (e InFlight) Entry() commit.Entry {
	reach := commit.Reach{Scope: e.Scope, All: e.All, Principals: make([]string, len(e.Principals))}
	for i, p := range e.Principals {
		reach.Principals[i] = string(p)
	}
	return commit.Entry{ID: e.ID, Kind: commit.Content, Key: string(e.Content), Base: e.Base, Due: e.Due, Decided: e.Decided,
		Payload: reach.Encode()}
}

// InFlightOf returns the change that an entry records.
func InFlightOf(e commit.Entry) (InFlight, error) {
	reach, err := commit.DecodeReach(e.Payload)
	if err != nil {
		return InFlight{}, fmt.Errorf("the change %x of %s: %w", e.ID, e.Key, err)
	}
	c := InFlight{ID: e.ID, Content: ContentID(e.Key), Base: e.Base, Scope: reach.Scope, All: reach.All, Due: e.Due,
		Decided: e.Decided}
	for _, p := range reach.Principals {
		c.Principals = append(c.Principals, principal.ID(p))
	}
	return c, nil
}
