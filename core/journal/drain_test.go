package journal

import (
	"context"
	"errors"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
)

// hurried is a clockwork whose pauses pass at once. When its clock has passed ends, pauses return
// the error of a context that has ended.
type hurried struct {
	*clockwork
	ends time.Duration
}

func (h *hurried) After(_ context.Context, d time.Duration) error {
	h.pass(d)
	if h.Elapsed() > h.ends {
		return context.DeadlineExceeded
	}
	return nil
}

// outage is a domain whose store is down until a time.
type outage struct {
	domain
	rt     *hurried
	until  time.Duration
	failed int // tries
}

func (o *outage) down() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rt.Elapsed() < o.until {
		o.failed++
		return errDown
	}
	return nil
}

func (o *outage) Resume(ctx context.Context, e commit.Entry) (bool, error) {
	if err := o.down(); err != nil {
		return false, err
	}
	return o.domain.Resume(ctx, e)
}

func (o *outage) RunDue(ctx context.Context, e commit.Entry) (bool, error) {
	if err := o.down(); err != nil {
		return false, err
	}
	return o.domain.RunDue(ctx, e)
}

// A process that shuts down finishes the changes that failed in an outage as soon as the
// outage is over, however long their pauses are. It has ten seconds, as in the gateway.
func TestDrain_DoesNotWaitForPausesOfFailedChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		lasts  time.Duration // the outage, from when draining begins
		failed int           // tries of each meanwhile: one a second
		err    error
	}{
		{"an outage that is over", 0, 0, nil},
		{"an outage that is over in time", 9 * time.Second, 9, nil},
		{"an outage that is not", time.Minute, 11, context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, wall := open(t)
			rt := &hurried{clockwork: wall}
			j := New(t.Context(), store.Journal, rt, nil)
			d := &outage{rt: rt, until: time.Hour}
			failed, move := change(1), change(2)
			move.Due = clock.Of(rt.Now())
			if err := errors.Join(j.Begin(t.Context(), failed), j.Begin(t.Context(), move)); err != nil {
				t.Fatal(err)
			}
			j.FinishLater(failed)
			j.Defer(move)
			for range 6 {
				rt.pass(time.Minute)
				if err := j.DoDue(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			if d.failed != 2*6 {
				t.Fatalf("%d tries failed before, want six of each", d.failed)
			}
			d.failed, d.until, rt.ends = 0, rt.Elapsed()+c.lasts, rt.Elapsed()+10*time.Second
			if err := j.Drain(t.Context(), d); !errors.Is(err, c.err) {
				t.Errorf("Drain returned %v", err)
			}
			if d.failed != 2*c.failed {
				t.Errorf("%d tries failed, want %d of each", d.failed, c.failed)
			}
			done := len(d.resumed) == 1 && len(d.moved) == 1 && len(inFlightLists(t, store.Journal)) == 0
			if done != (c.err == nil) {
				t.Errorf("resumed %v, moved %v, remaining lists: %v", d.resumed, d.moved, inFlightLists(t, store.Journal))
			}
		})
	}
}

// meanwhile is a hurried that calls a function in the first pause.
type meanwhile struct {
	*hurried
	do func()
}

func (m *meanwhile) After(ctx context.Context, d time.Duration) error {
	if do := m.do; do != nil {
		m.do = nil
		do()
	}
	return m.hurried.After(ctx, d)
}

// A change that is deferred while the process drains does not wait until it is due.
func TestDrain_DoesNotWaitForAMoveDeferredMeanwhile(t *testing.T) {
	store, clocks := open(t)
	rt := &meanwhile{hurried: &hurried{clockwork: clocks, ends: 10 * time.Second}}
	j := New(t.Context(), store.Journal, rt, nil)
	e := change(1)
	e.Due = clock.Of(rt.Now()).Add(time.Hour)
	if err := j.Begin(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	rt.do = func() { j.Defer(e) }
	d := &domain{}
	if err := j.Drain(t.Context(), d); err != nil || len(d.moved) != 1 {
		t.Errorf("moved %v, %v", d.moved, err)
	}
}

// droppedLists records which lists are deleted.
type droppedLists struct {
	commit.JournalStore
	dropped []commit.InFlightList
}

func (d *droppedLists) DeleteInFlightList(ctx context.Context, id commit.ListID, stamp int64) error {
	d.dropped = append(d.dropped, commit.InFlightList{ID: id, Stamp: stamp})
	return d.JournalStore.DeleteInFlightList(ctx, id, stamp)
}

// A store may keep an empty list until it is deleted.
func TestDrain_DeletesItsList(t *testing.T) {
	opened, rt := open(t)
	store := &droppedLists{JournalStore: opened.Journal}
	j := New(t.Context(), store, rt, nil)
	if err := j.Drain(t.Context(), &domain{}); err != nil || len(store.dropped) > 0 {
		t.Errorf("deleted %v, %v, although nothing was written", store.dropped, err)
	}
	if err := j.Begin(t.Context(), change(1)); err != nil {
		t.Fatal(err)
	}
	j.End(change(1).ID)
	if err := j.Drain(t.Context(), &domain{}); err != nil || len(store.dropped) != 1 ||
		store.dropped[0].ID != j.InFlightList() || store.dropped[0].Stamp != j.stamp {
		t.Errorf("deleted %v, %v; the list is %s, last written at %d", store.dropped, err, j.InFlightList(), j.stamp)
	}
}

// A list with the entry of a new change must not be deleted.
func TestDrain_KeepsAListWrittenMeanwhile(t *testing.T) {
	opened, rt := open(t)
	store := &droppedLists{JournalStore: opened.Journal}
	j := New(t.Context(), store, rt, nil)
	for name, change := range map[string]func(){
		"a change has begun":              func() { j.entries = append(j.entries, &entry{Entry: change(2)}) },
		"a write is under way":            func() { j.stamp++ },
		"an entry was taken off":          func() { j.dirty = true },
		"a write is not acknowledged yet": func() { j.acked-- },
	} {
		j.entries, j.dirty, j.stamp, j.acked = nil, false, 7, 7
		change()
		if j.unused() != 0 {
			t.Errorf("%s: the list may be deleted", name)
		}
	}
	j.entries, j.dirty, j.stamp, j.acked = nil, false, 7, 7
	if got := j.unused(); got != 7 {
		t.Errorf("an empty list that was written may be deleted at %d, want 7", got)
	}
}
