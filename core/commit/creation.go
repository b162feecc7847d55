package commit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
)

// A creation with an idempotency key, a keyed creation, reserves its id before it runs, in a row
// for each caller and key. If an attempt was refused, its key may be used for another input, which
// replaces the row. The earlier attempt may still be running then, so the new one first claims its
// id: by compare-and-set it writes a row into the partition of that id, with the same key and the
// hash of the new input. The claim of another input makes a creation fail with
// IDEMPOTENCY_MISMATCH, and a creation makes a claim fail. So at most one of two concurrent inputs
// creates something.

// creationKept is how long the id of a keyed creation stays reserved, from the start of an attempt.
// It exceeds requestKept, which is counted from the commit, by the longest time of an attempt and
// the skew of the gateways' clocks, and by renewAfter: attempts that come sooner after the last one do
// not renew the reservation. If each did, concurrent ones would hinder each other.
const (
	creationKept = requestKept + time.Minute + renewAfter
	renewAfter   = 30 * time.Second
)

// maxReserveTries is how many times a creation tries to replace the row of a refused attempt with
// the same key while others do the same.
const maxReserveTries = 8

// Partition is the state of an id's partition that its creation depends on.
type Partition struct {
	State   State
	Request *RequestRow // of the requested key; nil if there is none
	// Claim returns an attempt that writes a void state with a request row, based on
	// the state that was read.
	Claim func(row *RequestRow) *Attempt
}

// ReadPartition reads the partition of an id, with the request row of a key.
type ReadPartition func(ctx context.Context, globalID string, key *RequestKey) (*Partition, error)

// partition reads the partition of an id of any domain.
func (g *Engine) partition(ctx context.Context, globalID string, key *RequestKey) (*Partition, error) {
	p, err := g.read(ctx, globalID, key)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", globalID, err)
	}
	return p, nil
}

// PutCreationIfAbsent reserves the id of a keyed creation before it runs, so that a repetition uses
// the same id and finds the first outcome there. fresh returns a new id.
func (g *Engine) PutCreationIfAbsent(ctx context.Context, r *Request, fresh func() (string, error)) (string, error) {
	globalID, err := fresh()
	if err != nil {
		return "", err
	}
	mine := Creation{Key: r.Key, InputHash: r.Hash, ID: globalID, Until: g.Now().Add(creationKept)}
	write := mine
	var replace *Creation
	for range maxReserveTries {
		current, err := g.registers.PutCreationIfAbsent(ctx, write, replace)
		if err != nil {
			// It does not matter whether the row was written: it creates nothing by
			// itself, and a repetition finds it.
			return "", fault.Unavailablef(err, "the store did not answer; nothing was created, try again")
		}
		if current == write {
			return write.ID, nil
		}
		write = mine
		if current.Until > g.Now() && current.InputHash == r.Hash {
			keep, err := g.keepID(ctx, current, mine.Until)
			if err != nil {
				return "", err
			}
			if keep == current {
				return current.ID, nil
			}
			if keep != (Creation{}) {
				write = keep
			}
		} else if current.Until > g.Now() {
			if err := g.claim(ctx, current.ID, r); err != nil {
				return "", err
			}
		}
		replace = &current
		if current == (Creation{}) {
			replace = nil // the row to be replaced has expired meanwhile
		}
	}
	return "", fault.Contendedf("other requests use this idempotencyKey at the same time; try again")
}

// keepID returns the row with which the next attempt of a creation keeps the id that an earlier
// attempt has reserved. Once the creation has succeeded, that is the same row. Before, it is a row
// with a later Until, because a key is kept for a day from the attempt that succeeds. If the id is
// in use and its request row has expired, keepID returns the zero Creation: the attempt is a new
// request then.
func (g *Engine) keepID(ctx context.Context, reserved Creation, until clock.Instant) (Creation, error) {
	p, err := g.partition(ctx, reserved.ID, &reserved.Key)
	switch {
	case err != nil:
		return Creation{}, err
	case !p.State.Used() && reserved.Until.Add(renewAfter) < until:
		reserved.Until = until
	case !p.State.Used():
	case p.Request == nil || p.Request.Until <= g.Now():
		return Creation{}, nil
	}
	return reserved, nil
}

// claim makes sure that no other input with the request's key creates an id. It returns
// IDEMPOTENCY_MISMATCH if one already has. An id that is otherwise in use is not claimed:
// it cannot be created again.
func (g *Engine) claim(ctx context.Context, globalID string, r *Request) error {
	_, _, err := g.Decide(ctx, g.NewBudget(), globalID, func(ctx context.Context) (*Attempt, error) {
		p, err := g.partition(ctx, globalID, &r.Key)
		switch {
		case err != nil:
			return nil, err
		case p.Request != nil && p.Request.Until > g.Now() && !p.Request.Claims():
			return nil, idempotencyMismatch()
		case p.State.Used():
			return Nothing, nil
		}
		return p.Claim(r.Row(g.Now(), claimAnswer)), nil
	})
	if err != nil && fault.ReasonOf(err) == fault.ReasonOutcomeUnknown {
		return fault.Unavailablef(errors.Unwrap(err), "the store did not answer; nothing was created, try again")
	}
	return err
}
