package claim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/sched"
)

const (
	// maxTries is how often an attempt begins again where others change the same claim.
	maxTries = 8
	// maxReissues is how often a write is sent whose outcome is unknown.
	maxReissues = 5
	// maxFences is how often a record is fenced again that changes all the time.
	maxFences = 5

	pauseAtLeast = 5 * time.Millisecond
	pauseAtMost  = 80 * time.Millisecond
)

// TakenWithin is how long a record has to commit a key that it has claimed before
// others may take it.
const TakenWithin = 30 * time.Second

// ErrTaken is the error of Take where another record holds the key, or is about to.
var ErrTaken = errors.New("the key is taken")

// Claims takes and releases keys. It is safe for concurrent use, but for Record, which
// is called before the first key is taken.
type Claims struct {
	store   Store
	rt      sched.Runtime
	records map[byte]Record
}

// New returns the Claims of a process.
func New(store Store, rt sched.Runtime) *Claims {
	return &Claims{store: store, rt: rt, records: map[byte]Record{}}
}

// Record says how the records whose ids begin with a letter are read and fenced.
func (c *Claims) Record(letter byte, r Record) { c.records[letter] = r }

func (c *Claims) now() clock.Instant { return clock.Of(c.rt.Now()) }

// Until is when a claim that is taken now lapses, unless its record commits before.
func (c *Claims) Until() clock.Instant { return c.now().Add(TakenWithin) }

// Take makes the claim of a key point to record, or renews it where it does already. A
// caller whose record decides by compare-and-set must have read the state that it will
// replace before it calls Take, and must read it and call Take again before it tries
// again: a contender relies on that to shut out a change that it does not see.
//
// Errors: ErrTaken; CONTENTION where others change the claim all the time; those of the
// store. None of them is uncertain: a claim changes nothing by itself.
func (c *Claims) Take(ctx context.Context, k Key, record string, until clock.Instant) error {
	err := c.take(ctx, k, record, until)
	if fault.MayHaveCommitted(err) {
		return fault.Unavailablef(errors.New(err.Error()), "the store did not answer; nothing was changed, try again")
	}
	return err
}

func (c *Claims) take(ctx context.Context, k Key, record string, until clock.Instant) error {
	mine := Claim{Key: k, Record: record, Until: until}
	var stands Claim
	for n := range maxTries {
		if n > 1 {
			if err := c.pause(ctx); err != nil {
				return err
			}
		}
		var over *Token
		if stands != (Claim{}) {
			if stands.Record != record {
				if err := c.makeWay(ctx, stands); err != nil {
					return err
				}
			}
			over = &stands.Token
		}
		mine.Token = c.newToken()
		var err error
		if stands, err = c.put(ctx, mine, over); err != nil || stands == mine {
			return err
		}
	}
	return contention()
}

// put stores a claim, and sends the same write again while its outcome is unknown.
func (c *Claims) put(ctx context.Context, mine Claim, over *Token) (stands Claim, err error) {
	if over != nil {
		token := *over // the caller's changes with what it points into
		over = &token
	}
	err = c.retry(ctx, func() error {
		stands, err = c.store.PutClaim(ctx, mine, over)
		return err
	})
	return stands, err
}

// insist repeats a write that may be repeated, while its outcome is unknown.
func (c *Claims) retry(ctx context.Context, write func() error) error {
	err := write()
	for n := 1; n < maxReissues && fault.MayHaveCommitted(err); n++ {
		if paused := c.pause(ctx); paused != nil {
			return err
		}
		err = write()
	}
	return err
}

// makeWay returns nil when the record that a claim points to does not hold the key and
// cannot take it any more by a change that is under way. The claim may be replaced then,
// or removed, while it has its token. The error is ErrTaken where the record holds the
// key, or may be about to take it.
func (c *Claims) makeWay(ctx context.Context, stands Claim) error {
	record, err := c.recordOf(stands.Record)
	if err != nil {
		return err
	}
	for range maxFences {
		look, err := record.Look(ctx, stands.Record, stands.Key)
		if err != nil {
			return fmt.Errorf("reading %s: %w", stands.Record, err)
		}
		var applied bool
		switch {
		case look.Status == Ended:
			return nil
		case look.Status == Held, look.Status == Idle && stands.Until > c.now():
			return ErrTaken
		case look.Status == Lapsed:
			err = record.End(ctx, stands.Record)
		default:
			applied, err = record.Fence(ctx, stands.Record, look.Base)
		}
		switch {
		case err != nil && !fault.MayHaveCommitted(err):
			return fmt.Errorf("ending or fencing %s: %w", stands.Record, err)
		case applied:
			return nil
		case err == nil && look.Status == Idle:
			return c.movedOn(ctx, record, stands)
		}
		if err := c.pause(ctx); err != nil {
			return err
		}
	}
	return contention()
}

// movedOn judges a record that was not fenced because it has changed meanwhile. That
// shuts out every change made of its former state, like a fence; but it may have taken
// the key by it.
func (c *Claims) movedOn(ctx context.Context, record Record, stands Claim) error {
	look, err := record.Look(ctx, stands.Record, stands.Key)
	switch {
	case err != nil:
		return fmt.Errorf("reading %s: %w", stands.Record, err)
	case look.Status == Held, look.Status == Lapsed:
		return ErrTaken
	}
	return nil
}

// Release removes a claim whose record does not hold its key, whoever it belongs to. It
// reports whether it is gone: a claim whose record holds the key stays, or may be about
// to take it.
func (c *Claims) Release(ctx context.Context, stands Claim) (bool, error) {
	switch err := c.makeWay(ctx, stands); {
	case errors.Is(err, ErrTaken):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, c.Drop(ctx, stands.Key, stands.Record, &stands.Token)
}

// Candidate returns the record that the claim of a key points to, and "" where the key has
// none. Whether the record holds the key is for the caller to see.
func (c *Claims) Candidate(ctx context.Context, k Key) (string, error) {
	stands, err := c.store.ReadClaim(ctx, k, false)
	return stands.Record, err
}

// Adopt makes the claim of a key point to a record that holds the key and may lack its
// claim: stores of earlier versions have none. It reports whether it has changed the claim.
// other is another record that holds the key too, which keeps its claim.
func (c *Claims) Adopt(ctx context.Context, k Key, record string) (changed bool, other string, err error) {
	stands, err := c.store.ReadClaim(ctx, k, false)
	if err != nil || stands.Record == record {
		return false, "", err
	}
	if stands != (Claim{}) {
		if other, err = c.Holder(ctx, k); err != nil || other == record {
			return false, "", err
		}
		if other != "" {
			return false, other, nil
		}
	}
	switch err := c.Take(ctx, k, record, c.now()); {
	case errors.Is(err, ErrTaken):
		return false, "", nil // another record is about to take it
	case err != nil:
		return false, "", err
	}
	return true, "", nil
}

// Stale reports whether a claim has lapsed and its record does not hold the key.
func (c *Claims) Stale(ctx context.Context, stands Claim) (bool, error) {
	if stands.Until > c.now() {
		return false, nil
	}
	holder, err := c.Holder(ctx, stands.Key)
	return err == nil && holder == "", err
}

// Scan lists claims after a key; the zero Key comes before all others.
func (c *Claims) Scan(ctx context.Context, after Key, limit int) ([]Claim, error) {
	return c.store.ScanClaims(ctx, after, limit)
}

// Holder returns the record that holds a key, and "" where none does.
func (c *Claims) Holder(ctx context.Context, k Key) (string, error) {
	stands, err := c.store.ReadClaim(ctx, k, true)
	if err != nil || stands == (Claim{}) {
		return "", err
	}
	record, err := c.recordOf(stands.Record)
	if err != nil {
		return "", err
	}
	look, err := record.Look(ctx, stands.Record, k)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", stands.Record, err)
	}
	if look.Status == Held || look.Status == Lapsed {
		return stands.Record, nil
	}
	return "", nil
}

func (c *Claims) newToken() (t Token) {
	c.rt.Random(t[:])
	return t
}

// pause waits 5 to 80 ms, so that attempts that collided part.
func (c *Claims) pause(ctx context.Context) error {
	var b [8]byte
	c.rt.Random(b[:])
	spread := uint64(pauseAtMost - pauseAtLeast)
	return c.rt.After(ctx, pauseAtLeast+time.Duration(binary.LittleEndian.Uint64(b[:])%spread))
}

func contention() *fault.Error {
	return &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonContention, RetryAfter: 1,
		Msg: "too many others want this name at the same time; try again"}
}
