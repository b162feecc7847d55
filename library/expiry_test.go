package library_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/backend"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/library"
	"carrel/library/repair"
	"carrel/principal"
)

// hints is a store whose removals of hints, and commits, a test has a say in.
type hints struct {
	backend.Store
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
	return h.Store.DropDue(ctx, d)
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
	return h.Store.Commit(ctx, c)
}

// hinted is a house with ann on such a store.
func hinted(t *testing.T) (*house, *hints) {
	s := new(hints)
	h := newHouse(t, func(store backend.Store) backend.Store { s.Store = store; return s })
	h.user("u:acme:ann", principal.Public)
	return h, s
}

// expires sets or clears the expiry of an item.
func (h *house) expires(id library.ContentID, at *clock.Instant) error {
	_, err := h.svc.UpdateContent(h.t.Context(), as("u:acme:ann"), library.UpdateContent{ID: string(id), ExpiresAt: input.Some(at)})
	return err
}

func (h *house) mustExpire(id library.ContentID, at *clock.Instant) {
	h.t.Helper()
	if err := h.expires(id, at); err != nil {
		h.t.Fatalf("setting expiresAt: %v", err)
	}
}

// hintsOf lists all hints, after what runs in the background.
func (h *house) hintsOf() []commit.Due {
	h.t.Helper()
	h.quiet()
	h.runtime.Close() // waits for all tasks; others may be started after it
	dues, err := h.store.DueUntil(h.t.Context(), clock.Of(h.runtime.Now().AddDate(100, 0, 0)), 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	return dues
}

// wantHints compares the hints of one item with the instants wanted.
func (h *house) wantHints(when string, want ...clock.Instant) {
	h.t.Helper()
	var got []clock.Instant
	for _, d := range h.hintsOf() {
		got = append(got, d.At)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.t.Errorf("hints after %s (-want +got):\n%s", when, diff)
	}
}

func (h *house) hours(n int) *clock.Instant {
	at := clock.Of(h.runtime.Now().Truncate(time.Hour).Add(time.Duration(n) * time.Hour))
	return &at
}

// However often expiresAt changes, one hint stays: that of the present time.
func TestFormerHintsAreRemoved(t *testing.T) {
	h, _ := hinted(t)
	id := h.note("a", principal.Public)
	for n := range 20 {
		h.mustExpire(id, h.hours(2+n))
	}
	h.wantHints("20 changes", *h.hours(21))
	h.mustExpire(id, h.hours(21))
	h.wantHints("a change to the same time", *h.hours(21))
	h.update(id, "b", principal.Private)
	h.wantHints("a change of something else", *h.hours(21))
	h.mustExpire(id, nil)
	h.wantHints("clearing")
	for range 3 {
		h.mustExpire(id, h.hours(5))
		h.mustExpire(id, h.hours(6))
		h.mustExpire(id, h.hours(5))
	}
	h.wantHints("changes to and fro", *h.hours(5))
	h.delete(id)
	h.wantHints("deletion")
}

// A removal that comes late, after the former time was set again, leaves the
// hint of that.
func TestALateRemovalLeavesTheNewHint(t *testing.T) {
	h, s := hinted(t)
	id := h.note("a", principal.Public)
	h.mustExpire(id, h.hours(5))
	release := make(chan struct{})
	s.set(func(s *hints) {
		s.drop = func(ctx context.Context, d commit.Due) error {
			<-release
			return s.Store.DropDue(ctx, d)
		}
	})
	h.mustExpire(id, h.hours(6)) // the answer does not wait for the removal
	h.mustExpire(id, h.hours(5))
	close(release)
	h.wantHints("late removals", *h.hours(5))
	if got := h.content(id); got.ExpiresAt == nil || *got.ExpiresAt != *h.hours(5) {
		t.Errorf("the item expires at %v", got.ExpiresAt)
	}
}

// A removal that fails fails nothing. The hint goes when its time comes.
func TestARemovalThatFails(t *testing.T) {
	h, s := hinted(t)
	id := h.note("a", principal.Public)
	h.mustExpire(id, h.hours(5))
	s.set(func(s *hints) {
		s.drop = func(context.Context, commit.Due) error { return errors.New("the store is down") }
	})
	h.mustExpire(id, h.hours(6))
	h.delete(id)
	h.wantHints("removals that fail", *h.hours(5), *h.hours(6))
	s.set(func(s *hints) { s.drop = nil })
	for _, d := range h.hintsOf() {
		if done, err := h.in(7*time.Hour).Expire(t.Context(), d); err != nil || !done {
			t.Errorf("the hint of %s stays: %v, %v", d.At, done, err)
		}
	}
}

// racing has another change come between each reading of the item and the commit
// of an expiry, so that the commit is refused. each makes the other change.
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

// An update that loses every race leaves one hint. When its time has come it is
// judged by the item, and removed only once no attempt that it may belong to can
// be decided.
func TestTheHintOfALostRace(t *testing.T) {
	h, s := hinted(t)
	id := h.note("a", principal.Public)
	s.racing(func(c *library.ContentCommit) error {
		// The state between is older than the hint: its writer's clock is behind.
		other := h.content(id)
		other.Seq, other.MTS = other.Seq+1, other.MTS+1
		_, err := s.Store.Commit(t.Context(), &library.ContentCommit{ID: id, Base: other.Seq - 1, Header: other, Writer: commit.EntryID{1}})
		return err
	})
	if err := h.expires(id, h.hours(5)); fault.ReasonOf(err) != fault.ReasonContention {
		t.Fatalf("lost races: %v", err)
	}
	s.set(func(s *hints) { s.commit = nil })
	h.wantHints("lost races", *h.hours(5))
	lost := h.hintsOf()[0]
	before := h.content(id)
	if before.MTS >= lost.MTS {
		t.Fatalf("the state of %d is not older than the hint of %d", before.MTS, lost.MTS)
	}
	// A hint of a clock that is ahead waits until ours has reached its time.
	ahead := lost
	ahead.MTS = clock.Of(h.runtime.Now().Add(24 * time.Hour))
	if done, err := h.in(6*time.Hour).Expire(t.Context(), ahead); err != nil || done {
		t.Errorf("a hint that is ahead of the clock: %v, %v", done, err)
	}
	if got := h.content(id); got.Seq != before.Seq {
		t.Error("a hint that is ahead of the clock has fenced the item")
	}
	if done, err := h.in(6*time.Hour).Expire(t.Context(), lost); err != nil || !done {
		t.Fatalf("the hint of a lost race: %v, %v", done, err)
	}
	after := h.content(id)
	if after.Seq != before.Seq+1 || after.MTS <= lost.MTS || after.Version != before.Version || after.State != commit.Live {
		t.Errorf("after the hint was judged: %+v", after)
	}
	// One hint, once: the next of the same age needs no fence.
	if done, err := h.in(6*time.Hour).Expire(t.Context(), lost); err != nil || !done || h.content(id).Seq != after.Seq {
		t.Errorf("the hint judged again: %v, %v, seq %d", done, err, h.content(id).Seq)
	}
	h.wantClean()
}

// The time of an expiry comes while its own change is not decided yet. The hint
// is not removed before the change can be decided no more.
func TestAHintThatComesBeforeItsState(t *testing.T) {
	h, s := hinted(t)
	id := h.note("a", principal.Public)
	at := clock.Of(h.runtime.Now().Add(time.Hour))
	other := h.another() // another process judges the hint
	later := other.in(2 * time.Hour)
	tries := 0
	s.racing(func(c *library.ContentCommit) error {
		if tries++; tries > 1 {
			return nil
		}
		d := commit.Due{At: at, Kind: commit.Content, Key: string(id), MTS: c.Header.MTS}
		done, err := later.Expire(t.Context(), d)
		if err == nil && done {
			err = s.Store.DropDue(t.Context(), d)
		}
		return err
	})
	h.mustExpire(id, &at)
	if tries != 2 {
		t.Errorf("the change was tried %d times, want a second time after the fence", tries)
	}
	h.wantHints("the change", at)
	s.set(func(s *hints) { s.commit = nil })
	done, err := later.Expire(t.Context(), h.hintsOf()[0])
	if err != nil || !done || h.content(id).State != commit.Deleted {
		t.Errorf("when its time had come: %v, %v, %v", done, err, h.content(id).State)
	}
	other.quiet()
	h.wantClean()
}

// A creation that never happened leaves a hint of an item that does not exist.
func TestTheHintOfACreationThatNeverHappened(t *testing.T) {
	h, s := hinted(t)
	s.racing(func(*library.ContentCommit) error { return errors.New("the store is down") })
	name := "a"
	if _, err := h.svc.CreateContent(t.Context(), as("u:acme:ann"), library.CreateContent{
		Name: &name, Kind: library.Note, Title: "a", Visibility: principal.Public, ExpiresAt: h.hours(5),
	}); err == nil {
		t.Fatal("it was created")
	}
	s.set(func(s *hints) { s.commit = nil })
	h.wantHints("a creation that failed", *h.hours(5))
	if done, err := h.in(6*time.Hour).Expire(t.Context(), h.hintsOf()[0]); err != nil || !done {
		t.Errorf("its hint: %v, %v", done, err)
	}
	if id := h.note("a", principal.Public); id != "c:acme:a" {
		t.Errorf("created %s under the name", id)
	}
	h.wantClean()
}

// TestTheScrubberFindsLostExpiries: an earlier version may have dropped the hint
// just before the change that needs it was decided.
func TestTheScrubberFindsLostExpiries(t *testing.T) {
	h := town(t)
	at := clock.Of(h.runtime.Now()).Add(time.Hour)
	id := h.note("a", principal.Public)
	h.mustExpire(id, &at)
	if err := h.store.DropDue(t.Context(), commit.Due{At: at, Kind: commit.Content, Key: string(id), MTS: clock.Of(h.runtime.Now())}); err != nil {
		t.Fatal(err)
	}
	h.wantHints("the loss")
	for _, c := range []struct {
		after time.Duration
		want  []clock.Instant
	}{{0, nil}, {2 * time.Hour, []clock.Instant{at}}} {
		if _, err := h.in(c.after).ScrubFrom(t.Context(), repair.ScrubPlace{}, 10); err != nil {
			t.Fatal(err)
		}
		h.wantHints(c.after.String(), c.want...)
	}
	if d := h.hintsOf(); len(d) != 1 || d[0].MTS <= at {
		t.Errorf("the hint %v is not newer than what removed it", d)
	}
}
