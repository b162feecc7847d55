package library

import (
	"context"
	"fmt"

	"carrel/core/clock"
	"carrel/core/commit"
)

// InFlight is a change under way: durable before its compare-and-set can
// apply, gone only after a snapshot with Seq > Base was enforced on its scope.
type InFlight struct {
	ID commit.EntryID
	// Content or Principal is the partition that changes; the other is empty.
	Content   ContentID
	Principal PrincipalID
	Base      int64
	Scope     commit.Scope
	// Principals in order of id, for ScopeListed.
	Principals []PrincipalID
	// Reverse: content_by_principal rows are concerned too.
	Reverse bool
	// Former is what the principal was called before a change that concerns its
	// rows in the directory; empty for other changes and for a creation.
	Former string
	// Due is when the deferred move of a hot item shall run; 0: not deferred.
	Due clock.Instant
	// Decided: the compare-and-set is known to have been applied. Entries of
	// one partition that are decided may be merged.
	Decided bool
}

// Entry returns the change as its process records it.
func (e InFlight) Entry() commit.Entry {
	kind, key := commit.Content, string(e.Content)
	if e.Principal != "" {
		kind, key = commit.Principal, string(e.Principal)
	}
	reach := commit.Reach{Scope: e.Scope, Reverse: e.Reverse, Former: e.Former, Principals: make([]string, len(e.Principals))}
	for i, p := range e.Principals {
		reach.Principals[i] = string(p)
	}
	return commit.Entry{ID: e.ID, Kind: kind, Key: key, Base: e.Base, Due: e.Due, Decided: e.Decided, Payload: reach.Encode()}
}

// InFlightOf returns the change that an entry records.
func InFlightOf(e commit.Entry) (InFlight, error) {
	reach, err := commit.DecodeReach(e.Payload)
	if err != nil {
		return InFlight{}, fmt.Errorf("the change %x of %s: %w", e.ID, e.Key, err)
	}
	c := InFlight{ID: e.ID, Base: e.Base, Scope: reach.Scope, Reverse: reach.Reverse, Former: reach.Former, Due: e.Due, Decided: e.Decided}
	switch e.Kind {
	case commit.Content:
		c.Content = ContentID(e.Key)
	case commit.Principal:
		c.Principal = PrincipalID(e.Key)
	default:
		return InFlight{}, fmt.Errorf("the change %x of %s is of the unknown kind %q", e.ID, e.Key, e.Kind)
	}
	for _, p := range reach.Principals {
		c.Principals = append(c.Principals, PrincipalID(p))
	}
	return c, nil
}

// maxMerged is how many principals a merged entry names at most, so that it stays
// well below commit.MaxBlock.
const maxMerged = 1000

// MergeInFlight returns one entry for two decided ones of the same partition, which
// both or neither ask for a deferred move; ok is false where they cannot be finished as one: together they name
// too many principals, or two former names.
func MergeInFlight(x, y commit.Entry) (merged commit.Entry, ok bool) {
	a, err := InFlightOf(x)
	if err != nil {
		return commit.Entry{}, false
	}
	b, err := InFlightOf(y)
	if err != nil || a.Former != "" && b.Former != "" && a.Former != b.Former {
		return commit.Entry{}, false
	}
	if a = Unite(a, b); len(a.Principals) > maxMerged {
		return commit.Entry{}, false
	}
	return a.Entry(), true
}

// Merge returns one entry for two decided ones of the same kind and key; ok is false
// where they must be finished one by one.
type Merge = func(a, b commit.Entry) (merged commit.Entry, ok bool)

// Journal is the process's list of changes under way, as the Service uses it.
// Package journal implements it.
type Journal interface {
	// Begin puts e on the list and returns once a write of the list whose copy
	// held e was acknowledged. Too many entries: Unavailable.
	Begin(ctx context.Context, e commit.Entry) error
	// Decided notes that the compare-and-set of the entry was applied.
	Decided(id commit.EntryID)
	// End takes the entry off; the next write of the list carries that.
	End(id commit.EntryID)
	// Defer keeps e, which is decided, until e.Due, when the Service's RunDue is
	// called. It joins the deferred entry of its key, if there is one.
	Defer(e commit.Entry)
	// Leave hands the entry to the background: it is resumed as recovery would,
	// with growing pauses, until it is done. merge makes one entry of two.
	Leave(e commit.Entry, merge Merge)
	// MayDefer tells whether there is space for deferred moves: changes that are
	// not decided, and moves that are deferred, fill less than half of the list.
	MayDefer() bool
	// Repair asks that e, which should not be there, be taken out of p's library
	// some time.
	Repair(p PrincipalID, e BucketEntry)
}
