package claim

import (
	"context"
	"fmt"
)

// Status is what a record says of a key.
type Status uint8

// What a record can say of a key.
const (
	// Idle: the record does not hold the key, and may be about to take it.
	Idle Status = iota
	// Held: the record holds the key.
	Held
	// Lapsed: the record holds the key, and its time is over. It must be ended before
	// another record can take the key.
	Lapsed
	// Ended: the record does not hold the key, and never will.
	Ended
)

// Look is one reading of a record.
type Look struct {
	Status Status
	// Base is the Seq of the state that was read.
	Base int64
}

// Record tells what the records of one kind say. Each domain has one for what it names.
type Record interface {
	// Look reads a record serially.
	Look(ctx context.Context, record string, k Key) (Look, error)
	// Fence writes a state that differs from that of base in its Seq only, so that no
	// change made of base or of an earlier state can be decided any more. It reports
	// whether it was applied. Where that is unknown, its error satisfies
	// fault.MayHaveCommitted.
	Fence(ctx context.Context, record string, base int64) (applied bool, err error)
	// End ends a record that has lapsed, unless it has changed meanwhile. Records of a
	// kind that never lapse are never ended.
	End(ctx context.Context, record string) error
}

// recordOf returns the Record of the kind of a record's id.
func (c *Claims) recordOf(record string) (Record, error) {
	if record != "" {
		if r := c.records[record[0]]; r != nil {
			return r, nil
		}
	}
	return nil, fmt.Errorf("a claim points to %q, which is of no kind that this program knows", record)
}
