package cassandra

import (
	"errors"
	"sync"
	"time"
)

// wholeLists is written into the mark of a process that keeps its in-flight list as one row.
const wholeLists = 1

// The errors if one read of the lists may miss changes in flight.
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
	whole  bool      // all marks that were last read are from processes that write whole lists
	marks  time.Time // start of the read of those marks
}

// sawMarks records whether all marks are from processes that write whole lists.
func (v *vouching) sawMarks(whole bool, began time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.whole, v.marks = whole, began
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
	case v.former || !v.whole:
		return errFormerRelease
	}
	return nil
}
