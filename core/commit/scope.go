package commit

// EntryID identifies a pending change: 16 random bytes. Each attempt has its own.
type EntryID [16]byte

// Scope says whose derived rows a change affects.
type Scope uint8

// The scopes, each including the ones before it.
const (
	ScopeNone   Scope = 0 // nobody's: no derived row depends on the change
	ScopeListed Scope = 1 // those of the listed principals
	ScopeAll    Scope = 2 // those of all member rows, including leaving ones
)
