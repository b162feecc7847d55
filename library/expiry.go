package library

import (
	"context"

	"carrel/core/commit"
)

// An item with expiresAt has a reminder in the table of due work, where the journal finds it. The reminder
// is written before the compare-and-set that sets expiresAt, with the mts of the new state. A state
// that sets another expiresAt, or none, removes the former reminder with its own mts. The mts of an
// item increases with each state. So a removal never removes the reminder of a later state, even if
// that state sets the former time again and the removal is late.
//
// Some reminders are kept until their time comes: the reminder of an attempt that was not decided, and
// a former reminder whose removal failed or whose process ended.

// reminderTimeout is how long the removal of a former reminder may take.
const reminderTimeout = commit.PrepareTimeout

// putReminder writes the reminder of a state that sets expiresAt.
func (s *Service) putReminder(ctx context.Context, after *Header) error {
	if after.ExpiresAt == nil {
		return nil
	}
	return s.inFlightLists.PutReminder(ctx, commit.Reminder{At: *after.ExpiresAt, Kind: commit.Content, Key: string(after.ID), MTS: after.MTS})
}

// staleReminder returns the reminder of the state before that the state after does not need; nil if
// there is none.
func staleReminder(before, after *Header) *commit.Reminder {
	if before.ExpiresAt == nil || after.State == commit.Live && equalInstants(before.ExpiresAt, after.ExpiresAt) {
		return nil
	}
	return &commit.Reminder{At: *before.ExpiresAt, Kind: commit.Content, Key: string(before.ID), MTS: after.MTS}
}

// dropReminder removes a reminder that a decided state has made stale. No caller waits for it. If it
// fails, the journal drops the reminder when its time comes.
func (s *Service) dropReminder(ctx context.Context, stale *commit.Reminder) {
	if stale == nil {
		return
	}
	ctx = s.rt.Detach(ctx)
	s.rt.Go(func() {
		ctx, cancel := s.rt.Deadline(ctx, reminderTimeout)
		defer cancel()
		if err := s.inFlightLists.DropReminder(ctx, *stale); err != nil {
			s.log.DebugContext(ctx, "a former reminder of expiry is kept until its time comes", "content", stale.Key, "error", err)
		}
	})
}

// expire deletes an item that has expired, like any other deletion. due is only a reminder: the item's
// own expiresAt decides. It reports whether due can be removed, which it cannot before its instant.
func (s *Service) expire(ctx context.Context, due commit.Reminder) (bool, error) {
	var early bool
	e, decided, err := s.decide(ctx, s.engine.NewBudget(), ContentID(due.Key), func(ctx context.Context) (a *attempt, err error) {
		rows, err := s.contents.Read(ctx, ContentID(due.Key), ContentQuery{Serial: true})
		if err != nil {
			return nil, err
		}
		a, early = s.planExpiry(&rows.Header, due)
		return a, nil
	})
	if err != nil || early {
		return false, err
	}
	if decided {
		s.finish(ctx, e)
	}
	return true, nil
}

// planExpiry compares a reminder with the item. A reminder that the item does not need may belong to an
// attempt in progress. It must not be removed before that attempt can no longer be decided. If
// the item's state is newer than the reminder, the attempt cannot be decided, or its state comes
// with a newer reminder. Otherwise a fence makes a newer state.
func (s *Service) planExpiry(h *Header, due commit.Reminder) (a *attempt, early bool) {
	now := s.engine.Now()
	switch {
	case h.State == commit.Live && h.ExpiresAt != nil && *h.ExpiresAt == due.At:
		if due.At > now {
			return nothingToChange, true
		}
		a, _ = s.planDelete(h, nil)
		a.entry.Causes = reasonForAll(ReasonExpired)
		return a, false
	case h.State == commit.Deleted || due.MTS <= h.MTS:
		return nothingToChange, false
	case due.MTS > now:
		// A fence would be older than the reminder.
		return nothingToChange, true
	}
	id := ContentID(due.Key)
	return s.contentAttempt(inFlight{}, s.fenceOf(id, h)), false
}
