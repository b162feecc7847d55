package commit

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/sched"
)

// Times and numbers of the write protocol (docs/write-protocol.md).
const (
	MaxTries       = 8                             // lost races before CONTENTION
	maxSends       = 10                            // of one compare-and-set whose outcome is unknown
	reissueTimeout = 8 * time.Second               // for resolving an unknown outcome
	answerWithin   = 15 * time.Second              // the deadline of a mutation, from its compare-and-set
	PrepareTimeout = 5 * time.Second               // for what comes before a compare-and-set is sent
	earlyTimeout   = 2 * time.Second               // for each read before that
	maxQueue       = 256                           // mutations of one item that wait in one process
	stoppedAfter   = PrepareTimeout + answerWithin // no mutation of a running process takes longer
	pauseAtLeast   = 5 * time.Millisecond
	pauseAtMost    = 80 * time.Millisecond
)

// Attempt is one try at a mutation: the writes that it plans.
type Attempt struct {
	// Entry, without its ID, is on the in-flight list while the change is pending, unless it is
	// not Recoverable.
	Entry Entry
	// Commit sends the compare-and-set. It is nil if nothing needs to be written.
	Commit func(ctx context.Context, id EntryID) (Verdict, error)
	// Until is when the state that the attempt is based on expires; 0: never. From then on Commit is not
	// sent, and the mutation tries again on what is there then.
	Until clock.Instant
	// Withdraws reports that the change only frees space or withdraws access. It is made even if the
	// store has no room for others.
	Withdraws bool
	// Restore writes again what Commit refers to, if others remove that after a while. It is called if
	// Commit may have been applied by a process that was stopped meanwhile. It is nil if Commit refers to
	// nothing of that kind. What an attempt refers to must have been written since its mutation began.
	Restore func(ctx context.Context) error
}

// Nothing is the attempt of a mutation that succeeds without a write.
var Nothing = &Attempt{}

// NewEntryID returns an id for an entry or a fence.
func (g *Engine) NewEntryID() (id EntryID) {
	g.rt.Random(id[:])
	return id
}

// Decide runs try (read, authorize, validate, plan) and its compare-and-set
// in the partition's queue. It makes the in-flight entry durable first, resolves
// unknown outcomes and retries after lost races. It returns the id of the change
// that was applied; ok is false if nothing needed to change.
//
// Errors: those of try; Unavailable if no compare-and-set was sent, also if the store has no room;
// CONTENTION; OUTCOME_UNKNOWN, in which case background work finds the outcome.
func (g *Engine) Decide(ctx context.Context, b Budget, partition string, try func(ctx context.Context) (*Attempt, error)) (id EntryID,
	ok bool, err error) {
	early, cancel := g.Within(ctx, b, PrepareTimeout)
	defer cancel()
	unlock, err := g.rt.Lock(early, partition, maxQueue)
	if err != nil {
		return EntryID{}, false, TimeoutToUnavailable(ctx, err)
	}
	defer unlock()
	began := sched.Present(g.rt)
	for n := 0; n < MaxTries; n++ {
		if n > 0 {
			if err := g.rt.After(early, g.jitter()); err != nil {
				return EntryID{}, false, TimeoutToUnavailable(ctx, err)
			}
		}
		if err := g.RequireClock(); err != nil {
			return EntryID{}, false, err
		}
		a, err := try(early)
		if err != nil {
			return EntryID{}, false, TimeoutToUnavailable(ctx, err)
		}
		if a.Commit == nil {
			return EntryID{}, false, nil
		}
		a.Entry.ID = g.NewEntryID()
		applied, err := g.attempt(ctx, early, began, a)
		if err != nil {
			return EntryID{}, false, TimeoutToUnavailable(ctx, err)
		}
		if applied {
			return a.Entry.ID, true, nil
		}
	}
	return EntryID{}, false, fault.Contendedf("too many changes of this at the same time; try again")
}

// OutcomeUnknown returns the error of a change that may have been made, or that has
// been made but is not visible everywhere yet.
func OutcomeUnknown(err error) *fault.Error {
	return &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonOutcomeUnknown, Err: err,
		Msg: "whether the change was made is not known yet; look before you repeat it, or repeat it with the same idempotencyKey"}
}

// TimeoutToUnavailable converts the end of a deadline set by this package to UNAVAILABLE. It returns err
// unchanged if the caller's own context ended, or if err is an unknown outcome, for
// which a deadline is the usual cause: then something may have been changed.
func TimeoutToUnavailable(ctx context.Context, err error) error {
	if ctx.Err() == nil && !fault.MayHaveCommitted(err) && errors.Is(err, context.DeadlineExceeded) {
		return fault.Unavailablef(err, "the store did not answer in time; nothing was changed, try again")
	}
	return err
}

// Stopped reports whether this process, or its machine, was stopped since a mutation began. Then others
// may have removed what it has written for its compare-and-set, which must not be sent any more.
func Stopped(rt sched.Runtime, began sched.Moment) bool {
	return sched.Present(rt).Since(began) > stoppedAfter
}

// RestoreIfStopped calls restore until it succeeds, if this process was stopped between the begin of
// a mutation and the answer to its compare-and-set. restore writes again what that refers to.
func RestoreIfStopped(ctx context.Context, rt sched.Runtime, began sched.Moment, restore func(context.Context) error) error {
	if restore == nil || !Stopped(rt, began) {
		return nil
	}
	firm, cancel := rt.Deadline(rt.Detach(ctx), PrepareTimeout)
	defer cancel()
	return sched.Retry(firm, rt, func() bool { return false }, func() error { return restore(firm) })
}

// ErrStopped is the error of a mutation that was not decided because its process was stopped.
var ErrStopped = &fault.Error{Code: fault.Unavailable, RetryAfter: 1,
	Msg: "this gateway was stopped for a while; nothing was changed, try again"}

// attempt makes the entry durable and sends the compare-and-set.
func (g *Engine) attempt(ctx, early context.Context, began sched.Moment, a *Attempt) (bool, error) {
	if !a.Withdraws {
		if err := g.room(); err != nil {
			return false, err
		}
	}
	kept := a.Entry.Recoverable()
	if kept {
		if err := g.journal.Begin(early, a.Entry); err != nil {
			return false, err
		}
	}
	// From here on a client that disconnects does not cancel the change.
	detached, cancel := g.rt.Deadline(g.rt.Detach(ctx), answerWithin)
	defer cancel()
	applied, err := g.compareAndSet(detached, began, a)
	if applied || fault.MayHaveCommitted(err) {
		if failed := RestoreIfStopped(ctx, g.rt, began, a.Restore); failed != nil {
			applied, err = false, fault.Uncertain(failed)
		}
	}
	switch {
	case err != nil && fault.MayHaveCommitted(err):
		if kept {
			g.journal.FinishLater(a.Entry)
		}
		return false, OutcomeUnknown(err)
	case err != nil || !applied:
		if kept {
			g.journal.End(a.Entry.ID)
		}
		return false, err
	}
	g.journal.Decided(a.Entry.ID)
	return true, nil
}

// compareAndSet sends the compare-and-set of a, and repeats it while its outcome is
// unknown: with the same base it can apply at most once. If the outcome stays unknown,
// the error satisfies MayHaveCommitted.
func (g *Engine) compareAndSet(ctx context.Context, began sched.Moment, a *Attempt) (bool, error) {
	until := g.rt.Elapsed() + reissueTimeout
	var unknown error
	for n := 0; n < maxSends; n++ {
		if n > 0 {
			if g.rt.Elapsed() >= until || g.rt.After(ctx, g.jitter()) != nil {
				break
			}
		}
		if a.Until != 0 && g.Now() >= a.Until {
			return false, unknown
		}
		if Stopped(g.rt, began) {
			return false, cmp.Or[error](unknown, ErrStopped)
		}
		v, err := a.Commit(ctx, a.Entry.ID)
		switch {
		case err != nil && fault.MayHaveCommitted(err):
			unknown = err
		case err != nil && unknown == nil:
			return false, err
		case err != nil:
			// This one did not apply; an earlier one still may.
		case v.Applied:
			return true, nil
		case unknown == nil:
			return false, nil
		default:
			return writtenBy(v, a.Entry, unknown)
		}
	}
	return false, unknown
}

// writtenBy reports whether e's compare-and-set, whose outcome was unknown, was the one
// that replaced the state e.Base. It learns that from the last writers of the current state.
func writtenBy(v Verdict, e Entry, unknown error) (bool, error) {
	for _, w := range v.Writers {
		if w.Seq == e.Base+1 {
			return w.Entry == e.ID, nil
		}
	}
	return false, unknown
}

// jitter returns a random pause of 5 to 80 ms, so that colliding changes do not collide again.
func (g *Engine) jitter() time.Duration {
	var b [8]byte
	g.rt.Random(b[:])
	spread := uint64(pauseAtMost - pauseAtLeast)
	return pauseAtLeast + time.Duration(binary.LittleEndian.Uint64(b[:])%spread)
}
