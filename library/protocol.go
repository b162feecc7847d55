package library

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
)

// Times and numbers of the write protocol (docs/write-protocol.md).
const (
	maxTries      = 8                // lost races before CONTENTION
	maxReissues   = 5                // of one compare-and-set whose outcome is unknown
	reissueWithin = 8 * time.Second  // while an unknown outcome is asked after
	answerAtLast  = 15 * time.Second // the deadline of a mutation, from its compare-and-set
	prepareWithin = 5 * time.Second  // for what comes before a compare-and-set is sent
	earlyWithin   = 2 * time.Second  // for each thing that is found out before that
	maxQueue      = 256              // mutations of one item that wait in one process
	pauseAtLeast  = 5 * time.Millisecond
	pauseAtMost   = 80 * time.Millisecond
)

// attempt is one try at a mutation: what it plans to write.
type attempt struct {
	entry  InFlight // without ID
	commit func(ctx context.Context, id commit.EntryID) (Verdict, error)
	stale  *Due // the hint that is needless once the commit has applied; nil: none
}

// nothingToChange is the attempt of a mutation that succeeds without a write.
var nothingToChange = &attempt{}

// nextMTS is the write timestamp of the state after one of prev: it rises even
// where the clock does not.
func nextMTS(now, prev clock.Instant) clock.Instant { return max(now, prev+1) }

// mts is nextMTS for this Service.
func (s *Service) mts(prev clock.Instant) clock.Instant {
	if s.tune.Without == WallClock {
		return s.now()
	}
	return nextMTS(s.now(), prev)
}

func (s *Service) newEntryID() (id commit.EntryID) {
	s.rt.Random(id[:])
	return id
}

// decide runs try (read, authorize, validate, plan) and its compare-and-set
// under the partition's queue, with the in-flight entry durable before it,
// unknown outcomes resolved and lost races tried again. It returns the entry
// of the change that applied; ok is false when nothing needed to change.
//
// Errors: those of try; Unavailable where no compare-and-set was sent;
// CONTENTION; OUTCOME_UNKNOWN, in which case the background resolves it.
func (s *Service) decide(ctx context.Context, b budget, partition string, try func(ctx context.Context) (*attempt, error)) (e InFlight, ok bool, err error) {
	early, cancel := s.within(ctx, b, prepareWithin)
	defer cancel()
	unlock, err := s.rt.Lock(early, partition, maxQueue)
	if err != nil {
		return InFlight{}, false, late(ctx, err)
	}
	defer unlock()
	for n := 0; n < maxTries; n++ {
		if n > 0 {
			if err := s.rt.After(early, s.jitter()); err != nil {
				return InFlight{}, false, late(ctx, err)
			}
		}
		if err := s.requireClock(); err != nil {
			return InFlight{}, false, err
		}
		a, err := try(early)
		if err != nil {
			return InFlight{}, false, late(ctx, err)
		}
		if a.commit == nil {
			return a.entry, false, nil
		}
		a.entry.ID = s.newEntryID()
		applied, err := s.attempt(ctx, early, a, try)
		if err != nil {
			return InFlight{}, false, late(ctx, err)
		}
		if applied {
			s.dropHint(ctx, a.stale)
			a.entry.Decided = true
			return a.entry, true, nil
		}
	}
	return InFlight{}, false, &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonContention, RetryAfter: 1,
		Msg: "too many others change this at the same time; try again"}
}

// outcomeUnknown is the answer of a change that may have been made, or that has
// been made and does not show everywhere yet.
func outcomeUnknown(err error) *fault.Error {
	return &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonOutcomeUnknown, Err: err,
		Msg: "whether the change was made is not known yet; look before you repeat it, or repeat it with the same idempotencyKey"}
}

// late turns the end of our own deadline into UNAVAILABLE; when the caller's
// context ended, it is the caller's. An unknown outcome stays one, although a
// deadline is its usual cause: that nothing was changed cannot be told then.
func late(ctx context.Context, err error) error {
	if ctx.Err() == nil && !fault.MayHaveCommitted(err) && errors.Is(err, context.DeadlineExceeded) {
		return fault.Unavailablef(err, "the store did not answer in time; nothing was changed, try again")
	}
	return err
}

// recoverable tells whether an entry has anything to redo.
func recoverable(e InFlight) bool { return e.Scope != commit.ScopeNone || e.Due != 0 }

// attempt makes the entry durable and sends the compare-and-set.
func (s *Service) attempt(ctx, early context.Context, a *attempt, try func(context.Context) (*attempt, error)) (bool, error) {
	kept := recoverable(a.entry)
	if kept {
		if err := s.begin(early, a, try); err != nil {
			return false, err
		}
	}
	// The change is decided from here on: a client that leaves cancels nothing.
	firm, cancel := s.rt.Deadline(s.rt.Detach(ctx), answerAtLast)
	defer cancel()
	applied, err := s.compareAndSet(firm, a)
	switch {
	case err != nil && fault.MayHaveCommitted(err):
		if kept {
			s.journal.Leave(a.entry.Entry(), MergeInFlight)
		}
		return false, outcomeUnknown(err)
	case err != nil || !applied:
		if kept {
			s.journal.End(a.entry.ID)
		}
		return false, err
	}
	if s.tune.Without == EntryAfterCommit && kept {
		if err := s.journal.Begin(firm, a.entry.Entry()); err != nil {
			return false, err
		}
	}
	s.journal.Decided(a.entry.ID)
	return true, nil
}

// begin puts the entry on the list, acknowledged, or as an ablation says.
func (s *Service) begin(ctx context.Context, a *attempt, try func(context.Context) (*attempt, error)) error {
	switch s.tune.Without {
	case EntryAfterCommit:
		return nil
	case CommitBeforeAck:
		e := a.entry
		s.rt.Go(func() { _ = s.journal.Begin(s.rt.Detach(ctx), e.Entry()) })
		return nil
	case EntryBeforeRead:
		if err := s.journal.Begin(ctx, a.entry.Entry()); err != nil {
			return err
		}
		again, err := try(ctx)
		if err != nil || again.commit == nil {
			s.journal.End(a.entry.ID)
			if err == nil {
				err = sched.ErrQueueFull
			}
			return err
		}
		a.commit = again.commit
		return nil
	}
	return s.journal.Begin(ctx, a.entry.Entry())
}

// compareAndSet sends it, and again while its outcome is unknown: with the
// same base it can apply at most once. The error satisfies MayHaveCommitted
// where the outcome stays unknown.
func (s *Service) compareAndSet(ctx context.Context, a *attempt) (bool, error) {
	until := s.rt.Elapsed() + reissueWithin
	var unknown error
	for n := 0; n < maxReissues; n++ {
		if n > 0 {
			if s.rt.Elapsed() >= until || s.rt.After(ctx, s.jitter()) != nil {
				break
			}
		}
		v, err := a.commit(ctx, a.entry.ID)
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
			return writtenBy(v, a.entry, unknown)
		}
	}
	return false, unknown
}

// writtenBy tells from the standing writers whether e's compare-and-set, whose
// outcome was unknown, was the one that left e.Base behind.
func writtenBy(v Verdict, e InFlight, unknown error) (bool, error) {
	for _, w := range v.Writers {
		if w.Seq == e.Base+1 {
			return w.Entry == e.ID, nil
		}
	}
	return false, unknown
}

// jitter is a pause of 5 to 80 ms, so that those who collided part.
func (s *Service) jitter() time.Duration {
	var b [8]byte
	s.rt.Random(b[:])
	spread := uint64(pauseAtMost - pauseAtLeast)
	return pauseAtLeast + time.Duration(binary.LittleEndian.Uint64(b[:])%spread)
}
