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
	// maxTries is how many times Take tries while others change the same claim.
	maxTries = 8
	// maxReissues is how many times a write is sent while its outcome is unknown.
	maxReissues = 5
	// maxFences is how many times Take tries to exclude the record that has a claim.
	maxFences = 5

	pauseAtLeast = 5 * time.Millisecond
	pauseAtMost  = 80 * time.Millisecond
)

// TakenWithin is how long a record has to commit a key that it has claimed before
// others may take it.
const TakenWithin = 30 * time.Second

// ErrTaken is returned by Take if another record holds the key or may be about to take it.
var ErrTaken = errors.New("the key is taken")

// Claims takes and releases keys. It is safe for concurrent use.
type Claims struct {
	store   Store
	rt      sched.Runtime
	records Records
}

// Records say how to read and fence records, by the letter with which their ids begin.
type Records map[byte]Record

// New returns the Claims of the keys that records may have.
func New(store Store, rt sched.Runtime, records Records) *Claims {
	return &Claims{store: store, rt: rt, records: records}
}

func (c *Claims) now() clock.Instant { return clock.Of(c.rt.Now()) }

// Until returns when a claim that is taken now lapses, unless its record commits before.
func (c *Claims) Until() clock.Instant { return c.now().Add(TakenWithin) }

// Take makes the claim of a key point to record, or renews it if it already does. A caller whose
// record decides by compare-and-set must have read the state that it will replace before it calls
// Take; to try again, it must read the state and call Take again. A concurrent Take for another
// record relies on this order: the fence that it writes makes every compare-and-set that was
// planned before it fail.
//
// Errors: ErrTaken; CONTENTION if others keep changing the claim; those of the store.
// None of them is uncertain: a claim changes nothing by itself.
func (c *Claims) Take(ctx context.Context, k Key, record string, until clock.Instant) error {
	_, err := c.TakeNumbered(ctx, k, record, until, int64(c.now()))
	return err
}

// TakeNumbered is Take with a number for the claim, which is returned. It is at least least, and
// larger than the number of the former claim and the Number of the record that had it.
func (c *Claims) TakeNumbered(ctx context.Context, k Key, record string, until clock.Instant, minimum int64) (number int64, err error) {
	number, err = c.take(ctx, Claim{Key: k, Record: record, Until: until}, minimum)
	if fault.MayHaveCommitted(err) {
		return 0, fault.Unavailablef(errors.New(err.Error()), "the store did not answer; nothing was changed, try again")
	}
	return number, err
}

func (c *Claims) take(ctx context.Context, mine Claim, number int64) (int64, error) {
	var current Claim
	for n := range maxTries {
		if n > 1 {
			if err := c.pause(ctx); err != nil {
				return 0, err
			}
		}
		var replace *Token
		if current != (Claim{}) {
			if current.Record != mine.Record {
				former, err := c.exclude(ctx, current)
				if err != nil {
					return 0, err
				}
				number = max(number, former+1)
			}
			replace, number = &current.Token, max(number, current.Token.Number()+1)
		}
		mine.Token = c.newToken(number)
		var err error
		if current, err = c.put(ctx, mine, replace); err != nil || current == mine {
			return number, err
		}
	}
	return 0, contention()
}

// put stores a claim, repeating the write while its outcome is unknown.
func (c *Claims) put(ctx context.Context, mine Claim, replace *Token) (current Claim, err error) {
	if replace != nil {
		token := *replace // replace points into a variable that the calls below overwrite
		replace = &token
	}
	err = c.retry(ctx, func() error {
		current, err = c.store.PutClaim(ctx, mine, replace)
		return err
	})
	return current, err
}

// retry repeats an idempotent write while its outcome is unknown.
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

// exclude makes sure that the record of a claim neither holds the key nor can take it by a
// pending change. If it returns nil, the claim may be replaced or removed as long as it has
// its token. number is the Number of the record then. The error is ErrTaken if the record holds the
// key or may be about to take it.
func (c *Claims) exclude(ctx context.Context, current Claim) (number int64, err error) {
	record, err := c.recordOf(current.Record)
	if err != nil {
		return 0, err
	}
	for range maxFences {
		look, err := record.Look(ctx, current.Record, current.Key)
		if err != nil {
			return 0, fmt.Errorf("reading %s: %w", current.Record, err)
		}
		var applied bool
		switch {
		case look.Status == Ended:
			return look.Number, nil
		case look.Status == Held, look.Status == Idle && current.Until > c.now():
			return 0, ErrTaken
		case look.Status == Lapsed:
			err = record.End(ctx, current.Record)
		default:
			applied, err = record.Fence(ctx, current.Record, look.Base)
		}
		switch {
		case err != nil && !fault.MayHaveCommitted(err):
			return 0, fmt.Errorf("ending or fencing %s: %w", current.Record, err)
		case applied:
			return look.Number, nil
		case err == nil && look.Status == Idle:
			return c.excludedByChange(ctx, record, current)
		}
		if err := c.pause(ctx); err != nil {
			return 0, err
		}
	}
	return 0, contention()
}

// excludedByChange checks a record that was not fenced because it has changed meanwhile. Like a
// fence, the change excludes every change based on the former state; but it may itself have
// taken the key.
func (c *Claims) excludedByChange(ctx context.Context, record Record, current Claim) (number int64, err error) {
	look, err := record.Look(ctx, current.Record, current.Key)
	switch {
	case err != nil:
		return 0, fmt.Errorf("reading %s: %w", current.Record, err)
	case look.Status == Held, look.Status == Lapsed:
		return 0, ErrTaken
	}
	return look.Number, nil
}

// Release removes a claim of any owner if its record does not hold the key. It reports
// whether the claim was removed: it stays if its record holds the key or may be about to
// take it.
func (c *Claims) Release(ctx context.Context, current Claim) (bool, error) {
	switch _, err := c.exclude(ctx, current); {
	case errors.Is(err, ErrTaken):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, c.Drop(ctx, current.Key, current.Record, &current.Token)
}

// Candidate returns the record that the claim of a key points to, or "" if the key has no
// claim. The caller checks whether the record holds the key.
func (c *Claims) Candidate(ctx context.Context, k Key) (string, error) {
	current, err := c.store.ReadClaim(ctx, k, false)
	return current.Record, err
}

// Stale reports whether a claim has lapsed, its number need not be remembered any more, and its record
// does not hold the key.
func (c *Claims) Stale(ctx context.Context, current Claim) (bool, error) {
	if now := c.now(); current.Until > now || current.remembered(now) {
		return false, nil
	}
	holder, err := c.Holder(ctx, current.Key)
	return err == nil && holder == "", err
}

// Scan lists claims after a key. The zero Key comes before all others.
func (c *Claims) Scan(ctx context.Context, after Key, limit int) ([]Claim, error) {
	return c.store.ScanClaims(ctx, after, limit)
}

// Holder returns the record that holds a key, or "" if none does.
func (c *Claims) Holder(ctx context.Context, k Key) (string, error) {
	record, look, err := c.Look(ctx, k)
	if err != nil || look.Status != Held && look.Status != Lapsed {
		return "", err
	}
	return record, nil
}

// Look returns the record that the claim of a key points to, as it is now. It is "" and Ended if the
// key has no claim.
func (c *Claims) Look(ctx context.Context, k Key) (string, Look, error) {
	current, err := c.store.ReadClaim(ctx, k, true)
	if err != nil || current == (Claim{}) {
		return "", Look{Status: Ended}, err
	}
	record, err := c.recordOf(current.Record)
	if err != nil {
		return "", Look{}, err
	}
	look, err := record.Look(ctx, current.Record, k)
	if err != nil {
		return "", Look{}, fmt.Errorf("reading %s: %w", current.Record, err)
	}
	return current.Record, look, nil
}

// Taken reports whether Take would find the key taken by another record than the given one. It
// changes nothing.
func (c *Claims) Taken(ctx context.Context, k Key, record string) (bool, error) {
	current, err := c.store.ReadClaim(ctx, k, true)
	if err != nil || current == (Claim{}) || current.Record == record {
		return false, err
	}
	owner, err := c.recordOf(current.Record)
	if err != nil {
		return false, err
	}
	look, err := owner.Look(ctx, current.Record, k)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", current.Record, err)
	}
	return look.Status == Held || look.Status == Idle && current.Until > c.now(), nil
}

func (c *Claims) newToken(number int64) (t Token) {
	binary.BigEndian.PutUint64(t[:8], uint64(number))
	c.rt.Random(t[8:])
	return t
}

// pause waits for 5 to 80 ms at random, so that colliding attempts do not collide again.
func (c *Claims) pause(ctx context.Context) error {
	var b [8]byte
	c.rt.Random(b[:])
	spread := uint64(pauseAtMost - pauseAtLeast)
	return c.rt.After(ctx, pauseAtLeast+time.Duration(binary.LittleEndian.Uint64(b[:])%spread))
}

func contention() *fault.Error {
	return &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonContention, RetryAfter: 1,
		Msg: "too many requests for this name at the same time; try again"}
}
