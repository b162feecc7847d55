package timeline

import (
	"context"
	"fmt"

	"carrel/core/clock"
	"carrel/core/sched"
)

// Config configures Timelines.
type Config struct {
	Store   Store
	Runtime sched.Runtime
	// Remote reports whether a call to the store takes a round trip. If so, independent calls are made
	// concurrently, and the entries of a day are spread over several partitions.
	Remote bool
}

// Timelines are the feeds of a store. They are safe for concurrent use.
type Timelines struct {
	store   Store
	rt      sched.Runtime
	remote  bool
	buckets buckets
	gaps    gapCache
}

// New returns the feeds of a store.
func New(c Config) *Timelines {
	return &Timelines{
		store: c.Store, rt: c.Runtime, remote: c.Remote,
		buckets: buckets{store: c.Store, rt: c.Runtime, remote: c.Remote, feeds: map[Feed]*cachedBuckets{}},
		gaps:    gapCache{feeds: map[Feed]*knownGaps{}},
	}
}

// each calls do for 0 to n-1: concurrently if the store is remote, otherwise one after the
// other, without a goroutine. It returns the error of the lowest index that has one.
func (t *Timelines) each(ctx context.Context, n int, do func(i int) error) error {
	if t.remote {
		return sched.ForEach(ctx, t.rt, n, maxConcurrent, do)
	}
	for i := range n {
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// Put adds an entry to a feed, or replaces it. mts is the write timestamp of the state of the row that the
// entry is derived from. Put does not replace an entry that has a greater timestamp. But a store may forget a
// Drop, and then a late Put with a smaller timestamp restores the entry: after a Put, the caller must read the
// row again. Put records the day first, because readers look only at recorded days.
func (t *Timelines) Put(ctx context.Context, feed Feed, e Entry, mts clock.Instant) error {
	b, err := t.buckets.record(ctx, feed, DayOf(e.Created))
	if err != nil {
		return err
	}
	if err := t.store.PutEntry(ctx, Change{Partition: b.partition(feed, e), Entry: e, MTS: mts}); err != nil {
		return fmt.Errorf("adding an entry to a feed: %w", err)
	}
	t.gaps.put(feed, e, mts > e.Created)
	return nil
}

// Drop removes an entry from a feed, unless a Put with a greater timestamp has added it. It also records the
// day, so that a late Put with a smaller timestamp writes to the same partition, and loses to the Drop.
func (t *Timelines) Drop(ctx context.Context, feed Feed, e Entry, mts clock.Instant) error {
	b, err := t.buckets.record(ctx, feed, DayOf(e.Created))
	if err != nil {
		return err
	}
	if err := t.store.DropEntry(ctx, Change{Partition: b.partition(feed, e), Entry: e, MTS: mts}); err != nil {
		return fmt.Errorf("removing an entry from a feed: %w", err)
	}
	t.gaps.drop(feed, e)
	return nil
}

// Since returns at most limit entries of a feed that are newer than a position, oldest first. It does not check
// the rows of the entries. Expired entries are omitted. It skips no gaps, because a follower of a feed must see
// entries that arrive late.
func (t *Timelines) Since(ctx context.Context, feed Feed, position Entry, limit int) ([]Entry, error) {
	now := clock.Of(t.rt.Now())
	w, err := t.newWalk(ctx, feed, &position, true, limit, now, t.gaps.begin(feed, t.rt.Elapsed(), now))
	if err != nil {
		return nil, err
	}
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
	l, err := t.store.ListEntries(ctx, b.partition(feed, e), Slice{From: &justAfter, To: before(e.Created), Limit: 1})
	if err != nil || len(l.Entries) == 0 || Compare(l.Entries[0], e) != 0 {
		return Entry{}, false, err
	}
	return l.Entries[0], true, nil
}
