package journal

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// partial is a domain in which all work on the item bad fails.
type partial struct {
	domain
	bad library.ContentID
}

func (p *partial) Resume(ctx context.Context, e commit.Entry) (bool, error) {
	if e.Key == string(p.bad) {
		return false, errDown
	}
	return p.domain.Resume(ctx, e)
}

func (p *partial) Expire(ctx context.Context, due commit.Reminder) (bool, error) {
	if due.Key == string(p.bad) {
		return false, errDown
	}
	return p.domain.Expire(ctx, due)
}

func (p *partial) Repair(ctx context.Context, r commit.Repair) error {
	if r.Row.(library.BucketEntry).Content == p.bad {
		return errDown
	}
	return p.domain.Repair(ctx, r)
}

func TestTakeOver_FailingEntryDoesNotBlockOthers(t *testing.T) {
	store, rt := open(t)
	dead := New(t.Context(), store.Journal, rt, nil)
	for n := range byte(3) {
		if err := dead.Begin(t.Context(), change(n)); err != nil {
			t.Fatal(err)
		}
	}
	next := New(t.Context(), store.Journal, rt, nil)
	d := &partial{bad: library.ContentID(change(0).Key)}
	if err := next.Recover(t.Context(), d); !errors.Is(err, errDown) {
		t.Errorf("the take-over returned %v for an entry that cannot be finished", err)
	}
	if !slices.Equal(d.resumed, []commit.EntryID{{1}, {2}}) {
		t.Errorf("resumed %v, want all but the one that fails", d.resumed)
	}
	if remaining := inFlightLists(t, store.Journal); len(remaining[dead.InFlightList()]) != 3 {
		t.Errorf("the list was deleted: %v", remaining)
	}
}

// damaged is a store in which rows of some lists cannot be read.
type damaged struct {
	commit.JournalStore
	inFlightLists []commit.ListID
}

func (d *damaged) InFlightLists(ctx context.Context) ([]commit.InFlightList, error) {
	inFlightLists, err := d.JournalStore.InFlightLists(ctx)
	if err == nil && len(d.inFlightLists) > 0 {
		err = &commit.UnreadableLists{IDs: d.inFlightLists, Err: errDown}
	}
	return inFlightLists, err
}

// An unreadable list is logged once with its id, and does not prevent other lists from being
// taken over, neither at the start nor by other processes.
func TestTakeOver_UnreadableListDoesNotBlockOthers(t *testing.T) {
	store, rt := open(t)
	d := &damaged{JournalStore: store.Journal, inFlightLists: []commit.ListID{"damaged"}}
	var logged bytes.Buffer
	j := New(t.Context(), d, rt, slog.New(slog.NewTextHandler(&logged, nil)))
	svc, w := &domain{}, newWatch(j)
	for n, takeOver := range []func() error{
		func() error { return j.Recover(t.Context(), svc) },
		func() error { return w.step(t.Context(), svc) },
	} {
		if err := New(t.Context(), store.Journal, rt, nil).Begin(t.Context(), change(byte(n))); err != nil {
			t.Fatal(err)
		}
		_ = w.step(t.Context(), svc)
		rt.pass(deadAfter)
		err := takeOver()
		if whole := n == 0; (err != nil) != whole || whole && !strings.Contains(err.Error(), "damaged") {
			t.Errorf("the take-over returned %v", err)
		}
		if remaining := inFlightLists(t, store.Journal); len(svc.resumed) != n+1 || len(remaining) != 0 {
			t.Errorf("resumed %v, remaining lists: %v", svc.resumed, remaining)
		}
	}
	if n := j.Stats().InFlightLists; n != 2 {
		t.Errorf("%d lists were counted, want that of the dead process and the damaged one", n)
	}
	if text := logged.String(); strings.Count(text, "level=ERROR") != 1 || !strings.Contains(text, "lists=[damaged]") {
		t.Errorf("the log is: %s", text)
	}
	d.inFlightLists = nil
	if err := w.step(t.Context(), svc); err != nil {
		t.Fatal(err)
	}
	d.inFlightLists = []commit.ListID{"another"}
	if err := w.step(t.Context(), svc); err != nil || strings.Count(logged.String(), "level=ERROR") != 2 {
		t.Errorf("%v, and the log is: %s", err, logged.String())
	}
}

func TestWatch_RetriesFailedTakeOversWithGrowingPauses(t *testing.T) {
	store, rt := open(t)
	dead := New(t.Context(), store.Journal, rt, nil)
	if err := dead.Begin(t.Context(), change(0)); err != nil {
		t.Fatal(err)
	}
	d, w, tries := &domain{failing: 1000}, newWatch(New(t.Context(), store.Journal, rt, nil)), 0
	for range 60 {
		before := d.failing
		_ = w.step(t.Context(), d)
		tries += before - d.failing
		rt.pass(time.Second)
	}
	// At 15 s, and then after 1, 2, 4, 8 and 16 s.
	if tries != 6 {
		t.Errorf("%d tries within a minute, want 6", tries)
	}
}

func TestExpireDue_FailingExpiryDoesNotBlockOthers(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	rt.pass(time.Minute)
	now := clock.Of(rt.Now())
	for n, c := range []library.ContentID{"c:acme:bad", "c:acme:good"} {
		if err := store.Journal.PutReminder(t.Context(), commit.Reminder{At: now.Add(time.Duration(n-10) * time.Second),
			Kind: commit.Content, Key: string(c)}); err != nil {
			t.Fatal(err)
		}
	}
	d := &partial{bad: "c:acme:bad"}
	if err := j.ExpireDue(t.Context(), d); !errors.Is(err, errDown) {
		t.Errorf("the failing expiry returned %v", err)
	}
	remaining, err := store.Journal.DueReminders(t.Context(), now, 10)
	if err != nil || len(remaining) != 1 || remaining[0].Key != "c:acme:bad" || !slices.Equal(d.expired, []library.ContentID{"c:acme:good"}) {
		t.Errorf("expired %v, remaining reminders %v, %v", d.expired, remaining, err)
	}
}

func TestRepair_FailingRepairBlocksNothing(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	d := &partial{bad: "c:acme:bad"}
	j.Repair(wrongEntry("u:acme:a", "c:acme:bad"))
	j.Repair(wrongEntry("u:acme:b", "c:acme:good"))
	if err := j.DoDue(t.Context(), d); !errors.Is(err, errDown) || !slices.Equal(d.repaired, []principal.ID{"u:acme:b"}) {
		t.Errorf("repaired %v, %v", d.repaired, err)
	}
	// A shutdown finishes the changes although repairs are waiting.
	e := change(1)
	if err := j.Begin(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	e.Due = clock.Of(rt.Now()).Add(time.Hour)
	j.Defer(e)
	j.Repair(wrongEntry("u:acme:a", "c:acme:bad"))
	if err := j.Drain(t.Context(), d); err != nil || !slices.Equal(d.moved, []library.ContentID{library.ContentID(e.Key)}) {
		t.Errorf("moved %v, %v", d.moved, err)
	}
	if remaining := inFlightLists(t, store.Journal); len(remaining) != 0 {
		t.Errorf("remaining lists: %v", remaining)
	}
}

func TestFinishLater_MergesDecidedEntriesOfOneItem(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	entry := func(n byte, e commit.Entry) commit.Entry {
		e.ID, e.Key = commit.EntryID{n}, "c:acme:a"
		return e
	}
	const bea, ann = "u:acme:bea", "u:acme:ann"
	for _, e := range []commit.Entry{
		entry(1, commit.Entry{Kind: commit.Content, Base: 4, Decided: true,
			Reach: commit.Reach{Scope: commit.ScopeListed, Principals: []string{bea}}}),
		entry(2, commit.Entry{Kind: commit.Content, Base: 7, Decided: true,
			Reach: commit.Reach{Scope: commit.ScopeListed, Principals: []string{ann}, All: true}}),
		entry(3, commit.Entry{Kind: commit.Content, Base: 8, Reach: commit.Reach{Scope: commit.ScopeAll}}), // its outcome is unknown
		entry(4, commit.Entry{Kind: commit.Content, Base: 9, Due: 1, Decided: true}),                       // a move
	} {
		if err := j.Begin(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		j.FinishLater(e)
	}
	if err := j.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := commit.OpenLists(t.Context(), store.Journal)
	if err != nil || len(all) != 1 || len(all[0].Entries) != 3 {
		t.Fatalf("lists %+v, %v; want one of three entries", all, err)
	}
	merged := all[0].Entries[0]
	if merged.Base != 7 || !merged.All || merged.Scope != commit.ScopeListed ||
		!slices.Equal(merged.Principals, []string{ann, bea}) {
		t.Errorf("merged: %+v", merged)
	}
}
