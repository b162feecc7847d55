package feed

import (
	"context"
	"fmt"
	"math"

	"carrel/core/clock"
	"carrel/core/sched"
)

// Config configures Timelines.
type Config struct {
	Store   Store
	Runtime sched.Runtime
	// Remote reports whether a call to the store takes a round trip. If so, independent calls are made concurrently,
	// and the entries of a day are spread over several partitions.
	Remote bool
}

// Timelines are the feeds of a store. They are safe for concurrent use.
type Timelines struct {
	store   Store
	rt      sched.Runtime
	width   int // how many calls of the store run at once; at 1, they need no goroutine
	buckets buckets
	heads   heads
}

// New returns the feeds of a store.
func New(c Config) *Timelines {
	width := 1
	if c.Remote {
		width = maxConcurrent
	}
	return &Timelines{
		store: c.Store, rt: c.Runtime, width: width,
		buckets: buckets{c: c, feeds: map[Feed]*cachedBuckets{}},
		heads:   heads{rt: c.Runtime, feeds: map[Feed]*head{}},
	}
}

// Put adds an entry to a feed, or replaces it. mts is the write timestamp of the state of the row that the entry is
// derived from. Put does not replace an entry that has a greater timestamp. But a store may forget a Drop, and then a
// late Put with a smaller timestamp restores the entry: after a Put, the caller must read the row again. Put records
// the day first, because readers look only at recorded days.
func (t *Timelines) Put(ctx context.Context, feed Feed, e Entry, mts clock.Instant) error {
	b, err := t.buckets.record(ctx, feed, DayOf(e.Created))
	if err != nil {
		return err
	}
	if err := t.store.PutEntry(ctx, Change{Partition: b.partition(feed, e), Entry: e, MTS: mts}); err != nil {
		return fmt.Errorf("adding an entry to a feed: %w", err)
	}
	t.heads.put(feed, e)
	return nil
}

// Drop removes an entry from a feed, unless a Put with a greater timestamp has added it. It also records the day, so
// that a late Put with a smaller timestamp writes to the same partition, and loses to the Drop.
func (t *Timelines) Drop(ctx context.Context, feed Feed, e Entry, mts clock.Instant) error {
	b, err := t.buckets.record(ctx, feed, DayOf(e.Created))
	if err != nil {
		return err
	}
	if err := t.store.DropEntry(ctx, Change{Partition: b.partition(feed, e), Entry: e, MTS: mts}); err != nil {
		return fmt.Errorf("removing an entry from a feed: %w", err)
	}
	return nil
}

// Since returns at most limit entries of a feed that are newer than a position, oldest first. It does not check the
// rows of the entries. Expired entries are omitted.
func (t *Timelines) Since(ctx context.Context, feed Feed, position Entry, limit int) ([]Entry, error) {
	w := &walk{t: t, feed: feed, from: &position, newer: true, want: limit, budget: math.MaxInt}
	return w.take(ctx, limit)
}

// Find returns the stored entry at the position of e, with its Until; ok is false if there is none.
func (t *Timelines) Find(ctx context.Context, feed Feed, e Entry) (found Entry, ok bool, err error) {
	b, ok, err := t.buckets.look(ctx, feed, DayOf(e.Created))
	if err != nil || !ok {
		return Entry{}, false, err
	}
	// The position right after the entry, in the order of ids.
	justAfter := Entry{Created: e.Created, ID: e.ID + "\x00"}
	es, err := t.store.ListEntries(ctx, b.partition(feed, e), Slice{From: &justAfter, To: &Entry{Created: e.Created}, Limit: 1})
	if err != nil || len(es) == 0 || Compare(es[0], e) != 0 {
		return Entry{}, false, err
	}
	return es[0], true, nil
}
