package library

import (
	"context"

	"carrel/core/clock"
)

// EntryID names a change under way: 16 random bytes. Each attempt has its own.
type EntryID [16]byte

// Scope says whose derived rows a change concerns.
type Scope uint8

// The scopes, each including the ones before it.
const (
	ScopeNone   Scope = 0 // nobody's: nothing derived depends on what changed
	ScopeListed Scope = 1 // InFlight.Principals
	ScopeAll    Scope = 2 // all member rows, leaving ones included
)

// InFlight is a change under way: durable before its compare-and-set can
// apply, gone only after a snapshot with Seq > Base was enforced on its scope.
type InFlight struct {
	ID EntryID
	// Content or Principal is the partition that changes; the other is empty.
	Content   ContentID
	Principal PrincipalID
	Base      int64
	Scope     Scope
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

// Journal is the process's list of changes under way, as the Service uses it.
// Package journal implements it.
type Journal interface {
	// Begin puts e on the list and returns once a write of the list whose copy
	// held e was acknowledged. Too many entries: Unavailable.
	Begin(ctx context.Context, e InFlight) error
	// Decided notes that the compare-and-set of the entry was applied.
	Decided(id EntryID)
	// End takes the entry off; the next write of the list carries that.
	End(id EntryID)
	// Defer keeps e, which is decided, until e.Due, when the Service's Move runs.
	// It joins the deferred entry of its content, if there is one.
	Defer(e InFlight)
	// Leave hands the entry to the background: it is resumed as recovery would,
	// with growing pauses, until it is done.
	Leave(e InFlight)
	// MayDefer tells whether there is space for deferred moves: changes that are
	// not decided, and moves that are deferred, fill less than half of the list.
	MayDefer() bool
	// Repair asks that e, which should not be there, be taken out of p's library
	// some time.
	Repair(p PrincipalID, e BucketEntry)
}
