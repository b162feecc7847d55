package lease

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/principal"
)

const (
	// claimsAtOnce is how many keys of a lease are claimed or released concurrently. It is the
	// maximum number of keys, so that a lease always takes one round trip. The store limits its own
	// concurrent statements.
	claimsAtOnce = MaxDocuments
	// provisionalTTL is how long a lease lasts at most until it has all its keys. Then it gets its
	// full time. So if the gateway dies before, the keys are free after provisionalTTL.
	provisionalTTL = 30 * time.Second
	// claimWithin is how long the claims of a lease may take.
	claimWithin = 10 * time.Second
	// endWithin is how long ending a lease in the background may take.
	endWithin = 5 * time.Second
)

// Acquired is the outcome of Acquire.
type Acquired struct {
	Lease *Lease
	// Token authorizes callers to confirm, cancel and read the lease. It is returned only
	// once, and is empty for a repetition.
	Token string
}

// Collision is the cause of Acquire's error if keys are taken.
type Collision struct {
	Keys []string // all taken keys, in the order of the input
}

// Error returns the number of keys. The keys themselves must not be logged.
func (c *Collision) Error() string { return fmt.Sprintf("%d keys are taken", len(c.Keys)) }

// CollidingKeys returns the keys that an error of Acquire names as taken.
func CollidingKeys(err error) []string {
	var c *Collision
	if errors.As(err, &c) {
		return c.Keys
	}
	return nil
}

// Acquire takes all keys for a time, or none of them.
//
// Errors: UNAUTHENTICATED; FORBIDDEN if the viewer's user does not exist; the faults of the
// input; TAKEN, with a Collision as its cause; CONTENTION if others keep requesting the same
// keys; those of the store. After an error the keys are free again, at the latest after
// provisionalTTL if the store fails meanwhile.
func (s *Service) Acquire(ctx context.Context, v *principal.Viewer, in Acquire) (*Acquired, error) {
	defer v.Forget()
	m, err := s.people.BeginAsUser(ctx, v, commit.Call{Name: "acquireLease", Input: &in, Key: &in.IdempotencyKey, Faults: in.check()})
	if err != nil {
		return nil, err
	}
	var id ID
	err = s.Early(ctx, m.Budget, func(ctx context.Context) error {
		if m.Request == nil {
			id = s.newID()
			return nil
		}
		fixed, err := s.PutCreationIfAbsent(ctx, m.Request, func() (string, error) { return string(s.newID()), nil })
		id = ID(fixed)
		return err
	})
	if err != nil {
		return nil, err
	}
	token := s.newToken()
	l, repeated, err := s.create(ctx, m, id, v.User, &in, token)
	switch {
	case err != nil:
		return nil, err
	case repeated:
		return s.repetition(ctx, l, &in)
	}
	l, err = s.takeKeys(ctx, l, in.endsAt(l))
	if err != nil {
		return nil, err
	}
	return &Acquired{Lease: l, Token: token}, nil
}

// endsAt returns the deadline of a lease of this input once it has its full time.
func (in *Acquire) endsAt(l *Lease) clock.Instant { return l.CreatedAt.Add(in.ttl()) }

// create stores a new lease that lasts at most provisionalTTL. repeated reports that l is
// the lease that the same request has created before.
func (s *Service) create(ctx context.Context, m commit.Mutation, id ID, owner principal.ID, in *Acquire, token string) (l *Lease, repeated bool, err error) {
	_, _, err = s.Decide(ctx, m.Budget, string(id), func(ctx context.Context) (*commit.Attempt, error) {
		before, err := s.read(ctx, id)
		if err != nil {
			return nil, err
		}
		if before != nil {
			if repeated, err = m.Request.Answered(before.Request, s.Now()); err != nil {
				return nil, err
			}
			if l = before; !repeated {
				return nil, underWay() // it was refused meanwhile; the next repetition creates another lease
			}
			return commit.Nothing, nil
		}
		now := s.Now()
		l = &Lease{
			ID: id, Seq: 1, State: Pending, Token: sha256.Sum256([]byte(token)), Owner: owner, CreatedAt: now, Deadline: now.Add(min(in.ttl(), provisionalTTL)),
			Documents: in.Documents, Request: m.Request.Row(now, nil),
		}
		if err := s.putDue(ctx, l, l.Deadline); err != nil {
			return nil, fault.Unavailablef(err, "the store did not take the lease; nothing was changed, try again")
		}
		return s.write(l), nil
	})
	return l, repeated, err
}

// underWay returns the error for a repetition of a request whose first attempt has not ended.
func underWay() *fault.Error {
	return &fault.Error{Code: fault.Unavailable, RetryAfter: 1,
		Msg: "the first attempt of this request is still running, or was interrupted; try again"}
}

// repetition returns the current state of the lease that the same request has created
// before. The first attempt has not ended while the lease lacks a key or its full time.
func (s *Service) repetition(ctx context.Context, l *Lease, in *Acquire) (*Acquired, error) {
	l, err := s.expireIfOverdue(ctx, l)
	if err != nil {
		return nil, err
	}
	if l.State == Pending {
		if l.Deadline < in.endsAt(l) {
			return nil, underWay()
		}
		for _, key := range l.keys() {
			holder, err := s.claims.Candidate(ctx, claim.Leased(key))
			if err != nil {
				return nil, err
			}
			if holder != string(l.ID) {
				return nil, underWay()
			}
		}
	}
	return &Acquired{Lease: l}, nil
}

// takeKeys claims all keys of a new lease, and then extends it to its full time. If either
// fails, the lease ends.
func (s *Service) takeKeys(ctx context.Context, l *Lease, whole clock.Instant) (*Lease, error) {
	err := s.claimKeys(ctx, l)
	if err == nil && l.overdue(s.Now()) {
		err = tooLate()
	}
	extended := l
	if err == nil && l.Deadline < whole {
		extended, err = s.extend(ctx, l, whole)
	}
	if err == nil {
		return extended, nil
	}
	firm, cancel := s.rt.Deadline(s.rt.Detach(ctx), endWithin)
	defer cancel()
	failed := s.Retry(firm, func() error { return s.refuse(firm, l.ID) })
	switch {
	case failed != nil:
		// The caller gets the error of the keys even if the lease ends only at its deadline.
		s.log.WarnContext(ctx, "a refused lease could not be ended and holds its keys until its deadline", "lease", l.ID, "error", failed)
	case fault.MayHaveCommitted(err):
		return nil, fault.Unavailablef(errors.New(err.Error()), "the store did not answer; no key was leased, try again")
	}
	return nil, err
}

// extend extends a lease that has its keys to its full time. Nobody knows its token yet, so nothing
// but its expiry can have changed it, and a second attempt would be useless.
func (s *Service) extend(ctx context.Context, l *Lease, whole clock.Instant) (*Lease, error) {
	after := *l
	after.Seq, after.Deadline = l.Seq+1, whole
	tried := false
	_, _, err := s.Decide(ctx, s.NewBudget(), string(l.ID), func(ctx context.Context) (*commit.Attempt, error) {
		if tried {
			return nil, tooLate()
		}
		tried = true
		if err := s.putDue(ctx, &after, whole); err != nil {
			return nil, fault.Unavailablef(err, "the store did not take the lease; no key was leased, try again")
		}
		return s.write(&after), nil
	})
	return &after, err
}

// tooLate returns the error of Acquire if the lease has expired before it had its keys.
func tooLate() *fault.Error {
	return fault.Unavailablef(nil, "the keys could not be taken in time; none was leased, try again")
}

// refuse ends a lease whose owner does not get the keys.
func (s *Service) refuse(ctx context.Context, id ID) error {
	_, err := s.change(ctx, id, func(before *Lease) (*Lease, error) {
		if before.State != Pending {
			return before, nil
		}
		return before.ended(Refused), nil
	})
	return err
}

// claimKeys makes the claims of all keys point to a lease. It tries each key, even if others
// fail. Its error is that of the store, CONTENTION, or TAKEN with all keys that are taken.
func (s *Service) claimKeys(ctx context.Context, l *Lease) error {
	bounded, cancel := s.rt.Deadline(ctx, claimWithin)
	defer cancel()
	keys := l.keys()
	taken := make([]bool, len(keys))
	err := sched.ForEach(bounded, s.rt, len(keys), claimsAtOnce, func(i int) error {
		err := s.claims.Take(bounded, claim.Leased(keys[i]), string(l.ID), l.Deadline)
		if errors.Is(err, claim.ErrTaken) {
			taken[i], err = true, nil
		}
		return err
	})
	if err != nil {
		return commit.Late(ctx, fmt.Errorf("taking the keys of a lease: %w", err))
	}
	var colliding []string
	for i, key := range keys {
		if taken[i] {
			colliding = append(colliding, key)
		}
	}
	if len(colliding) == 0 {
		return nil
	}
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonTaken, Path: []string{"documents"}, Err: &Collision{colliding},
		Msg: "some keys are taken (see collidingKeys); none was leased"}
}

// newID returns the id of a new lease.
func (s *Service) newID() ID {
	var b [16]byte
	s.rt.Random(b[:])
	return ID("l:" + hex.EncodeToString(b[:]))
}

// A token has 128 random bits, and tokenLength characters.
const (
	tokenBytes  = 16
	tokenLength = (tokenBytes*8 + 5) / 6
)

// newToken returns a new token.
func (s *Service) newToken() string {
	var b [tokenBytes]byte
	s.rt.Random(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
