package library_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// reminders is a store that calls functions of a test for removals of reminders, and for commits.
type reminders struct {
	commit.JournalStore
	library.ContentStore
	mu     sync.Mutex
	drop   func(ctx context.Context, d commit.Reminder) error      // nil: as the store does it
	commit func(c *library.ContentCommit) (*commit.Verdict, error) // nil, or nil results: as the store does it
}

func (h *reminders) set(change func(*reminders)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

func (h *reminders) DropReminder(ctx context.Context, d commit.Reminder) error {
	h.mu.Lock()
	drop := h.drop
	h.mu.Unlock()
	if drop != nil {
		return drop(ctx, d)
	}
	return h.JournalStore.DropReminder(ctx, d)
}

func (h *reminders) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	h.mu.Lock()
	write := h.commit
	h.mu.Unlock()
	if write != nil {
		if v, err := write(c); v != nil || err != nil {
			return commit.Verdict{}, err
		}
	}
	return h.ContentStore.Commit(ctx, c)
}

// withReminders is a fixture with ann on such a store.
func withReminders(t *testing.T) (*domaintest.Fixture, *reminders) {
	s := new(reminders)
	h := domaintest.New(t, func(store *domain.Store) {
		s.JournalStore, s.ContentStore, store.Journal, store.Contents = store.Journal, store.Contents, s, s
	})
	h.User("u:acme:ann", principal.Public)
	return h, s
}

// setExpiry sets or clears the expiry of an item.
func setExpiry(h *domaintest.Fixture, id library.ContentID, at *clock.Instant) error {
	_, err := h.Library.UpdateContent(h.T.Context(), domaintest.As("u:acme:ann"),
		library.UpdateContent{ID: string(id), ExpiresAt: input.Some(at)})
	return err
}

func mustSetExpiry(h *domaintest.Fixture, id library.ContentID, at *clock.Instant) {
	h.T.Helper()
	if err := setExpiry(h, id, at); err != nil {
		h.T.Fatalf("setting expiresAt: %v", err)
	}
}

// remindersIn lists all reminders once the background work is done.
func remindersIn(h *domaintest.Fixture) []commit.Reminder {
	h.T.Helper()
	h.Quiet()
	h.Runtime.Close() // waits for all tasks; others may be started after it
	dues, err := h.Store.Journal.DueReminders(h.T.Context(), clock.Of(h.Runtime.Now().AddDate(100, 0, 0)), 1000)
	if err != nil {
		h.T.Fatal(err)
	}
	return dues
}

// wantReminders compares the instants of all reminders with those wanted.
func wantReminders(h *domaintest.Fixture, when string, want ...clock.Instant) {
	h.T.Helper()
	var got []clock.Instant
	for _, d := range remindersIn(h) {
		got = append(got, d.At)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.T.Errorf("reminders after %s (-want +got):\n%s", when, diff)
	}
}

func hoursFromNow(h *domaintest.Fixture, n int) *clock.Instant {
	at := clock.Of(h.Runtime.Now().Truncate(time.Hour).Add(time.Duration(n) * time.Hour))
	return &at
}

// TestExpiry_FormerRemindersAreRemoved: however often expiresAt changes, one reminder is kept: that of the
// present time.
func TestExpiry_FormerRemindersAreRemoved(t *testing.T) {
	h, _ := withReminders(t)
	id := h.Note("a", principal.Public)
	for n := range 20 {
		mustSetExpiry(h, id, hoursFromNow(h, 2+n))
	}
	wantReminders(h, "20 changes", *hoursFromNow(h, 21))
	mustSetExpiry(h, id, hoursFromNow(h, 21))
	wantReminders(h, "a change to the same time", *hoursFromNow(h, 21))
	h.Update(id, "b", principal.Private)
	wantReminders(h, "a change of something else", *hoursFromNow(h, 21))
	mustSetExpiry(h, id, nil)
	wantReminders(h, "clearing")
	for range 3 {
		mustSetExpiry(h, id, hoursFromNow(h, 5))
		mustSetExpiry(h, id, hoursFromNow(h, 6))
		mustSetExpiry(h, id, hoursFromNow(h, 5))
	}
	wantReminders(h, "changes to and fro", *hoursFromNow(h, 5))
	h.Delete(id)
	wantReminders(h, "deletion")
}

// TestExpiry_LateRemovalKeepsTheNewReminder: expiresAt is changed and then set back to the former time.
// The removal of the former reminder comes late, and does not remove the new reminder of the same time.
func TestExpiry_LateRemovalKeepsTheNewReminder(t *testing.T) {
	h, s := withReminders(t)
	id := h.Note("a", principal.Public)
	mustSetExpiry(h, id, hoursFromNow(h, 5))
	release := make(chan struct{})
	s.set(func(s *reminders) {
		s.drop = func(ctx context.Context, d commit.Reminder) error {
			<-release
			return s.JournalStore.DropReminder(ctx, d)
		}
	})
	mustSetExpiry(h, id, hoursFromNow(h, 6)) // the answer does not wait for the removal
	mustSetExpiry(h, id, hoursFromNow(h, 5))
	close(release)
	wantReminders(h, "late removals", *hoursFromNow(h, 5))
	if got := h.Content(id); got.ExpiresAt == nil || *got.ExpiresAt != *hoursFromNow(h, 5) {
		t.Errorf("the item expires at %v", got.ExpiresAt)
	}
}

// TestExpiry_FailedRemovalOfAReminderIsNoError: a removal that fails does not fail the change. The reminder
// is removed when its time comes.
func TestExpiry_FailedRemovalOfAReminderIsNoError(t *testing.T) {
	h, s := withReminders(t)
	id := h.Note("a", principal.Public)
	mustSetExpiry(h, id, hoursFromNow(h, 5))
	s.set(func(s *reminders) {
		s.drop = func(context.Context, commit.Reminder) error { return errors.New("the store is down") }
	})
	mustSetExpiry(h, id, hoursFromNow(h, 6))
	h.Delete(id)
	wantReminders(h, "removals that fail", *hoursFromNow(h, 5), *hoursFromNow(h, 6))
	s.set(func(s *reminders) { s.drop = nil })
	for _, d := range remindersIn(h) {
		if done, err := h.After(7*time.Hour).Background().Expire(t.Context(), d); err != nil || !done {
			t.Errorf("the reminder of %s stays: %v, %v", d.At, done, err)
		}
	}
}

// racing makes another change between each reading of the item and the commit of an expiry, so
// that the commit is refused. each makes the other change.
func (s *reminders) racing(each func(c *library.ContentCommit) error) {
	s.set(func(s *reminders) {
		s.commit = func(c *library.ContentCommit) (*commit.Verdict, error) {
			if c.Header.ExpiresAt == nil {
				return nil, nil
			}
			return nil, each(c)
		}
	})
}

// TestExpiry_ReminderOfALostRaceIsRemoved: an update that loses every race leaves one reminder. When its
// time has come the reminder is compared with the item, and removed only once no attempt that it may
// belong to can be decided.
func TestExpiry_ReminderOfALostRaceIsRemoved(t *testing.T) {
	h, s := withReminders(t)
	id := h.Note("a", principal.Public)
	s.racing(func(c *library.ContentCommit) error {
		// The state in between is older than the reminder: its writer's clock is behind.
		other := h.Content(id)
		other.Seq, other.MTS = other.Seq+1, other.MTS+1
		_, err := s.ContentStore.Commit(t.Context(), &library.ContentCommit{ID: id, Base: other.Seq - 1, Header: other,
			Writer: commit.EntryID{1}})
		return err
	})
	if err := setExpiry(h, id, hoursFromNow(h, 5)); fault.ReasonOf(err) != fault.ReasonContention {
		t.Fatalf("lost races: %v", err)
	}
	s.set(func(s *reminders) { s.commit = nil })
	wantReminders(h, "lost races", *hoursFromNow(h, 5))
	lost := remindersIn(h)[0]
	before := h.Content(id)
	if before.MTS >= lost.MTS {
		t.Fatalf("the state of %d is not older than the reminder of %d", before.MTS, lost.MTS)
	}
	// A reminder by a clock that is ahead waits until our clock has reached its time.
	ahead := lost
	ahead.MTS = clock.Of(h.Runtime.Now().Add(24 * time.Hour))
	if done, err := h.After(6*time.Hour).Background().Expire(t.Context(), ahead); err != nil || done {
		t.Errorf("a reminder that is ahead of the clock: %v, %v", done, err)
	}
	if got := h.Content(id); got.Seq != before.Seq {
		t.Error("a reminder that is ahead of the clock has fenced the item")
	}
	if done, err := h.After(6*time.Hour).Background().Expire(t.Context(), lost); err != nil || !done {
		t.Fatalf("the reminder of a lost race: %v, %v", done, err)
	}
	after := h.Content(id)
	if after.Seq != before.Seq+1 || after.MTS <= lost.MTS || after.Version != before.Version || after.State != commit.Live {
		t.Errorf("after the reminder was checked: %+v", after)
	}
	// The same reminder needs no second fence.
	if done, err := h.After(6*time.Hour).Background().Expire(t.Context(), lost); err != nil || !done || h.Content(id).Seq != after.Seq {
		t.Errorf("the reminder checked again: %v, %v, seq %d", done, err, h.Content(id).Seq)
	}
	h.WantClean()
}

// TestExpiry_ReminderIsKeptUntilItsChangeIsDecided: the time of an expiry comes before its own change
// is decided. The reminder is not removed until the change can no longer be decided.
func TestExpiry_ReminderIsKeptUntilItsChangeIsDecided(t *testing.T) {
	h, s := withReminders(t)
	id := h.Note("a", principal.Public)
	at := clock.Of(h.Runtime.Now().Add(time.Hour))
	other := anotherProcess(h) // another process checks the reminder
	later := other.After(2 * time.Hour)
	tries := 0
	s.racing(func(c *library.ContentCommit) error {
		if tries++; tries > 1 {
			return nil
		}
		d := commit.Reminder{At: at, Kind: commit.Content, Key: string(id), MTS: c.Header.MTS}
		done, err := later.Background().Expire(t.Context(), d)
		if err == nil && done {
			err = s.JournalStore.DropReminder(t.Context(), d)
		}
		return err
	})
	mustSetExpiry(h, id, &at)
	if tries != 2 {
		t.Errorf("the change was tried %d times, want a second time after the fence", tries)
	}
	wantReminders(h, "the change", at)
	s.set(func(s *reminders) { s.commit = nil })
	done, err := later.Background().Expire(t.Context(), remindersIn(h)[0])
	if err != nil || !done || h.Content(id).State != commit.Deleted {
		t.Errorf("when its time had come: %v, %v, %v", done, err, h.Content(id).State)
	}
	other.Quiet()
	h.WantClean()
}

// TestExpiry_ReminderOfAFailedCreationIsRemoved: a creation that never happened leaves a reminder of an
// item that does not exist.
func TestExpiry_ReminderOfAFailedCreationIsRemoved(t *testing.T) {
	h, s := withReminders(t)
	s.racing(func(*library.ContentCommit) error { return errors.New("the store is down") })
	name := "a"
	if _, err := h.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"), library.CreateContent{
		Name: &name, Kind: library.Note, Title: "a", Visibility: principal.Public, ExpiresAt: hoursFromNow(h, 5),
	}); err == nil {
		t.Fatal("it was created")
	}
	s.set(func(s *reminders) { s.commit = nil })
	wantReminders(h, "a creation that failed", *hoursFromNow(h, 5))
	if done, err := h.After(6*time.Hour).Background().Expire(t.Context(), remindersIn(h)[0]); err != nil || !done {
		t.Errorf("its reminder: %v, %v", done, err)
	}
	if id := h.Note("a", principal.Public); id != "c:acme:a" {
		t.Errorf("created %s under the name", id)
	}
	h.WantClean()
}

// TestScrubber_FindsExpiredItemsWithoutReminders: a reminder may have been removed by hand.
func TestScrubber_FindsExpiredItemsWithoutReminders(t *testing.T) {
	h := domaintest.Town(t)
	at := clock.Of(h.Runtime.Now()).Add(time.Hour)
	id := h.Note("a", principal.Public)
	mustSetExpiry(h, id, &at)
	if err := h.Store.Journal.DropReminder(t.Context(), commit.Reminder{At: at, Kind: commit.Content, Key: string(id),
		MTS: clock.Of(h.Runtime.Now())}); err != nil {
		t.Fatal(err)
	}
	wantReminders(h, "the loss")
	for _, c := range []struct {
		after time.Duration
		want  []clock.Instant
	}{{0, nil}, {2 * time.Hour, []clock.Instant{at}}} {
		if _, _, err := h.After(c.after).Repair.ScrubAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantReminders(h, c.after.String(), c.want...)
	}
	if d := remindersIn(h); len(d) != 1 || d[0].MTS <= at {
		t.Errorf("the reminder %v is not newer than what removed it", d)
	}
}
