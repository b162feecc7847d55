package journal

import (
	"carrel/core/commit"
	"carrel/core/fault"
)

// Limits of the pending changes on the list of one process. The list is written whole, as one
// mutation, which must be smaller than what a node accepts by default (16 MiB).
const (
	// maxUndecided limits the changes that are not known to be decided (docs/write-protocol.md).
	maxUndecided = 1000
	// maxEntries limits all changes. Decided changes of one item or principal are merged, so
	// a process refuses changes only if that many items have libraries that cannot be
	// written at the same time.
	maxEntries = 10_000
	maxBytes   = 4 << 20
)

// entryBytes is the most that an entry takes in a store in addition to its key and what is left to do.
const entryBytes = 64

// checkSpace returns an error if the list has no space for a change. The caller holds mu.
func (j *Journal) checkSpace(e commit.Entry) error {
	undecided, size := 0, sizeOf(&e)
	for _, x := range j.entries {
		if !x.Decided {
			undecided++
		}
		size += sizeOf(&x.Entry)
	}
	switch {
	case undecided >= maxUndecided:
		return fault.Unavailablef(nil, "too many changes are pending; try again in a moment")
	case len(j.entries) >= maxEntries || size > maxBytes:
		return fault.Unavailablef(nil, "too many earlier changes could not be completed yet; nothing was changed, try again later")
	}
	return nil
}

// sizeOf returns the most bytes that an entry takes in a store.
func sizeOf(e *commit.Entry) int { return entryBytes + len(e.Key) + e.Reach.Size() }

// Decided records that the change of an entry was applied. What remains is updating the
// libraries, so the change no longer counts as undecided.
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

// mergeable reports whether two entries may be merged: they must be decided, be of one partition,
// and both or neither request a deferred change. Running a deferred change may finish its own
// entry, but not another one.
func mergeable(a, b commit.Entry) bool {
	return a.Decided && b.Decided && (a.Due == 0) == (b.Due == 0) && a.Kind == b.Kind && a.Key == b.Key
}

// MayDefer reports whether undecided and deferred changes take less than half of
// maxUndecided. Decided changes that wait for a library do not count, because they may
// wait for long.
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
