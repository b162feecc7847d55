package journal

import (
	"carrel/core/commit"
	"carrel/core/fault"
)

// Bounds of the list of one process. It is written whole, as one mutation of at
// most maxBytes, which is below what a node accepts by default (16 MiB).
const (
	// maxUndecided bounds the changes whose outcome is open (docs/write-protocol.md).
	maxUndecided = 1000
	// maxEntries bounds all changes. Decided ones of one item or principal are
	// merged, so only that many items with libraries that cannot be written, at the
	// same time, make a process refuse changes.
	maxEntries = 10_000
	maxBytes   = 4 << 20
)

// entryBytes is what an entry takes in a store beside its key and payload, at most.
const entryBytes = 64

// full returns the error of a change for which the list has no space. The
// caller holds mu.
func (j *Journal) full(e commit.Entry) error {
	undecided, size := 0, sizeOf(&e)
	for _, x := range j.entries {
		if !x.Decided {
			undecided++
		}
		size += sizeOf(&x.Entry)
	}
	switch {
	case undecided >= maxUndecided:
		return fault.Unavailablef(nil, "too many changes are under way; try again in a moment")
	case len(j.entries) >= maxEntries || size > maxBytes:
		return fault.Unavailablef(nil, "too many changes wait for libraries that cannot be written; nothing was changed, try again later")
	}
	return nil
}

// sizeOf is how many bytes an entry takes in a store at most.
func sizeOf(e *commit.Entry) int { return entryBytes + len(e.Key) + len(e.Payload) }

// Decided notes that the change of an entry was applied: what remains is to
// bring libraries in line, which no longer counts as undecided.
func (j *Journal) Decided(id commit.EntryID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.entries {
		if e.ID == id {
			e.Decided = true
			return
		}
	}
}

// mergeable reports whether two entries may be merged: they are decided, of one
// partition, and both or neither of them ask for a deferred change. Such a change may
// take the place of finishing its own entry, but not of finishing another one.
func mergeable(a, b commit.Entry) bool {
	return a.Decided && b.Decided && (a.Due == 0) == (b.Due == 0) && a.Kind == b.Kind && a.Key == b.Key
}

// MayDefer tells whether the changes that are under way and those that are
// deferred take less than half of maxUndecided. Decided changes that wait for a
// library do not count: they may wait for long.
func (j *Journal) MayDefer() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, e := range j.entries {
		if !e.Decided || e.deferred {
			n++
		}
	}
	return !j.draining && n < maxUndecided/2
}
