package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"carrel/core/commit"
)

const lingers = 10 * time.Minute

// renamed is the change of a user's name.
func renamed(n byte) commit.Entry {
	return commit.Entry{ID: commit.EntryID{n}, Kind: commit.Principal, Key: fmt.Sprintf("u:acme:%d", n), Lingers: true,
		Reach: commit.Reach{Scope: commit.ScopeListed, Former: "former"}}
}

// newLingering returns a journal on whose list changes of principals linger.
func newLingering(t *testing.T, store commit.JournalStore, rt *clockwork) *Journal {
	t.Helper()
	j := New(t.Context(), store, rt, nil)
	j.Linger(commit.Principal, lingers)
	return j
}

// wantListed writes the list, and compares the keys on the lists in the store with those of
// pending changes and of ended ones.
func wantListed(t *testing.T, j *Journal, what string, pending, ended []string) {
	t.Helper()
	if err := j.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	lists, err := commit.OpenLists(t.Context(), j.store)
	if err != nil {
		t.Fatal(err)
	}
	var gotPending, gotEnded []string
	for _, l := range lists {
		for _, e := range l.Entries {
			if e.Ended {
				gotEnded = append(gotEnded, e.Key)
			} else {
				gotPending = append(gotPending, e.Key)
			}
		}
	}
	slices.Sort(gotPending)
	slices.Sort(gotEnded)
	if !slices.Equal(gotPending, pending) || !slices.Equal(gotEnded, ended) {
		t.Errorf("%s: pending are %q, ended %q; want %q and %q", what, gotPending, gotEnded, pending, ended)
	}
}

// change makes a change that lingers, from its beginning to its end.
func (j *Journal) change(t *testing.T, n byte) {
	t.Helper()
	e := renamed(n)
	if err := j.Begin(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	j.Decided(e.ID)
	j.End(e.ID)
}

func TestEnd_LingeringChangeStaysListed(t *testing.T) {
	store, rt := open(t)
	j := newLingering(t, store.Journal, rt)
	if err := j.Begin(t.Context(), renamed(1)); err != nil {
		t.Fatal(err)
	}
	j.Decided(renamed(1).ID)
	rt.pass(lingers)
	wantListed(t, j, "while it is pending", []string{"u:acme:1"}, nil)
	j.End(renamed(1).ID)
	wantListed(t, j, "when it has ended", nil, []string{"u:acme:1"})
	rt.pass(lingers - time.Second)
	j.change(t, 2)
	wantListed(t, j, "just before the time is over", nil, []string{"u:acme:1", "u:acme:2"})
	if st := j.Stats(); st.Entries != 0 || st.Ended != 2 {
		t.Errorf("counted are %d entries and %d ended, want 0 and 2", st.Entries, st.Ended)
	}
	rt.pass(time.Second)
	wantListed(t, j, "when the time of the first is over", nil, []string{"u:acme:2"})
	j.change(t, 2)
	rt.pass(lingers - time.Second)
	wantListed(t, j, "after another change of the second", nil, []string{"u:acme:2"})
	rt.pass(time.Second)
	wantListed(t, j, "when that has lingered, too", nil, nil)
}

func TestEnd_OtherChangesDoNotLinger(t *testing.T) {
	store, rt := open(t)
	j := newLingering(t, store.Journal, rt)
	plain := renamed(1)
	plain.Lingers = false
	for _, e := range []commit.Entry{plain, renamed(2), change(3)} {
		if err := j.Begin(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if e.ID != renamed(2).ID { // which was not applied
			j.Decided(e.ID)
		}
		j.End(e.ID)
	}
	wantListed(t, j, "none of them lingers", nil, nil)
	embedded := New(t.Context(), store.Journal, rt, nil)
	embedded.change(t, 4)
	wantListed(t, embedded, "nothing lingers without Linger", nil, nil)
}

func TestFinishLater_LingersWhenTheBackgroundHasFinished(t *testing.T) {
	store, rt := open(t)
	j := newLingering(t, store.Journal, rt)
	// The outcome of the first is unknown; the others are merged.
	unknown, one, two := renamed(1), renamed(2), renamed(2)
	two.ID, two.Lingers, one.Decided, two.Decided = commit.EntryID{3}, false, true, true
	for _, e := range []commit.Entry{unknown, one, two} {
		if err := j.Begin(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		j.FinishLater(e)
	}
	wantListed(t, j, "before", []string{"u:acme:1", "u:acme:2"}, nil)
	rt.pass(backOffAtLeast)
	if err := j.DoDue(t.Context(), &domain{}); err != nil {
		t.Fatal(err)
	}
	wantListed(t, j, "after", nil, []string{"u:acme:1", "u:acme:2"})
}

// failingWrites is a store that does not acknowledge writes of lists while fails is set.
type failingWrites struct {
	commit.JournalStore
	fails bool
}

func (f *failingWrites) PutInFlightList(ctx context.Context, l commit.InFlightList) error {
	if f.fails {
		return errDown
	}
	return f.JournalStore.PutInFlightList(ctx, l)
}

func TestTakeOver_LingersOnTheNewList(t *testing.T) {
	opened, rt := open(t)
	dead := newLingering(t, opened.Journal, rt)
	dead.change(t, 1)
	former := renamed(2)
	former.Lingers = false // the list of a former release does not say
	if err := errors.Join(dead.Begin(t.Context(), former), dead.Begin(t.Context(), change(3)), dead.Beat(t.Context())); err != nil {
		t.Fatal(err)
	}
	rt.pass(lingers - time.Second)

	store := &failingWrites{JournalStore: opened.Journal, fails: true}
	j := newLingering(t, store, rt)
	d := &domain{}
	if err := j.Recover(t.Context(), d); !errors.Is(err, errDown) {
		t.Fatalf("Recover returns %v without a write of its own list", err)
	}
	store.fails = false
	wantListed(t, j, "after a take-over that failed", []string{"c:acme:3", "u:acme:2"}, []string{"u:acme:1", "u:acme:1", "u:acme:2"})
	if err := j.Recover(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	wantListed(t, j, "after the take-over", nil, []string{"u:acme:1", "u:acme:2"})
	if want := []commit.EntryID{{2}, {2}, {3}, {3}}; !slices.Equal(d.resumed, want) {
		t.Errorf("resumed are %v, want %v", d.resumed, want)
	}
	rt.pass(lingers - time.Second)
	wantListed(t, j, "just before the time is over", nil, []string{"u:acme:1", "u:acme:2"})
	rt.pass(time.Second)
	wantListed(t, j, "when it is over", nil, nil)
}

func TestDrain_LeavesTheListOfWhatLingers(t *testing.T) {
	store, rt := open(t)
	j := newLingering(t, store.Journal, rt)
	j.change(t, 1)
	if err := j.Drain(t.Context(), &domain{}); err != nil {
		t.Fatal(err)
	}
	next := newLingering(t, store.Journal, rt)
	if err := next.Recover(t.Context(), &domain{}); err != nil {
		t.Fatal(err)
	}
	wantListed(t, next, "after a stop and a start", nil, []string{"u:acme:1"})
	rt.pass(lingers)
	wantListed(t, next, "when the time is over", nil, nil)
	if err := next.Drain(t.Context(), &domain{}); err != nil {
		t.Fatal(err)
	}
	if lists, err := store.Journal.InFlightLists(t.Context()); err != nil || len(lists) != 0 {
		t.Errorf("the lists %v remain: %v", lists, err)
	}
}

func TestLinger_TooManyChangesAreOneEntryForAll(t *testing.T) {
	for _, c := range []struct{ lists, most int }{{0, maxEnded}, {1, maxEnded}, {2, maxEnded}, {4, maxEndedOfAll / 4}} {
		store, rt := open(t)
		j := newLingering(t, store.Journal, rt)
		j.counts.InFlightLists = c.lists
		end := func(n int) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.keepEnded(commit.Principal, fmt.Sprintf("u:acme:%d", n))
		}
		for n := range c.most {
			end(n)
		}
		end(0)
		if st := j.Stats(); st.Ended != c.most {
			t.Fatalf("%d changes linger, want %d", st.Ended, c.most)
		}
		end(c.most)
		wantListed(t, j, "beyond the limit", nil, []string{""})
		rt.pass(time.Second)
		end(1)
		wantListed(t, j, "after another change", nil, []string{"", "u:acme:1"})
		rt.pass(lingers - time.Second)
		wantListed(t, j, "when the time of all is over", nil, []string{"u:acme:1"})
	}
}
