package library

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
)

// answerPrincipal brings what is derived from a decided change in line before
// it is answered, so that who was made a member is one everywhere. What does
// not succeed in time is left to the background: the change stands. The error
// is why it did not.
func (s *Service) answerPrincipal(ctx context.Context, e InFlight) error {
	if entry := e.Entry(); !entry.Recoverable() {
		return nil
	}
	firm, cancel := s.rt.Deadline(s.rt.Detach(ctx), commit.PrepareWithin)
	defer cancel()
	if err := s.finishPrincipal(firm, e, false); err != nil {
		s.log.WarnContext(ctx, "memberships left to the background", "principal", string(e.Principal), "error", err)
		s.journal.Leave(e.Entry())
		return err
	}
	s.journal.End(e.ID)
	return nil
}

// finishPrincipal does what follows the compare-and-set of a user or a group:
// a new principal's library is marked complete, its rows in the directory follow
// its name, the derived memberships of those listed are enforced, and leaving
// rows are dropped once theirs are. It may run again and beside itself. serial is for recovery, where no
// compare-and-set was acknowledged.
func (s *Service) finishPrincipal(ctx context.Context, e InFlight, serial bool) error {
	parts := slices.Collect(slices.Chunk(e.Principals, MaxList))
	if len(parts) == 0 {
		parts = [][]PrincipalID{nil}
	}
	for i, part := range parts {
		rows, err := s.store.ReadPrincipal(ctx, e.Principal, PrincipalQuery{Members: part, Serial: serial})
		if err != nil {
			return fmt.Errorf("reading %s: %w", e.Principal, err)
		}
		if rows.Header.Seq <= e.Base {
			return fmt.Errorf("%s: the state after %d is not to be read yet", e.Principal, e.Base)
		}
		if rows.Header.State != commit.Live {
			return nil // fenced before it was created: nothing was ever derived
		}
		if i == 0 {
			if err := s.finishHeader(ctx, e, &rows.Header); err != nil {
				return err
			}
		}
		if err := s.enforceMembers(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

// emptySince is when the library of a new principal was complete, because it was
// empty. An import tells when a principal came to be, and may be wrong; the
// state itself is not older than its own timestamp.
func emptySince(h *PrincipalHeader) clock.Instant { return min(h.CreatedAt, h.MTS) }

// finishHeader does what follows for the principal itself.
func (s *Service) finishHeader(ctx context.Context, e InFlight, h *PrincipalHeader) error {
	if e.Reverse {
		if err := s.Insist(ctx, func() error { return s.store.SetBuilt(ctx, e.Principal, emptySince(h)) }); err != nil {
			return fmt.Errorf("marking the library of %s: %w", e.Principal, err)
		}
	}
	if !e.Reverse && e.Former == "" {
		return nil
	}
	if s.tune.Without == commit.FormerNameForgotten {
		e.Former = ""
	}
	return s.enforceDirectory(ctx, h, e.Former)
}

// enforceDirectory lets a principal be found by the name it has.
func (s *Service) enforceDirectory(ctx context.Context, h *PrincipalHeader, former string) error {
	err := s.Insist(ctx, func() error {
		return s.store.EnforceDirectory(ctx, &DirectoryEnforcement{Header: h, Former: former})
	})
	if err != nil {
		return fmt.Errorf("enforcing the directory for %s: %w", h.ID, err)
	}
	return nil
}

// enforceMembers writes the derived memberships of one snapshot, and drops the
// rows that were kept only until that was acknowledged.
func (s *Service) enforceMembers(ctx context.Context, rows *PrincipalRows) error {
	if len(rows.Members) == 0 {
		return nil
	}
	h := &rows.Header
	err := s.Insist(ctx, func() error {
		return s.store.EnforceGroup(ctx, &GroupEnforcement{Header: h, Rows: rows.Members})
	})
	if err != nil {
		return fmt.Errorf("enforcing members of %s: %w", h.ID, err)
	}
	var leaving []GroupMemberRow
	for _, m := range rows.Members {
		if m.Leaving && m.Seq <= h.Seq {
			leaving = append(leaving, m)
		}
	}
	if len(leaving) == 0 {
		return nil
	}
	err = s.Insist(ctx, func() error {
		return s.store.SettleGroup(ctx, &GroupSettlement{ID: h.ID, Leaving: leaving})
	})
	if err != nil {
		return fmt.Errorf("settling members of %s: %w", h.ID, err)
	}
	return nil
}

// fencePrincipal makes sure that a compare-and-set with e.Base can apply no
// more: where the base still stands, an equal state takes its place, a void one
// where there was none.
func (s *Service) fencePrincipal(ctx context.Context, e InFlight) error {
	if err := s.RequireClock(); err != nil {
		return err
	}
	for range commit.MaxTries {
		rows, err := s.store.ReadPrincipal(ctx, e.Principal, PrincipalQuery{Serial: true})
		if err != nil {
			return fmt.Errorf("reading %s: %w", e.Principal, err)
		}
		h := rows.Header
		if h.Seq > e.Base {
			return nil
		}
		if h.Seq < e.Base {
			return fmt.Errorf("the store forgot a state of %s: seq %d, entry of base %d", e.Principal, h.Seq, e.Base)
		}
		if h.State == commit.Absent {
			h = PrincipalHeader{ID: e.Principal, State: commit.Void}
		}
		h.Seq, h.MTS = e.Base+1, s.MTS(h.MTS)
		_, err = s.store.CommitPrincipal(ctx, &PrincipalCommit{ID: e.Principal, Base: e.Base, Header: h, Writer: s.NewEntryID()})
		if err != nil && !fault.MayHaveCommitted(err) {
			return fmt.Errorf("fencing %s: %w", e.Principal, err)
		}
		// Whether it applied, or somebody else's did, the next reading tells.
	}
	return sched.ErrQueueFull
}
