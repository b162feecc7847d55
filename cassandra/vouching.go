package cassandra

import (
	"errors"
	"sync"
	"time"

	"carrel/core/copies"
)

// How a process keeps its in-flight list, as its mark says. Each level includes the former one;
// marks of older releases have none.
const (
	wholeLists = 1 // the list is one row
	lingering  = 2 // entries linger on it (journal.Linger)
)

// The reasons why one read of the lists may miss changes in flight.
var (
	errFormerRelease = errors.New("a gateway of a former release uses the keyspace, or has left changes in flight")
	errUnknownUsers  = errors.New("it is not known which gateways use the keyspace")
	errApart         = errors.New("gateways of several data centres decide independently of each other")
)

// vouching decides whether one read of the lists returns all changes in flight. That is so if every
// process that uses the keyspace stores its list as one row, as its mark says, and if the read and
// the writes of all processes have a replica in common.
type vouching struct {
	mu     sync.Mutex
	apart  bool      // writes of another data centre may be missing here
	former bool      // some list has the form of the former release
	looked bool      // former is known
	least  int8      // the lowest level in the marks that were last read
	marks  time.Time // start of the read of those marks
	// since is when a read found all marks at the level lingering, after an earlier read had found a
	// lower one. It is zero if no read has found a lower level.
	since time.Time
	below bool // the last read of marks found a level below lingering
}

// sawMarks records the lowest level in the marks of a read.
func (v *vouching) sawMarks(least int8, began time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.least, v.marks = least, began
	if v.below && least >= lingering {
		v.since = time.Now()
	}
	v.below = least < lingering
}

// sawLists records whether some list has the form of the former release.
func (v *vouching) sawLists(former bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.former, v.looked = former, true
}

// check returns the reason why it is unknown what is in flight, or nil if it is known.
func (v *vouching) check() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.apart:
		return errApart
	case !v.looked || time.Since(v.marks) > markLives:
		return errUnknownUsers
	case v.former || v.least < wholeLists:
		return errFormerRelease
	}
	return nil
}

// linger reports whether entries linger on the lists of all processes that may have changed
// anything within copies.MaxAge.
func (v *vouching) linger() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.least >= lingering && time.Since(v.since) >= copies.MaxAge
}
