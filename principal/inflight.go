package principal

import (
	"fmt"

	"carrel/core/commit"
)

// InFlight is a change in flight of a user or a group, and describes what to update after it.
type InFlight struct {
	ID        commit.EntryID
	Principal ID
	Base      int64
	// Created: the principal is new.
	Created bool
	// Deleted: what belongs to the principal must be removed.
	Deleted bool
	// Former is the former display name, if the name or the visibility has changed; otherwise
	// empty.
	Former string
	// Members are the members of a group whose memberships are affected, in order of id.
	Members []ID
	// Decided: the compare-and-set is known to have been applied.
	Decided bool
	// Lingers: what pages show of the principal has changed, and there may be copies of it.
	Lingers bool
}

// Entry returns the change as its process records it.
func (c InFlight) Entry() commit.Entry {
	reach := commit.Reach{All: c.Created, Former: c.Former, Principals: make([]string, len(c.Members))}
	switch {
	case c.Deleted:
		reach.Scope = commit.ScopeAll
	case c.Created || c.Former != "" || len(c.Members) > 0:
		reach.Scope = commit.ScopeListed
	}
	for i, p := range c.Members {
		reach.Principals[i] = string(p)
	}
	return commit.Entry{
		ID: c.ID, Kind: commit.Principal, Key: string(c.Principal), Base: c.Base, Decided: c.Decided, Lingers: c.Lingers, Payload: reach.Encode(),
	}
}

// InFlightOf returns the change that an entry records.
func InFlightOf(e commit.Entry) (InFlight, error) {
	reach, err := commit.DecodeReach(e.Payload)
	if err != nil {
		return InFlight{}, fmt.Errorf("the change %x of %s: %w", e.ID, e.Key, err)
	}
	c := InFlight{ID: e.ID, Principal: ID(e.Key), Base: e.Base, Created: reach.All, Former: reach.Former, Decided: e.Decided,
		Deleted: reach.Scope == commit.ScopeAll}
	for _, p := range reach.Principals {
		c.Members = append(c.Members, ID(p))
	}
	return c, nil
}
