package commit

// EntryID names a change under way: 16 random bytes. Each attempt has its own.
type EntryID [16]byte

// Scope says whose derived rows a change concerns.
type Scope uint8

// The scopes, each including the ones before it.
const (
	ScopeNone   Scope = 0 // nobody's: nothing derived depends on what changed
	ScopeListed Scope = 1 // the principals listed
	ScopeAll    Scope = 2 // all member rows, leaving ones included
)
