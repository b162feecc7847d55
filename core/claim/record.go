package claim

import (
	"context"
	"fmt"
)

// Status is the relation of a record to a key.
type Status uint8

// The statuses of a record.
const (
	// Idle: the record does not hold the key, and may be about to take it.
	Idle Status = iota
	// Held: the record holds the key.
	Held
	// Lapsed: the record holds the key, but its time is over. It must be ended before
	// another record can take the key.
	Lapsed
	// Ended: the record does not hold the key and never will.
	Ended
)

// Look is the result of reading a record.
type Look struct {
	Status Status
	// Base is the Seq of the state that was read.
	Base int64
	// Number is less than the number of every claim that replaces one of this record; 0: none is
	// required.
	Number int64
}

// Record reads, fences and ends the records of one kind. Each domain that has unique names
// implements it.
type Record interface {
	// Look reads a record serially.
	Look(ctx context.Context, record string, k Key) (Look, error)
	// Fence writes a state that differs from that of base only in its Seq, so that no
	// change based on base or on an earlier state can be decided any more. It reports
	// whether it was applied. If that is unknown, its error satisfies
	// fault.MayHaveCommitted.
	Fence(ctx context.Context, record string, base int64) (applied bool, err error)
	// End ends a record that has lapsed, unless it has changed meanwhile. It is never
	// called for records of a kind that does not lapse.
	End(ctx context.Context, record string) error
}

// recordOf returns the Record of the kind of a record's id.
func (c *Claims) recordOf(record string) (Record, error) {
	if record != "" {
		if r := c.records[record[0]]; r != nil {
			return r, nil
		}
	}
	return nil, fmt.Errorf("a claim points to %q, which is not of a known kind", record)
}
