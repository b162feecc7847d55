package nemesis

import (
	"context"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/domain"
)

// rule is a rule of the write protocol that a process does not follow.
type rule string

// The rules that a process can lack. The tests show that they detect it.
const (
	everyRule        rule = ""
	entryAfterCommit rule = "the in-flight entry is written after the compare-and-set"
	noFence          rule = "a change that was not decided is dropped without a fence"
	listDroppedNewer rule = "a list is deleted with a newer timestamp than the one that was read"
)

// lateJournal adds an entry to the list only once its change is decided.
type lateJournal struct {
	commit.Journal
	mu   sync.Mutex
	held map[commit.EntryID]commit.Entry
}

// Begin implements commit.Journal.
func (j *lateJournal) Begin(_ context.Context, e commit.Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.held == nil {
		j.held = map[commit.EntryID]commit.Entry{}
	}
	j.held[e.ID] = e
	return nil
}

// Decided implements commit.Journal.
func (j *lateJournal) Decided(id commit.EntryID) {
	j.mu.Lock()
	e, held := j.held[id]
	delete(j.held, id)
	j.mu.Unlock()
	if held {
		ctx, cancel := context.WithTimeout(context.Background(), runTimeout)
		defer cancel()
		_ = j.Journal.Begin(ctx, e) // it fails if the process has died
	}
	j.Journal.Decided(id)
}

// newerDrops deletes lists as if they had been read just now.
type newerDrops struct{ commit.JournalStore }

// DeleteInFlightList implements commit.JournalStore.
func (s newerDrops) DeleteInFlightList(ctx context.Context, id commit.ListID, stamp int64) error {
	return s.JournalStore.DeleteInFlightList(ctx, id, max(stamp, int64(clock.Of(time.Now())))+1)
}

// unfenced finishes changes as if they were decided, whatever their outcome.
type unfenced struct{ domain.Background }

// Resume implements journal.Service.
func (s unfenced) Resume(ctx context.Context, e commit.Entry) (bool, error) {
	e.Decided, e.Base = true, -1
	return s.Background.Resume(ctx, e)
}
