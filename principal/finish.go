package principal

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/sched"
)

// resume finishes a change on behalf of its process, which may have died.
func (s *Service) resume(ctx context.Context, e commit.Entry) (fenced bool, err error) {
	if err := s.fencePrincipal(ctx, e); err != nil {
		return false, fmt.Errorf("fencing %s: %w", e.Key, err)
	}
	return false, s.finishPrincipal(ctx, e, true)
}

// finishBeforeAnswer updates what is derived from a decided change before the mutation is answered,
// so that a new member is a member everywhere. Because the change is decided, the journal does in
// the background what does not succeed in time; the error says why it did not succeed.
func (s *Service) finishBeforeAnswer(ctx context.Context, e commit.Entry) error {
	switch {
	case !e.Recoverable():
		return nil
	case e.AffectsNothing():
		s.journal.End(e.ID) // nothing is derived from what has changed
		return nil
	}
	firm, cancel := s.rt.Deadline(s.rt.Detach(ctx), commit.PrepareTimeout)
	defer cancel()
	if err := s.finishPrincipal(firm, e, false); err != nil {
		s.log.WarnContext(ctx, "memberships will be updated in the background", "principal", e.Key, "error", err)
		s.journal.FinishLater(e)
		return err
	}
	s.journal.End(e.ID)
	return nil
}

// finishPrincipal does what follows the compare-and-set of a user or a group: it marks a new
// principal's library complete, updates its rows in the directory and the derived memberships of
// those listed, and then drops leaving rows. It removes what belongs to a deleted principal. It may
// be repeated, and run concurrently with itself. serial requests serial reads: recovery needs them,
// because no compare-and-set was acknowledged to it.
func (s *Service) finishPrincipal(ctx context.Context, e commit.Entry, serial bool) error {
	parts := slices.Collect(slices.Chunk(IDs(e.Principals), input.MaxList))
	if len(parts) == 0 {
		parts = [][]ID{nil}
	}
	for i, part := range parts {
		rows, err := s.store.ReadPrincipal(ctx, ID(e.Key), Query{Members: part, Serial: serial})
		if err != nil {
			return fmt.Errorf("reading %s: %w", e.Key, err)
		}
		if rows.Header.Seq <= e.Base {
			return fmt.Errorf("%s: the state after %d cannot be read yet", e.Key, e.Base)
		}
		switch rows.Header.State {
		case commit.Live:
		case commit.Deleted:
			return s.finishDeleted(ctx, e, &rows.Header)
		default:
			return nil // fenced before it was created: nothing was ever derived
		}
		if i == 0 {
			if err := s.finishHeader(ctx, e, &rows.Header); err != nil {
				return err
			}
		}
		if err := s.Upkeep.ApplyMembers(ctx, rows); err != nil {
			return err
		}
		if err := s.takeOutDeleted(ctx, ID(e.Key), rows.Members); err != nil {
			return err
		}
	}
	return nil
}

// finishDeleted does what follows a change of a principal that has been deleted since.
func (s *Service) finishDeleted(ctx context.Context, e commit.Entry, h *Header) error {
	if e.Former != "" {
		if err := s.Upkeep.ApplyDirectory(ctx, h, e.Former); err != nil {
			return err
		}
	}
	if e.Scope != commit.ScopeAll || h.Removed() {
		return nil // the process that decided the deletion removes everything else
	}
	return s.Upkeep.RemoveDeleted(ctx, ID(e.Key))
}

// finishHeader does the part that concerns the principal itself and not its members.
func (s *Service) finishHeader(ctx context.Context, e commit.Entry, h *Header) error {
	if e.All {
		if err := s.created(ctx, h); err != nil {
			return err
		}
	}
	if !e.All && e.Former == "" {
		return nil
	}
	return s.Upkeep.ApplyDirectory(ctx, h, e.Former)
}

// ApplyDirectory updates the directory to the principal's current name.
func (u Upkeep) ApplyDirectory(ctx context.Context, h *Header, former string) error {
	err := u.s.engine.Retry(ctx, func() error {
		return u.s.directory.ApplyDirectory(ctx, &DirectoryUpdate{Header: h, Former: former})
	})
	if err != nil {
		return fmt.Errorf("update the directory for %s: %w", h.ID, err)
	}
	return nil
}

// ApplyMembers writes the derived memberships of one snapshot, and drops the rows that were
// kept only until these were acknowledged.
func (u Upkeep) ApplyMembers(ctx context.Context, rows *Rows) error {
	if len(rows.Members) == 0 {
		return nil
	}
	h := &rows.Header
	err := u.s.engine.Retry(ctx, func() error {
		return u.s.store.ApplyGroupIndex(ctx, &GroupIndexUpdate{Header: h, Rows: rows.Members})
	})
	if err != nil {
		return fmt.Errorf("update the memberships in %s: %w", h.ID, err)
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
	err = u.s.engine.Retry(ctx, func() error {
		return u.s.store.CleanUpGroup(ctx, &GroupCleanup{ID: h.ID, Leaving: leaving})
	})
	if err != nil {
		return fmt.Errorf("clean up the members of %s: %w", h.ID, err)
	}
	return nil
}

// fencePrincipal makes sure that a compare-and-set with e.Base can no longer apply: if the base
// is still current, an equal state replaces it, a void one if there was none.
func (s *Service) fencePrincipal(ctx context.Context, e commit.Entry) error {
	if err := s.engine.RequireClock(); err != nil {
		return err
	}
	for range commit.MaxTries {
		rows, err := s.store.ReadPrincipal(ctx, ID(e.Key), Query{Serial: true})
		if err != nil {
			return fmt.Errorf("reading %s: %w", e.Key, err)
		}
		h := rows.Header
		if h.Seq > e.Base {
			return nil
		}
		if h.Seq < e.Base {
			return fmt.Errorf("the store forgot a state of %s: seq %d, entry of base %d", e.Key, h.Seq, e.Base)
		}
		_, err = s.store.CommitPrincipal(ctx, s.fenceOf(ID(e.Key), &h))
		if err != nil && !fault.MayHaveCommitted(err) {
			return fmt.Errorf("fencing %s: %w", e.Key, err)
		}
		// The next iteration reads whether this write or another one has applied.
	}
	return sched.ErrQueueFull
}

// fenceOf returns the commit of a state that equals h, after which every compare-and-set on h
// fails. A principal that is absent gets a void state.
func (s *Service) fenceOf(id ID, h *Header) *Commit {
	after := *h
	if h.State == commit.Absent {
		after = Header{ID: id, State: commit.Void}
	}
	after.Seq, after.MTS = h.Seq+1, s.engine.MTS(h.MTS)
	return &Commit{ID: id, Base: h.Seq, Header: after, Writer: s.engine.NewEntryID()}
}
