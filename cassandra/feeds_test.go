package cassandra

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"github.com/google/go-cmp/cmp"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/sched"
	"carrel/core/timeline"
)

// feedDay is the day of the entries in these tests.
var feedDay = timeline.DayOf(someTime)

// feedEntry returns the n-th entry of feedDay.
func feedEntry(n int) timeline.Entry {
	day := clock.Instant(feedDay) * clock.Instant(24*time.Hour/time.Microsecond)
	return timeline.Entry{Created: day + clock.Instant(n)*500_000, ID: fmt.Sprint(n)}
}

// removeEntries leaves a tombstone for each of n entries of a partition, starting with a number.
func removeEntries(t *testing.T, s *Store, p timeline.Partition, from, n int) {
	t.Helper()
	const batch = 250
	err := session.ForEach(t.Context(), (n+batch-1)/batch, 8, func(ctx context.Context, i int) error {
		b := s.session.Driver().NewBatch(gocql.UnloggedBatch).WithContext(ctx)
		for k := from + i*batch; k < from+min(n, (i+1)*batch); k++ {
			e := feedEntry(k)
			b.Query(dropFeedEntry, int64(e.Created), string(p.Feed), dateOf(p.Day), int8(p.Shard), int64(e.Created), e.ID)
		}
		return s.session.Driver().ExecuteBatch(b)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFeeds_SliceBehindTooManyTombstonesIsReadInParts: a node refuses to pass too many tombstones in
// one read. A slice after so many is read in parts.
func TestFeeds_SliceBehindTooManyTombstonesIsReadInParts(t *testing.T) {
	s := open(t, options(t))
	p := timeline.Partition{Feed: "pastes", Day: feedDay, Shard: 1}
	limit := node.Tombstones(t)
	removeEntries(t, s, p, 10, limit/10*11)
	to := feedEntry(limit / 10 * 12)
	want := []timeline.Entry{feedEntry(5), feedEntry(3), feedEntry(1)}
	for _, e := range append(slices.Clone(want), to) {
		if err := s.PutEntry(t.Context(), timeline.Change{Partition: p, Entry: e, MTS: e.Created}); err != nil {
			t.Fatal(err)
		}
	}
	older, err := s.ListEntries(t.Context(), p, timeline.Slice{From: &to, Limit: 3})
	if diff := cmp.Diff(want, older.Entries); err != nil || diff != "" || !older.Removed {
		t.Errorf("the older ones: removed %t, %v (-want +got):\n%s", older.Removed, err, diff)
	}
	newer, err := s.ListEntries(t.Context(), p, timeline.Slice{Newer: true, Limit: 9})
	slices.Reverse(want)
	if diff := cmp.Diff(append(want, to), newer.Entries); err != nil || diff != "" || !newer.Removed {
		t.Errorf("from the oldest on: removed %t, %v (-want +got):\n%s", newer.Removed, err, diff)
	}
	from := feedEntry(4)
	near, err := s.ListEntries(t.Context(), p, timeline.Slice{From: &from, Limit: 2})
	if diff := cmp.Diff([]timeline.Entry{feedEntry(3), feedEntry(1)}, near.Entries); err != nil || diff != "" || near.Removed {
		t.Errorf("a slice that passes none: removed %t, %v (-want +got):\n%s", near.Removed, err, diff)
	}
}

// tombstoneCounter counts the slices that passed many tombstones.
type tombstoneCounter struct {
	timeline.Store
	slices, removed atomic.Int64
}

func (n *tombstoneCounter) ListEntries(ctx context.Context, p timeline.Partition, s timeline.Slice) (timeline.Listed, error) {
	l, err := n.Store.ListEntries(ctx, p, s)
	n.slices.Add(1)
	if l.Removed {
		n.removed.Add(1)
	}
	return l, err
}

// TestFeeds_PagesGoAroundTombstones: after many entries at the head were removed, the following
// pages do not pass their tombstones.
func TestFeeds_PagesGoAroundTombstones(t *testing.T) {
	s := open(t, options(t))
	rt := sched.NewReal()
	defer rt.Close()
	store := &tombstoneCounter{Store: s}
	feeds := timeline.New(timeline.Config{Store: store, Runtime: rt, Remote: true})
	const entries, removed = 400, 8000
	for n := range entries {
		if err := feeds.Put(t.Context(), "pastes", feedEntry(n), feedEntry(n).Created); err != nil {
			t.Fatal(err)
		}
	}
	for shard := range 4 {
		removeEntries(t, s, timeline.Partition{Feed: "pastes", Day: feedDay, Shard: shard}, entries, removed)
	}
	read := func() (slices, removed int64) {
		t.Helper()
		store.slices.Store(0)
		store.removed.Store(0)
		page, err := timeline.Read(t.Context(), feeds, "pastes", timeline.Query{Size: 20}, showAll)
		if err != nil || len(page.Found) != 20 || *page.Found[0].Item != feedEntry(entries-1).ID {
			t.Fatalf("%+v, %v", page, err)
		}
		return store.slices.Load(), store.removed.Load()
	}
	if _, passed := read(); passed == 0 {
		t.Fatal("the first page has passed no tombstones: the test checks nothing")
	}
	if slices, passed := read(); passed != 0 || slices > 8 {
		t.Errorf("the second page took %d slices, %d of which passed tombstones; want 8 at most, none", slices, passed)
	}
}

// showAll shows every entry. It implements timeline.LoadVisible.
func showAll(_ context.Context, es []timeline.Entry) ([]*string, error) {
	ids := make([]*string, len(es))
	for i := range es {
		ids[i] = &es[i].ID
	}
	return ids, nil
}
