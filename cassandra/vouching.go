package cassandra

import (
	"errors"
	"sync"
	"time"
)

// wholeLists is what a process writes into its mark that keeps its in-flight list as one
// row.
const wholeLists = 1

// Why it cannot be told what is in flight.
var (
	errFormerRelease = errors.New("a gateway of a former release uses the keyspace, or has left changes in flight")
	errUnknownUsers  = errors.New("it is not known which gateways use the keyspace")
	errApart         = errors.New("gateways of several data centres decide apart from each other")
)

// vouching says whether one reading of the lists shows everything that is in flight: whether
// all processes that use the keyspace keep their lists as one row each, which their marks
// say, and whether the reading and their writes have a replica in common.
type vouching struct {
	mu     sync.Mutex
	apart  bool      // another data centre may hold what this one does not show
	former bool      // some list is in the form of the former release
	looked bool      // former is known
	whole  bool      // all marks that were seen last are of processes that write whole lists
	marks  time.Time // when the reading of those marks began
}

// sawMarks notes whether all marks are of processes that write whole lists.
func (v *vouching) sawMarks(whole bool, began time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.whole, v.marks = whole, began
}

// sawLists notes whether some list is in the form of the former release.
func (v *vouching) sawLists(former bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.former, v.looked = former, true
}

// check returns why it cannot be told what is in flight; nil: it can.
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
