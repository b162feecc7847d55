package commit

// EntryID identifies a pending change: 16 random bytes. Each attempt has its own.
type EntryID [16]byte

// Scope says whose derived rows a change affects.
type Scope uint8

// The scopes, each including the ones before it.
const (
	ScopeNone   Scope = 0 // nobody's: nothing derived depends on what changed
	ScopeListed Scope = 1 // the principals listed
	ScopeAll    Scope = 2 // all member rows, leaving ones included; of a user or a group, which is deleted, all that it has
)
