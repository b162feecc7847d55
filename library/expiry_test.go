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
	"carrel/repair"
)

// hints is a store that calls functions of a test for removals of hints, and for commits.
type hints struct {
	commit.JournalStore
	library.ContentStore
	mu     sync.Mutex
	drop   func(ctx context.Context, d commit.Due) error           // nil: as the store does it
	commit func(c *library.ContentCommit) (*commit.Verdict, error) // nil, or nil results: as the store does it
}

func (h *hints) set(change func(*hints)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

func (h *hints) DropDue(ctx context.Context, d commit.Due) error {
	h.mu.Lock()
	drop := h.drop
	h.mu.Unlock()
	if drop != nil {
		return drop(ctx, d)
	}
	return h.JournalStore.DropDue(ctx, d)
}

func (h *hints) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
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

// hinted is a fixture with ann on such a store.
func hinted(t *testing.T) (*domaintest.Fixture, *hints) {
	s := new(hints)
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

// hintsIn lists all hints once the background work is done.
func hintsIn(h *domaintest.Fixture) []commit.Due {
	h.T.Helper()
	h.Quiet()
	h.Runtime.Close() // waits for all tasks; others may be started after it
	dues, err := h.Store.Journal.DueUntil(h.T.Context(), clock.Of(h.Runtime.Now().AddDate(100, 0, 0)), 1000)
	if err != nil {
		h.T.Fatal(err)
	}
	return dues
}

// wantHints compares the instants of all hints with those wanted.
func wantHints(h *domaintest.Fixture, when string, want ...clock.Instant) {
	h.T.Helper()
	var got []clock.Instant
	for _, d := range hintsIn(h) {
		got = append(got, d.At)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.T.Errorf("hints after %s (-want +got):\n%s", when, diff)
	}
}

func hoursFromNow(h *domaintest.Fixture, n int) *clock.Instant {
	at := clock.Of(h.Runtime.Now().Truncate(time.Hour).Add(time.Duration(n) * time.Hour))
	return &at
}

// TestExpiry_FormerHintsAreRemoved: however often expiresAt changes, one hint is kept: that of the
// present time.
func TestExpiry_FormerHintsAreRemoved(t *testing.T) {
	h, _ := hinted(t)
	id := h.Note("a", principal.Public)
	for n := range 20 {
		mustSetExpiry(h, id, hoursFromNow(h, 2+n))
	}
	wantHints(h, "20 changes", *hoursFromNow(h, 21))
	mustSetExpiry(h, id, hoursFromNow(h, 21))
	wantHints(h, "a change to the same time", *hoursFromNow(h, 21))
	h.Update(id, "b", principal.Private)
	wantHints(h, "a change of something else", *hoursFromNow(h, 21))
	mustSetExpiry(h, id, nil)
	wantHints(h, "clearing")
	for range 3 {
		mustSetExpiry(h, id, hoursFromNow(h, 5))
		mustSetExpiry(h, id, hoursFromNow(h, 6))
		mustSetExpiry(h, id, hoursFromNow(h, 5))
	}
	wantHints(h, "changes to and fro", *hoursFromNow(h, 5))
	h.Delete(id)
	wantHints(h, "deletion")
}

// TestExpiry_LateRemovalKeepsTheNewHint: expiresAt is changed and then set back to the former time.
// The removal of the former hint comes late, and does not remove the new hint of the same time.
func TestExpiry_LateRemovalKeepsTheNewHint(t *testing.T) {
	h, s := hinted(t)
	id := h.Note("a", principal.Public)
	mustSetExpiry(h, id, hoursFromNow(h, 5))
	release := make(chan struct{})
	s.set(func(s *hints) {
		s.drop = func(ctx context.Context, d commit.Due) error {
			<-release
			return s.JournalStore.DropDue(ctx, d)
		}
	})
	mustSetExpiry(h, id, hoursFromNow(h, 6)) // the answer does not wait for the removal
	mustSetExpiry(h, id, hoursFromNow(h, 5))
	close(release)
	wantHints(h, "late removals", *hoursFromNow(h, 5))
	if got := h.Content(id); got.ExpiresAt == nil || *got.ExpiresAt != *hoursFromNow(h, 5) {
		t.Errorf("the item expires at %v", got.ExpiresAt)
	}
}

// TestExpiry_FailedRemovalOfAHintIsNoError: a removal that fails does not fail the change. The hint
// is removed when its time comes.
func TestExpiry_FailedRemovalOfAHintIsNoError(t *testing.T) {
	h, s := hinted(t)
	id := h.Note("a", principal.Public)
	mustSetExpiry(h, id, hoursFromNow(h, 5))
	s.set(func(s *hints) {
		s.drop = func(context.Context, commit.Due) error { return errors.New("the store is down") }
	})
	mustSetExpiry(h, id, hoursFromNow(h, 6))
	h.Delete(id)
	wantHints(h, "removals that fail", *hoursFromNow(h, 5), *hoursFromNow(h, 6))
	s.set(func(s *hints) { s.drop = nil })
	for _, d := range hintsIn(h) {
		if done, err := h.After(7*time.Hour).Background().Expire(t.Context(), d); err != nil || !done {
			t.Errorf("the hint of %s stays: %v, %v", d.At, done, err)
		}
	}
}

// racing makes another change between each reading of the item and the commit of an expiry, so
// that the commit is refused. each makes the other change.
func (s *hints) racing(each func(c *library.ContentCommit) error) {
	s.set(func(s *hints) {
		s.commit = func(c *library.ContentCommit) (*commit.Verdict, error) {
			if c.Header.ExpiresAt == nil {
				return nil, nil
			}
			return nil, each(c)
		}
	})
}

// TestExpiry_HintOfALostRaceIsRemoved: an update that loses every race leaves one hint. When its
// time has come the hint is compared with the item, and removed only once no attempt that it may
// belong to can be decided.
func TestExpiry_HintOfALostRaceIsRemoved(t *testing.T) {
	h, s := hinted(t)
	id := h.Note("a", principal.Public)
	s.racing(func(c *library.ContentCommit) error {
		// The state in between is older than the hint: its writer's clock is behind.
		other := h.Content(id)
		other.Seq, other.MTS = other.Seq+1, other.MTS+1
		_, err := s.ContentStore.Commit(t.Context(), &library.ContentCommit{ID: id, Base: other.Seq - 1, Header: other,
			Writer: commit.EntryID{1}})
		return err
	})
	if err := setExpiry(h, id, hoursFromNow(h, 5)); fault.ReasonOf(err) != fault.ReasonContention {
		t.Fatalf("lost races: %v", err)
	}
	s.set(func(s *hints) { s.commit = nil })
	wantHints(h, "lost races", *hoursFromNow(h, 5))
	lost := hintsIn(h)[0]
	before := h.Content(id)
	if before.MTS >= lost.MTS {
		t.Fatalf("the state of %d is not older than the hint of %d", before.MTS, lost.MTS)
	}
	// A hint by a clock that is ahead waits until our clock has reached its time.
	ahead := lost
	ahead.MTS = clock.Of(h.Runtime.Now().Add(24 * time.Hour))
	if done, err := h.After(6*time.Hour).Background().Expire(t.Context(), ahead); err != nil || done {
		t.Errorf("a hint that is ahead of the clock: %v, %v", done, err)
	}
	if got := h.Content(id); got.Seq != before.Seq {
		t.Error("a hint that is ahead of the clock has fenced the item")
	}
	if done, err := h.After(6*time.Hour).Background().Expire(t.Context(), lost); err != nil || !done {
		t.Fatalf("the hint of a lost race: %v, %v", done, err)
	}
	after := h.Content(id)
	if after.Seq != before.Seq+1 || after.MTS <= lost.MTS || after.Version != before.Version || after.State != commit.Live {
		t.Errorf("after the hint was checked: %+v", after)
	}
	// The same hint needs no second fence.
	if done, err := h.After(6*time.Hour).Background().Expire(t.Context(), lost); err != nil || !done || h.Content(id).Seq != after.Seq {
		t.Errorf("the hint checked again: %v, %v, seq %d", done, err, h.Content(id).Seq)
	}
	h.WantClean()
}

// TestExpiry_HintIsKeptUntilItsChangeIsDecided: the time of an expiry comes before its own change
// is decided. The hint is not removed until the change can no longer be decided.
func TestExpiry_HintIsKeptUntilItsChangeIsDecided(t *testing.T) {
	h, s := hinted(t)
	id := h.Note("a", principal.Public)
	at := clock.Of(h.Runtime.Now().Add(time.Hour))
	other := anotherProcess(h) // another process checks the hint
	later := other.After(2 * time.Hour)
	tries := 0
	s.racing(func(c *library.ContentCommit) error {
		if tries++; tries > 1 {
			return nil
		}
		d := commit.Due{At: at, Kind: commit.Content, Key: string(id), MTS: c.Header.MTS}
		done, err := later.Background().Expire(t.Context(), d)
		if err == nil && done {
			err = s.JournalStore.DropDue(t.Context(), d)
		}
		return err
	})
	mustSetExpiry(h, id, &at)
	if tries != 2 {
		t.Errorf("the change was tried %d times, want a second time after the fence", tries)
	}
	wantHints(h, "the change", at)
	s.set(func(s *hints) { s.commit = nil })
	done, err := later.Background().Expire(t.Context(), hintsIn(h)[0])
	if err != nil || !done || h.Content(id).State != commit.Deleted {
		t.Errorf("when its time had come: %v, %v, %v", done, err, h.Content(id).State)
	}
	other.Quiet()
	h.WantClean()
}

// TestExpiry_HintOfAFailedCreationIsRemoved: a creation that never happened leaves a hint of an
// item that does not exist.
func TestExpiry_HintOfAFailedCreationIsRemoved(t *testing.T) {
	h, s := hinted(t)
	s.racing(func(*library.ContentCommit) error { return errors.New("the store is down") })
	name := "a"
	if _, err := h.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"), library.CreateContent{
		Name: &name, Kind: library.Note, Title: "a", Visibility: principal.Public, ExpiresAt: hoursFromNow(h, 5),
	}); err == nil {
		t.Fatal("it was created")
	}
	s.set(func(s *hints) { s.commit = nil })
	wantHints(h, "a creation that failed", *hoursFromNow(h, 5))
	if done, err := h.After(6*time.Hour).Background().Expire(t.Context(), hintsIn(h)[0]); err != nil || !done {
		t.Errorf("its hint: %v, %v", done, err)
	}
	if id := h.Note("a", principal.Public); id != "c:acme:a" {
		t.Errorf("created %s under the name", id)
	}
	h.WantClean()
}

// TestScrubber_FindsExpiredItemsWithoutHints: a hint may have been removed by hand.
func TestScrubber_FindsExpiredItemsWithoutHints(t *testing.T) {
	h := domaintest.Town(t)
	at := clock.Of(h.Runtime.Now()).Add(time.Hour)
	id := h.Note("a", principal.Public)
	mustSetExpiry(h, id, &at)
	if err := h.Store.Journal.DropDue(t.Context(), commit.Due{At: at, Kind: commit.Content, Key: string(id),
		MTS: clock.Of(h.Runtime.Now())}); err != nil {
		t.Fatal(err)
	}
	wantHints(h, "the loss")
	for _, c := range []struct {
		after time.Duration
		want  []clock.Instant
	}{{0, nil}, {2 * time.Hour, []clock.Instant{at}}} {
		if _, err := h.After(c.after).Repair.ScrubFrom(t.Context(), repair.ScrubPosition{}, 10); err != nil {
			t.Fatal(err)
		}
		wantHints(h, c.after.String(), c.want...)
	}
	if d := hintsIn(h); len(d) != 1 || d[0].MTS <= at {
		t.Errorf("the hint %v is not newer than what removed it", d)
	}
}
