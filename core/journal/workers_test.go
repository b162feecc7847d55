package journal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
)

// stuck is a domain in which all work on an item named "bad..." hangs until release is
// closed, and then fails.
type stuck struct {
	domain
	hung    atomic.Int32 // tries that hang or have hung
	release chan struct{}
}

func (s *stuck) hang(ctx context.Context, id library.ContentID) error {
	if !strings.HasPrefix(id.Name(), "bad") {
		return nil
	}
	s.hung.Add(1)
	select {
	case <-s.release:
		return errDown
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stuck) Resume(ctx context.Context, e commit.Entry) (bool, error) {
	if err := s.hang(ctx, library.ContentID(e.Key)); err != nil {
		return false, err
	}
	return s.domain.Resume(ctx, e)
}

func (s *stuck) Expire(ctx context.Context, d commit.Reminder) (bool, error) {
	if err := s.hang(ctx, library.ContentID(d.Key)); err != nil {
		return false, err
	}
	return s.domain.Expire(ctx, d)
}

// Entries whose libraries cannot be written take all workers for failing entries. A move
// that becomes due meanwhile is still made by the next call, and an entry that has not
// failed in the background is finished before them.
func TestStartDue_FailingEntriesDelayNoOthers(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	d := &stuck{release: make(chan struct{})}
	begin := func(n byte, id library.ContentID) commit.Entry {
		e := change(n)
		e.Key, e.Decided = string(id), true
		if err := j.Begin(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	const failing = failingWorkers + 20
	for n := range byte(failing) {
		j.FinishLater(begin(n, library.ContentID(fmt.Sprintf("c:acme:bad%d", n))))
	}
	rt.pass(backOffAtLeast)
	w := newWorkers(rt)
	if n := j.startDue(t.Context(), d, w, rt.Elapsed()); n != failingWorkers {
		t.Fatalf("%d entries were started, want %d, the number of workers", n, failingWorkers)
	}
	move := begin(200, "c:acme:hot")
	move.Due = clock.Of(rt.Now())
	j.Defer(move)
	if n := j.startDue(t.Context(), d, w, rt.Elapsed()); n != 1 {
		t.Fatalf("%d entries were started, want the move", n)
	}
	for made := 0; made == 0 && t.Context().Err() == nil; runtime.Gosched() {
		d.mu.Lock() // those that hang are not released yet
		made = len(d.moved)
		d.mu.Unlock()
	}
	close(d.release)
	w.wait(t.Context())
	// Entries with fewer failures come first, in any order of the list.
	j.FinishLater(begin(201, "c:acme:good"))
	rt.pass(backOffAtLeast)
	if n := j.startDue(t.Context(), d, w, rt.Elapsed()); n != failingWorkers {
		t.Fatalf("%d entries were started after that", n)
	}
	w.wait(t.Context())
	for _, e := range j.entries {
		if e.failures > 1 {
			t.Errorf("%s was tried again before others were tried once", e.Key)
		}
	}
	d.hung.Store(0)
	if err := j.DoDue(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if len(d.resumed) != 1 || d.hung.Load() == 0 || j.Stats().Entries != failing {
		t.Errorf("resumed %v, %d failed again, %d are left", d.resumed, d.hung.Load(), j.Stats().Entries)
	}
}

// More expiries fail than are read at once. Those after them still run, and each failing
// one is retried with growing pauses until it succeeds.
func TestExpireDue_FailingExpiriesDelayNoOthers(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	rt.pass(time.Hour)
	now := clock.Of(rt.Now())
	const failing = 2*duePage + 50
	put := func(ago time.Duration, id string) {
		t.Helper()
		if err := store.Journal.PutReminder(t.Context(), commit.Reminder{At: now.Add(-ago), Kind: commit.Content,
			Key: "c:acme:" + id}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range failing {
		put(time.Minute, fmt.Sprintf("bad%d", n))
	}
	put(time.Second, "good")
	d := &stuck{release: make(chan struct{})}
	close(d.release)
	if err := j.ExpireDue(t.Context(), d); err == nil {
		t.Error("the failures were not returned")
	}
	if len(d.expired) != 1 || d.hung.Load() != failing {
		t.Errorf("expired %v, %d failed", d.expired, d.hung.Load())
	}
	for n, pause := range []time.Duration{backOffAtLeast, 2 * backOffAtLeast, 4 * backOffAtLeast} {
		d.hung.Store(0)
		rt.pass(pause - time.Millisecond)
		_ = j.ExpireDue(t.Context(), d)
		if d.hung.Load() != 0 {
			t.Errorf("pause %d: %d were tried before it was over", n, d.hung.Load())
		}
		rt.pass(time.Millisecond)
		_ = j.ExpireDue(t.Context(), d)
		if d.hung.Load() != failing {
			t.Errorf("pause %d: %d were tried after it, want %d", n, d.hung.Load(), failing)
		}
	}
	rt.pass(backOffAtMost)
	if err := j.ExpireDue(t.Context(), &d.domain); err != nil || len(d.expired) != failing+1 {
		t.Errorf("after the store works again: %v, expired %d of %d", err, len(d.expired), failing+1)
	}
	if remaining, err := store.Journal.DueReminders(t.Context(), now, 10); err != nil || len(remaining) != 0 || len(j.dues) != 0 {
		t.Errorf("remaining reminders: %v, %v; %d in memory", remaining, err, len(j.dues))
	}
}

// Hanging expiries take at most all workers, and those that have failed before only the
// workers for failing ones. An expiry never runs twice at once.
func TestStartExpiries_HungExpiriesDelayNoOthers(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	rt.pass(time.Hour)
	now := clock.Of(rt.Now())
	const failing = failingWorkers - 4 // so that workers stay free
	for n := range failing {
		if err := store.Journal.PutReminder(t.Context(), commit.Reminder{At: now - 10, Kind: commit.Content,
			Key: fmt.Sprintf("c:acme:bad%d", n)}); err != nil {
			t.Fatal(err)
		}
	}
	first := &stuck{release: make(chan struct{})}
	close(first.release)
	if err := j.ExpireDue(t.Context(), first); err == nil {
		t.Fatal("nothing failed")
	}
	rt.pass(backOffAtLeast)
	d, w := &stuck{release: make(chan struct{})}, newWorkers(rt)
	for n, want := range []int{failing, 0} {
		if got, err := j.startExpiries(t.Context(), d, w); err != nil || got != want {
			t.Fatalf("call %d: %d were started, %v; want %d", n, got, err, want)
		}
	}
	if err := store.Journal.PutReminder(t.Context(), commit.Reminder{At: now - 1, Kind: commit.Content, Key: "c:acme:good"}); err != nil {
		t.Fatal(err)
	}
	if got, err := j.startExpiries(t.Context(), d, w); err != nil || got != 1 {
		t.Errorf("%d were started while others hang, %v; want the healthy one", got, err)
	}
	close(d.release)
	w.wait(t.Context())
	if len(d.expired) != 1 {
		t.Errorf("expired %v", d.expired)
	}
}

// partialDues is a store that cannot read a part of its reminders.
type partialDues struct {
	commit.JournalStore
	fails int // so many calls
}

func (p *partialDues) DueReminders(ctx context.Context, until clock.Instant, limit int) ([]commit.Reminder, error) {
	dues, err := p.JournalStore.DueReminders(ctx, until, limit)
	if p.fails--; err == nil && p.fails >= 0 {
		err = errDown
	}
	return dues, err
}

// If some reminders cannot be read, the others are worked on at once, and the state of failing
// ones is kept.
func TestStartExpiries_UnreadableRemindersDelayNoOthers(t *testing.T) {
	store, rt := open(t)
	partial := &partialDues{store.Journal, 1}
	j := New(t.Context(), partial, rt, nil)
	rt.pass(time.Hour)
	now := clock.Of(rt.Now())
	for _, id := range []library.ContentID{"c:acme:bad", "c:acme:good"} {
		if err := store.Journal.PutReminder(t.Context(), commit.Reminder{At: now - 10, Kind: commit.Content, Key: string(id)}); err != nil {
			t.Fatal(err)
		}
	}
	d, w := &stuck{release: make(chan struct{})}, newWorkers(rt)
	close(d.release)
	if n, err := j.startExpiries(t.Context(), d, w); n != 2 || !errors.Is(err, errDown) {
		t.Errorf("%d were started, %v; want both, and the error", n, err)
	}
	w.wait(t.Context())
	_ = w.failed()
	gone := commit.Reminder{At: now - 10, Kind: commit.Content, Key: "c:acme:bad"}
	if err := store.Journal.DropReminder(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	partial.fails = 1
	if _, err := j.startExpiries(t.Context(), d, w); !errors.Is(err, errDown) || len(j.dues) != 1 {
		t.Errorf("after a listing that is not complete: %v, %d known", err, len(j.dues))
	}
	if _, err := j.startExpiries(t.Context(), d, w); err != nil || len(j.dues) != 0 {
		t.Errorf("after a complete listing: %v, %d known", err, len(j.dues))
	}
	if err := store.Journal.PutReminder(t.Context(), commit.Reminder{At: now - 5, Kind: commit.Content, Key: "c:acme:later"}); err != nil {
		t.Fatal(err)
	}
	partial.fails = 1
	if err := j.ExpireDue(t.Context(), &d.domain); !errors.Is(err, errDown) || !slices.Contains(d.expired, "c:acme:later") {
		t.Errorf("expired %v, %v; want the error too", d.expired, err)
	}
}
