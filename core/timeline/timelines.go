package timeline

import (
	"context"
	"fmt"

	"carrel/core/clock"
	"carrel/core/sched"
)

// Config is what Timelines need.
type Config struct {
	Store   Store
	Runtime sched.Runtime
	// Remote reports that a call of the store takes a round trip. Calls that do not depend
	// on each other are then made at the same time.
	Remote bool
}

// Timelines are the feeds of a store. They are safe for concurrent use.
type Timelines struct {
	store   Store
	rt      sched.Runtime
	remote  bool
	buckets buckets
}

// New returns the feeds of a store.
func New(c Config) *Timelines {
	return &Timelines{
		store: c.Store, rt: c.Runtime, remote: c.Remote,
		buckets: buckets{store: c.Store, rt: c.Runtime, feeds: map[Feed]*known{}},
	}
}

// Put adds an entry to a feed. Its day is recorded first: a reader finds no entry of a day
// that is not. mts is the write timestamp of the row's state: of a Put and a Drop of one
// entry the later state wins, whichever arrives first.
func (t *Timelines) Put(ctx context.Context, feed Feed, e Entry, mts clock.Instant) error {
	b, err := t.buckets.fix(ctx, feed, DayOf(e.Created))
	if err != nil {
		return err
	}
	if err := t.store.PutEntry(ctx, Change{Partition: b.partition(feed, e), Entry: e, MTS: mts}); err != nil {
		return fmt.Errorf("adding an entry to a feed: %w", err)
	}
	return nil
}

// Drop removes an entry from a feed, unless a later state has put it there.
func (t *Timelines) Drop(ctx context.Context, feed Feed, e Entry, mts clock.Instant) error {
	b, ok, err := t.buckets.look(ctx, feed, DayOf(e.Created))
	if err != nil {
		return fmt.Errorf("finding the day of an entry: %w", err)
	}
	if !ok {
		return nil // a day that was never recorded has no entries
	}
	if err := t.store.DropEntry(ctx, Change{Partition: b.partition(feed, e), Entry: e, MTS: mts}); err != nil {
		return fmt.Errorf("removing an entry from a feed: %w", err)
	}
	return nil
}

// Since returns the entries of a feed that are newer than a place, the oldest first and
// at most limit, whether their rows justify them or not. Entries that have expired are
// left out.
func (t *Timelines) Since(ctx context.Context, feed Feed, place Entry, limit int) ([]Entry, error) {
	w, err := t.newWalk(ctx, feed, &place, true, limit)
	if err != nil {
		return nil, err
	}
	return w.take(ctx, limit)
}
