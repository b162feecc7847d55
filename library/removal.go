package library

import (
	"context"
	"fmt"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/principal"
)

const (
	// removalPage is how many items a removal reads at once. It takes a deleted principal out of
	// leavesAtOnce of them at a time.
	removalPage  = 100
	leavesAtOnce = 32

	// forever is later than any write. The library of a deleted principal is removed as of then, so
	// that a rebuild that began before the deletion cannot mark it as complete, even in a process
	// whose clock is ahead.
	forever clock.Instant = 1 << 62
)

// RemoveLibrary takes a deleted principal out of all items, and removes its library.
func (s *Service) RemoveLibrary(ctx context.Context, h *principal.Header) error {
	if err := s.leaveItems(ctx, h); err != nil {
		return err
	}
	err := s.engine.Retry(ctx, func() error { return s.libraries.DropLibrary(ctx, h.ID, forever) })
	if err != nil {
		return fmt.Errorf("removing the library: %w", err)
	}
	return nil
}

// leaveItems takes a deleted principal out of the items that its record names. Where the
// record was lost, it looks at all items.
func (s *Service) leaveItems(ctx context.Context, h *principal.Header) error {
	recorded, err := s.libraries.Recorded(ctx, h.ID)
	if err != nil {
		return err
	}
	next := s.recordedItems
	if !recorded && !h.Removed() {
		next = s.heldItems
	}
	var after ContentID
	for more := true; more; {
		var ids []ContentID
		if ids, after, more, err = next(ctx, h.ID, after); err != nil {
			return err
		}
		err := sched.ForEach(ctx, s.rt, len(ids), leavesAtOnce, func(i int) error { return s.Upkeep.LeaveItem(ctx, ids[i], h.ID) })
		if err != nil {
			return err
		}
	}
	return nil
}

// recordedItems reads what is recorded as shared with p: removalPage items after a given one.
func (s *Service) recordedItems(ctx context.Context, p principal.ID, after ContentID) (ids []ContentID, last ContentID,
	more bool, err error) {
	shared, err := s.libraries.SharedWith(ctx, p, after, removalPage)
	for _, sh := range shared {
		ids = append(ids, sh.Content)
		last = sh.Content
	}
	return ids, last, len(shared) == removalPage, err
}

// heldItems reads removalPage items after a given item, and returns those that have a row of p.
func (s *Service) heldItems(ctx context.Context, p principal.ID, after ContentID) (held []ContentID, last ContentID, more bool, err error) {
	ids, err := s.contents.ScanContents(ctx, after, removalPage)
	if err != nil || len(ids) == 0 {
		return nil, "", false, err
	}
	rows, err := s.contents.ReadMany(ctx, ids, []principal.ID{p})
	if err != nil {
		return nil, "", false, err
	}
	for i := range rows {
		if rows[i].Members[0].Seq != 0 {
			held = append(held, ids[i])
		}
	}
	return held, ids[len(ids)-1], len(ids) == removalPage, nil
}

// LeaveItem takes a deleted principal out of an item, and the item out of its library. It may
// be the last manager: the administrators of the tenant manage the item then.
func (u Upkeep) LeaveItem(ctx context.Context, id ContentID, p principal.ID) error {
	if u.s.engine.Over() {
		return commit.ErrEnding
	}
	e, decided, err := u.s.decide(ctx, u.s.engine.NewBudget(), id, func(ctx context.Context) (*attempt, error) {
		rows, err := u.s.contents.Read(ctx, id, ContentQuery{Members: []principal.ID{p}})
		if err != nil || rows.Header.State != commit.Live || !rows.Members[0].Active() {
			return nothingToChange, err
		}
		a, _ := u.s.planRows(&rows.Header, rows.Members, []ContentRole{NoRole}, nil)
		return a, nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("taking %s out of %s: %w", p, id, err)
	case !decided:
		return u.RestoreItem(ctx, p, id)
	}
	return u.s.finish(ctx, e)
}

// takeOutDeleted takes deleted principals out of the item: those that the walk has found to be
// members. Their removal may have missed the item, because the rows from which it finds
// items were written after it had begun.
func (w *walk) takeOutDeleted(ctx context.Context) error {
	gone, err := w.s.people.DeletedOf(ctx, w.joined)
	if err != nil {
		return err
	}
	for _, p := range gone {
		if err := w.s.Upkeep.LeaveItem(ctx, w.entry.content(), p); err != nil {
			return err
		}
	}
	return nil
}
