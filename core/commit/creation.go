package commit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/id"
)

// A keyed creation has its id fixed before it runs, in a row per caller and key.
// An attempt that was refused gives its key free: another input may replace the
// row. The earlier attempt may still be running then, so its id is claimed
// first: a row in the partition of that id, under the same key and with the hash
// of the new input, written by compare-and-set. A creation is refused by the
// claim of another input (IDEMPOTENCY_MISMATCH), and a claim is refused by a
// creation. So of two inputs at the same time one creates at most.

// creationKept is how long the id fixed for a keyed creation is kept, from the
// start of an attempt. It exceeds requestKept, which is counted from the commit,
// by what an attempt may take and by the skew of the gateways' clocks.
const creationKept = requestKept + time.Minute

// maxFixes bounds how often a creation replaces a row that refused attempts
// with the same key left behind, while others do the same.
const maxFixes = 8

// Partition is what the creation of an id has to know of its partition.
type Partition struct {
	State   State
	Request *RequestRow // of the key asked for; nil where there is none
	// Claim returns the attempt that makes a void state with a request row, on the
	// state that was read.
	Claim func(row *RequestRow) *Attempt
}

// ReadPartition reads the partition of an id, with the request row of a key.
type ReadPartition func(ctx context.Context, globalID string, key *RequestKey) (*Partition, error)

// Creates says how the partitions of ids of a kind are read. Each domain calls it
// for what it creates, because a key may come again for something of another domain.
func (g *Engine) Creates(kind id.Kind, read ReadPartition) { g.partitions[kind] = read }

// partition reads the partition of an id of any domain.
func (g *Engine) partition(ctx context.Context, globalID string, key *RequestKey) (*Partition, error) {
	read := g.partitions[id.KindOf(globalID)]
	if read == nil {
		return nil, fmt.Errorf("the id %q fixed for a creation is of no known kind", globalID)
	}
	p, err := read(ctx, globalID, key)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", globalID, err)
	}
	return p, nil
}

// PutCreationIfAbsent gives a keyed creation its id before it runs, so that a repetition
// runs under the same id and finds the first outcome there. fresh makes an id.
func (g *Engine) PutCreationIfAbsent(ctx context.Context, r *Request, fresh func() (string, error)) (string, error) {
	globalID, err := fresh()
	if err != nil {
		return "", err
	}
	mine := Creation{Key: r.Key, InputHash: r.Hash, ID: globalID, Until: g.Now().Add(creationKept)}
	write := mine
	var replace *Creation
	for range maxFixes {
		stands, err := g.registers.PutCreationIfAbsent(ctx, write, replace)
		if err != nil {
			// Whether the row was written does not matter: it promises nothing,
			// and a repetition finds it.
			return "", fault.Unavailablef(err, "the store did not answer; nothing was created, try again")
		}
		if stands == write {
			return write.ID, nil
		}
		write = mine
		if stands.Until > g.Now() && stands.InputHash == r.Hash {
			keep, err := g.keepID(ctx, stands, mine.Until)
			if err != nil {
				return "", err
			}
			if keep == stands {
				return stands.ID, nil
			}
			if keep != (Creation{}) {
				write = keep
			}
		} else if stands.Until > g.Now() {
			if err := g.claim(ctx, stands.ID, r); err != nil {
				return "", err
			}
		}
		replace = &stands
		if stands == (Creation{}) {
			replace = nil // what was to be replaced has been forgotten meanwhile
		}
	}
	return "", &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonContention, RetryAfter: 1,
		Msg: "other requests use this idempotencyKey at the same time; try again"}
}

// keepID returns the row by which the next attempt of a creation keeps the id
// that an earlier one has fixed: the same row once the creation has succeeded, and
// one that is kept until a later time before that, because the day of a key is
// counted from the attempt that succeeds. It returns the zero Creation where the
// id is in use and its request row has expired: the attempt is a new request then.
func (g *Engine) keepID(ctx context.Context, fixed Creation, until clock.Instant) (Creation, error) {
	p, err := g.partition(ctx, fixed.ID, &fixed.Key)
	switch {
	case err != nil:
		return Creation{}, err
	case !p.State.Used():
		fixed.Until = max(fixed.Until, until)
	case p.Request == nil || p.Request.Until <= g.Now():
		return Creation{}, nil
	}
	return fixed, nil
}

// claim makes sure that no other input of the request's key creates an id. It is
// IDEMPOTENCY_MISMATCH where one has. An id that exists otherwise is not claimed:
// it can be created no more.
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
