package commit_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/pebblestore"
)

// This file follows the recipe "A domain" of ARCHITECTURE.md for a domain of notices: short
// texts that are published under a name until they expire. It knows no content and no
// principal, and its changes do not fan out.

// kindNotice is the kind of notices.
const kindNotice commit.Kind = 'x'

// noticeStore is the part of a store that notices need: a row that is changed by
// compare-and-set, and the reminders of when it expires.
type noticeStore struct {
	commit.RegisterStore
	commit.JournalStore
}

// notices is the Service of the domain.
type notices struct {
	*commit.Engine
	store noticeStore
}

func newNotices(engine *commit.Engine, store noticeStore) *notices {
	return &notices{engine, store}
}

// rowOf returns the key of a notice's row.
func rowOf(name string) commit.RequestKey { return sha256.Sum256([]byte("notice " + name)) }

// read returns the row of a notice, after storing an empty one if there was none.
func (s *notices) read(ctx context.Context, name string, until clock.Instant) (commit.Creation, error) {
	return s.store.PutCreationIfAbsent(ctx, commit.Creation{Key: rowOf(name), Until: until}, nil)
}

// putNotice is the input of put.
type putNotice struct {
	Name, Text string
	Until      clock.Instant
}

// put publishes a text until an instant, in place of a current one. Anybody may do so.
func (s *notices) put(ctx context.Context, in putNotice) (changed bool, err error) {
	var faults fault.List
	if in.Until <= s.Now() {
		faults.Add(fault.Invalidf(nil, "until must lie in the future"), "until")
	}
	m, err := s.Begin("", commit.Call{Name: "putNotice", Input: &in, Faults: faults})
	if err != nil {
		return false, err
	}
	_, changed, err = s.Decide(ctx, m.Budget, in.Name, func(ctx context.Context) (*commit.Attempt, error) {
		before, err := s.read(ctx, in.Name, in.Until)
		if err != nil || before.ID == in.Text {
			return commit.Nothing, err
		}
		if err := s.store.PutReminder(ctx, commit.Reminder{At: in.Until, Kind: kindNotice, Key: in.Name, MTS: s.MTS(0)}); err != nil {
			return nil, err
		}
		after := before
		after.ID, after.Until = in.Text, in.Until
		return s.replaces(before, after), nil
	})
	return changed, err
}

// replaces returns the attempt that replaces before with after.
func (s *notices) replaces(before, after commit.Creation) *commit.Attempt {
	return &commit.Attempt{Commit: func(ctx context.Context, _ commit.EntryID) (commit.Verdict, error) {
		stored, err := s.store.PutCreationIfAbsent(ctx, after, &before)
		return commit.Verdict{Applied: stored == after}, err
	}}
}

// expire empties a notice that has expired.
func (s *notices) expire(ctx context.Context, d commit.Reminder) (bool, error) {
	_, _, err := s.Decide(ctx, s.NewBudget(), d.Key, func(ctx context.Context) (*commit.Attempt, error) {
		before, err := s.read(ctx, d.Key, d.At)
		if err != nil || before.Until > d.At {
			return commit.Nothing, err // extended meanwhile, with a reminder of its own
		}
		after := before
		after.ID, after.Until = "", d.At.Add(time.Hour)
		return s.replaces(before, after), nil
	})
	return err == nil, err
}

// handClock is the real runtime with a clock that the test sets.
type handClock struct {
	*sched.Real
	now time.Time
}

func (c *handClock) Now() time.Time { return c.now }

// background adds to the handlers the method that package repair has in a gateway.
type background struct{ commit.Handlers }

func (background) Scrub(context.Context, func(commit.ScrubStep) (context.Context, error)) error {
	return nil
}

func TestDomain_FollowsTheRecipe(t *testing.T) {
	store, err := pebblestore.Open("store", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	rt := &handClock{Real: sched.NewReal(), now: time.Unix(1_800_000_000, 0)}
	j := journal.New(t.Context(), store.Journal, rt, nil)
	engine := commit.NewEngine(commit.Config{Runtime: rt, Journal: j, Registers: store.Registers})
	s := newNotices(engine, noticeStore{store.Registers, store.Journal})

	text := func() string {
		row, err := s.read(t.Context(), "door", clock.Of(rt.now).Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return row.ID
	}
	soon := clock.Of(rt.now).Add(time.Minute)
	for n, want := range []bool{true, false} {
		if changed, err := s.put(t.Context(), putNotice{"door", "closed today", soon}); err != nil || changed != want {
			t.Fatalf("put %d: %v, %v", n, changed, err)
		}
	}
	if _, err := s.put(t.Context(), putNotice{"door", "too late", clock.Of(rt.now)}); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("a notice of the past: %v", err)
	}
	if st := j.Stats(); st.Entries != 0 {
		t.Errorf("%d entries of changes without work to finish", st.Entries)
	}
	for _, step := range []struct {
		pass time.Duration
		want string
	}{{59 * time.Second, "closed today"}, {time.Second, ""}} {
		rt.now = rt.now.Add(step.pass)
		if err := j.ExpireDue(t.Context(), background{commit.Handlers{kindNotice: {Expire: s.expire}}}); err != nil {
			t.Fatal(err)
		}
		if got := text(); got != step.want {
			t.Errorf("%s later the notice is %q, want %q", step.pass, got, step.want)
		}
	}
}

func TestHandlers_RefuseUnhandledKinds(t *testing.T) {
	handlers := commit.Handlers{kindNotice: {}}
	for _, kind := range []commit.Kind{'?', kindNotice} {
		_, resumed := handlers.Resume(t.Context(), commit.Entry{Kind: kind})
		_, ran := handlers.RunDue(t.Context(), commit.Entry{Kind: kind})
		_, expired := handlers.Expire(t.Context(), commit.Reminder{Kind: kind})
		repaired := handlers.Repair(t.Context(), commit.Repair{Kind: kind})
		for n, err := range []error{resumed, ran, expired, repaired} {
			if err == nil {
				t.Errorf("kind %q, call %d: no error", kind, n)
			}
		}
	}
	failed := errors.New("failed")
	handlers['y'] = commit.Handler{Resume: func(context.Context, commit.Entry) (bool, error) { return true, failed }}
	if fenced, err := handlers.Resume(t.Context(), commit.Entry{Kind: 'y'}); !fenced || !errors.Is(err, failed) {
		t.Errorf("Resume: %v, %v", fenced, err)
	}
}
