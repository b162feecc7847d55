package commit

// EntryID identifies a pending change: 16 random bytes. Each attempt has its own.
type EntryID [16]byte

// Scope says whose derived rows a change affects.
type Scope uint8

// The scopes, each including the ones before it.
const (
	ScopeNone   Scope = 0 // nobody's: nothing derived depends on what changed
	ScopeListed Scope = 1 // the principals listed
	ScopeAll    Scope = 2 // of an item, all member rows, also of leaving members; of a deleted user or group, all its rows
)
