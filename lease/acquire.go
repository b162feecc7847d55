package lease

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
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
	// claimTimeout is how long the claims of a lease may take.
	claimTimeout = 10 * time.Second
	// endTimeout is how long ending a lease in the background may take.
	endTimeout = 5 * time.Second
	// endEvery is the pause between attempts to end a lease whose creation failed.
	endEvery = 2 * time.Second
	// firstTimeout is how long a repetition waits for the first attempt of its request.
	firstTimeout = 10 * time.Second
	// turnTimeout is how long an attempt waits at least for others of this process that want the same
	// keys, and turnQueue how many may wait for one key.
	turnTimeout = 5 * time.Second
	turnQueue   = 256
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

// Acquire takes all keys for a time, or none of them. It waits for keys that others hold, but not for
// those that they hold permanently.
//
// Errors: UNAUTHENTICATED; FORBIDDEN if the viewer's user does not exist; the faults of the
// input; TAKEN, with a Collision as its cause; TOO_MANY if the user would hold too many keys; CONTENTION if others keep requesting the same
// keys; those of the store. After an error the keys are free again, at the latest after
// provisionalTTL if the store fails meanwhile.
func (s *Service) Acquire(ctx context.Context, v *principal.Viewer, in Acquire) (*Acquired, error) {
	defer v.Forget()
	m, err := s.people.BeginAsUser(ctx, v, commit.Call{Name: "acquireLease", Input: &in, Key: &in.IdempotencyKey, Faults: in.check()})
	if err != nil {
		return nil, err
	}
	began, limit := s.rt.Elapsed(), pauseAtMost
	turn := in.wait()
	if m.Request != nil {
		turn = max(turn, firstTimeout) // the first attempt may be among those
	}
	for {
		got, err := s.acquireInTurn(ctx, m, v.User, &in, began+turn)
		within, busy := in.wait(), CollidingKeys(err)
		underWay := errors.Is(err, errUnderWay)
		if underWay {
			within = firstTimeout
		}
		again := underWay || busy != nil || fault.ReasonOf(err) == fault.ReasonContention
		rest := began + within - s.rt.Elapsed()
		if !again || rest <= 0 {
			return got, err
		}
		if err := s.pauseUpTo(ctx, min(limit, rest)); err != nil {
			return nil, err
		}
		limit = min(2*limit, longestPause)
		if permanent, failed := s.awaitKeys(ctx, v.User.Tenant(), busy, began+within); permanent || failed != nil {
			return nil, cmp.Or(failed, err)
		}
	}
}

// acquireInTurn makes one attempt at a lease, unless a key is busy when its turn comes. Attempts of this
// process that have a key in common run one after the other. Otherwise each could take some of the keys
// of the others, and all would fail. It waits for turnTimeout, or until a time on the monotonic clock if
// that is later.
func (s *Service) acquireInTurn(ctx context.Context, m commit.Mutation, owner principal.ID, in *Acquire,
	until time.Duration) (*Acquired, error) {
	turn, cancel := s.rt.Deadline(ctx, max(turnTimeout, until-s.rt.Elapsed()))
	defer cancel()
	names := make([]string, len(in.Documents))
	for i, d := range in.Documents {
		names[i] = "key " + owner.Tenant() + ":" + d.Key
	}
	slices.Sort(names)
	for _, name := range names { // all in the same order, so that none waits for another in a circle
		unlock, err := s.rt.Lock(turn, name, turnQueue)
		switch {
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			return nil, contention()
		case err != nil:
			return nil, err
		}
		defer unlock()
	}
	m.Budget = s.engine.NewBudget()
	return s.attempt(ctx, m, owner, in)
}

// attempt makes one attempt at a lease.
func (s *Service) attempt(ctx context.Context, m commit.Mutation, owner principal.ID, in *Acquire) (*Acquired, error) {
	var id ID
	err := s.engine.WithBudget(ctx, m.Budget, func(ctx context.Context) error {
		if m.Request == nil {
			id = s.newID()
			return nil
		}
		fixed, err := s.engine.PutCreationIfAbsent(ctx, m.Request, func() (string, error) { return string(s.newID()), nil })
		id = ID(fixed)
		return err
	})
	if err != nil {
		return nil, err
	}
	token := s.newToken()
	l, repeated, err := s.create(ctx, m, id, owner, in, token)
	switch {
	case err != nil:
		return nil, err
	case repeated:
		return s.repetition(ctx, l, in)
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
func (s *Service) create(ctx context.Context, m commit.Mutation, id ID, owner principal.ID, in *Acquire,
	token string) (l *Lease, repeated bool, err error) {
	_, _, err = s.engine.Decide(ctx, m.Budget, string(id), func(ctx context.Context) (*commit.Attempt, error) {
		before, err := s.read(ctx, id)
		if err != nil {
			return nil, err
		}
		if before != nil {
			if repeated, err = m.Request.Answered(before.Request, s.engine.Now()); err != nil {
				return nil, err
			}
			if l = before; !repeated {
				return nil, errUnderWay // it was refused meanwhile; the next attempt creates another lease
			}
			return commit.Nothing, nil
		}
		now := s.engine.Now()
		l = &Lease{
			ID: id, Seq: 1, State: Pending, Token: sha256.Sum256([]byte(token)), Owner: owner, CreatedAt: now,
			Deadline: now.Add(min(in.ttl(), provisionalTTL)),
			Fence:    int64(s.engine.StoreNow()), Documents: in.Documents, Request: m.Request.Row(now, nil),
		}
		if err := s.putReminder(ctx, l, l.releaseAt()); err != nil {
			return nil, fault.Unavailablef(err, "the store did not take the lease; nothing was changed, try again")
		}
		return s.write(l), nil
	})
	return l, repeated, err
}

// errUnderWay is the error of a repetition of a request whose first attempt has not ended.
var errUnderWay = &fault.Error{Code: fault.Unavailable, RetryAfter: 1,
	Msg: "the first attempt of this request is still running, or was interrupted; try again"}

// repetition returns the current state of the lease that the same request has created
// before. The first attempt has not ended while the lease lacks a key or its full time.
func (s *Service) repetition(ctx context.Context, l *Lease, in *Acquire) (*Acquired, error) {
	l, err := s.expireIfOverdue(ctx, l)
	if err != nil {
		return nil, err
	}
	if l.State == Pending {
		if l.Deadline < in.endsAt(l) {
			return nil, errUnderWay
		}
		for _, key := range l.keys() {
			holder, err := s.claims.Candidate(ctx, key)
			if err != nil {
				return nil, err
			}
			if holder != string(l.ID) {
				return nil, errUnderWay
			}
		}
	}
	return &Acquired{Lease: l}, nil
}

// takeKeys claims all keys of a new lease, puts it on the list of its owner, and then extends it to its
// full time. If any of these fails, the lease ends.
func (s *Service) takeKeys(ctx context.Context, l *Lease, whole clock.Instant) (*Lease, error) {
	fence, err := s.claimKeys(ctx, l)
	if err == nil {
		err = s.enlist(ctx, l, whole, "documents")
	}
	if err == nil && l.overdue(s.engine.Now()) {
		err = tooLate()
	}
	extended := l
	if err == nil && (l.Deadline < whole || l.Fence < fence) {
		extended, err = s.extend(ctx, l, whole, fence)
	}
	if err == nil {
		return extended, nil
	}
	firm, cancel := s.rt.Deadline(s.rt.Detach(ctx), endTimeout)
	defer cancel()
	failed := s.engine.Retry(firm, func() error { return s.refuse(firm, l.ID) })
	switch {
	case failed != nil:
		// The caller gets the error of the keys even if the lease ends later.
		s.log.WarnContext(ctx, "a refused lease could not be ended yet and may hold its keys", "lease", l.ID, "error", failed)
		s.refuseLater(ctx, l.ID, whole)
	case fault.MayHaveCommitted(err):
		return nil, fault.Unavailablef(errors.New(err.Error()), "the store did not answer; no key was leased, try again")
	}
	return nil, err
}

// refuseLater ends a lease whose creation failed while the store does not answer: the extension to its
// full time may have been applied, and nobody has its token. It gives up when the time is over, or this
// process ends.
func (s *Service) refuseLater(ctx context.Context, id ID, whole clock.Instant) {
	ctx = s.rt.Detach(ctx)
	s.rt.Go(func() {
		for s.engine.Now() < whole && s.engine.Pause(ctx, endEvery) == nil {
			bounded, cancel := s.rt.Deadline(ctx, endTimeout)
			err := s.refuse(bounded, id)
			cancel()
			if err == nil {
				return
			}
		}
	})
}

// extend extends a lease that has its keys to its full time, with its fencing number. Nobody knows its token yet, so nothing
// but its expiry can have changed it, and a second attempt would be useless.
func (s *Service) extend(ctx context.Context, l *Lease, whole clock.Instant, fence int64) (*Lease, error) {
	after := *l
	after.Seq, after.Deadline, after.Fence = l.Seq+1, whole, fence
	tried := false
	_, _, err := s.engine.Decide(ctx, s.engine.NewBudget(), string(l.ID), func(ctx context.Context) (*commit.Attempt, error) {
		if tried {
			return nil, tooLate()
		}
		tried = true
		if err := s.putReminder(ctx, &after, after.releaseAt()); err != nil {
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

// claimKeys makes the claims of all keys point to a lease, and returns its fencing number. It tries each
// key, even if others fail. Its error is that of the store, CONTENTION, or TAKEN with all keys that are
// taken.
func (s *Service) claimKeys(ctx context.Context, l *Lease) (fence int64, err error) {
	bounded, cancel := s.rt.Deadline(ctx, claimTimeout)
	defer cancel()
	keys := l.keys()
	taken, numbers := make([]bool, len(keys)), make([]int64, len(keys))
	err = sched.ForEach(bounded, s.rt, len(keys), claimsAtOnce, func(i int) (err error) {
		numbers[i], err = s.claims.TakeNumbered(bounded, keys[i], string(l.ID), l.Deadline, l.Fence)
		if errors.Is(err, claim.ErrTaken) {
			taken[i], err = true, nil
		}
		return err
	})
	if err != nil {
		return 0, commit.TimeoutToUnavailable(ctx, fmt.Errorf("taking the keys of a lease: %w", err))
	}
	var colliding []string
	for i, d := range l.Documents {
		if taken[i] {
			colliding = append(colliding, d.Key)
		}
	}
	if len(colliding) == 0 {
		return slices.Max(numbers), nil
	}
	return 0, &fault.Error{Code: fault.Conflict, Reason: fault.ReasonTaken, Path: []string{"documents"}, Err: &Collision{colliding},
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
