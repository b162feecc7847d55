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
	"carrel/core/fault"
	"carrel/core/feed"
	"carrel/core/sched"
)

// feedDay is the day of the entries in these tests.
var feedDay = feed.DayOf(someTime)

// feedEntry returns the n-th entry of feedDay.
func feedEntry(n int) feed.Entry {
	day := clock.Instant(feedDay) * clock.Instant(24*time.Hour/time.Microsecond)
	return feed.Entry{Created: day + clock.Instant(n)*500_000, ID: fmt.Sprint(n)}
}

// removeEntries removes entry(from) to entry(from+n-1), which leaves n tombstones in the partition.
func removeEntries(t *testing.T, s *Store, p feed.Partition, entry func(n int) feed.Entry, from, n int) {
	t.Helper()
	const batch = 250
	err := session.ForEach(t.Context(), (n+batch-1)/batch, 8, func(ctx context.Context, i int) error {
		b := s.session.Driver().NewBatch(gocql.UnloggedBatch).WithContext(ctx)
		for k := from + i*batch; k < from+min(n, (i+1)*batch); k++ {
			e := entry(k)
			b.Query(dropFeedEntry, int64(e.Created), string(p.Feed), dateOf(p.Day), int8(p.Shard), int64(e.Created), e.ID)
		}
		return s.session.Driver().ExecuteBatch(b)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFeeds_SliceBehindTooManyTombstonesIsReadInParts: a node refuses a read that meets too many
// tombstones. A slice after so many is read in parts.
func TestFeeds_SliceBehindTooManyTombstonesIsReadInParts(t *testing.T) {
	s := open(t, options(t))
	p := feed.Partition{Feed: "pastes", Day: feedDay, Shard: 1}
	limit := node.Tombstones(t)
	removeEntries(t, s, p, feedEntry, 10, limit/10*11)
	to := feedEntry(limit / 10 * 12)
	want := []feed.Entry{feedEntry(5), feedEntry(3), feedEntry(1)}
	for _, e := range append(slices.Clone(want), to) {
		if err := s.Feeds.PutEntry(t.Context(), feed.Change{Partition: p, Entry: e, MTS: e.Created}); err != nil {
			t.Fatal(err)
		}
	}
	older, err := s.Feeds.ListEntries(t.Context(), p, feed.Slice{From: &to, Limit: 3})
	if diff := cmp.Diff(want, older); err != nil || diff != "" {
		t.Errorf("the older ones: %v (-want +got):\n%s", err, diff)
	}
	newer, err := s.Feeds.ListEntries(t.Context(), p, feed.Slice{Newer: true, Limit: 9})
	slices.Reverse(want)
	if diff := cmp.Diff(append(want, to), newer); err != nil || diff != "" {
		t.Errorf("from the oldest on: %v (-want +got):\n%s", err, diff)
	}
	from := feedEntry(4)
	near, err := s.Feeds.ListEntries(t.Context(), p, feed.Slice{From: &from, Limit: 2})
	if diff := cmp.Diff([]feed.Entry{feedEntry(3), feedEntry(1)}, near); err != nil || diff != "" {
		t.Errorf("a slice that passes none: %v (-want +got):\n%s", err, diff)
	}
}

// TestFeeds_FewReadsAreRefused: a refused read is expensive for a node. If a tenth more entries than the
// limit were removed, all of them created within 40 seconds, at most three reads are refused.
func TestFeeds_FewReadsAreRefused(t *testing.T) {
	var refused, all atomic.Int64
	o := options(t)
	o.Observe = func(_ context.Context, seen session.Observation) {
		if seen.Operation != "list a feed" {
			return
		}
		if all.Add(1); seen.Outcome != "ok" {
			refused.Add(1)
		}
	}
	s := open(t, o)
	p := feed.Partition{Feed: "pastes", Day: feedDay, Shard: 1}
	entries := node.Tombstones(t) / 10 * 11
	removeEntries(t, s, p, func(n int) feed.Entry {
		e := feedEntry(n)
		e.Created = feedEntry(0).Created + clock.Instant(10*time.Hour+time.Duration(n)*40*time.Second/time.Duration(entries))/1000
		return e
	}, 0, entries)
	last := feedEntry(0)
	if err := s.Feeds.PutEntry(t.Context(), feed.Change{Partition: p, Entry: last, MTS: last.Created}); err != nil {
		t.Fatal(err)
	}
	l, err := s.Feeds.ListEntries(t.Context(), p, feed.Slice{Limit: 2})
	if diff := cmp.Diff([]feed.Entry{last}, l); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// The whole day, one part of 90 minutes and one of 5.6 minutes have too many tombstones. No part of 21
	// seconds has.
	if n := refused.Load(); n == 0 || n > 3 || all.Load() > 60 {
		t.Errorf("%d of %d reads were refused, want 1 to 3 of at most 60", n, all.Load())
	}
}

// TestFeeds_PartsOfAShortSliceKeepItsBounds: a slice of 20 microseconds that is read in parts lists no
// entry outside its bounds, and no more than its limit.
func TestFeeds_PartsOfAShortSliceKeepItsBounds(t *testing.T) {
	s := open(t, options(t))
	p := feed.Partition{Feed: "pastes", Day: feedDay, Shard: 1}
	first := feedEntry(0).Created
	at := func(instant int, id string) feed.Entry {
		return feed.Entry{Created: first + 10*clock.Instant(instant), ID: id}
	}
	removeEntries(t, s, p, func(n int) feed.Entry { return at(n%3, fmt.Sprint("m", n)) }, 0, node.Tombstones(t)/10*16)
	for instant := range 3 {
		for _, id := range []string{"a", "c", "x", "z"} {
			e := at(instant, id)
			if err := s.Feeds.PutEntry(t.Context(), feed.Change{Partition: p, Entry: e, MTS: e.Created}); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The tombstones of any two instants are too many, and the sixth entry is behind those of two.
	older, newer := at(0, "b"), at(2, "y")
	want := []feed.Entry{at(2, "x"), at(2, "c"), at(2, "a"), at(1, "z"), at(1, "x"), at(1, "c"), at(1, "a"), at(0, "z"),
		at(0, "x"), at(0, "c")}
	for _, limit := range []int{99, 10, 7, 6} { // with 7, the limit is reached at the end of a part
		l, err := s.Feeds.ListEntries(t.Context(), p, feed.Slice{From: &newer, To: &older, Limit: limit})
		if diff := cmp.Diff(want[:min(limit, len(want))], l); err != nil || diff != "" {
			t.Errorf("newest first, limit %d: %v (-want +got):\n%s", limit, err, diff)
		}
	}
	slices.Reverse(want)
	for _, limit := range []int{99, 10, 7, 6} {
		l, err := s.Feeds.ListEntries(t.Context(), p, feed.Slice{From: &older, To: &newer, Newer: true, Limit: limit})
		if diff := cmp.Diff(want[:min(limit, len(want))], l); err != nil || diff != "" {
			t.Errorf("oldest first, limit %d: %v (-want +got):\n%s", limit, err, diff)
		}
	}
}

// TestFeeds_TooManyTombstonesOfOneInstantAreAnError: an instant cannot be divided.
func TestFeeds_TooManyTombstonesOfOneInstantAreAnError(t *testing.T) {
	s := open(t, options(t))
	p := feed.Partition{Feed: "pastes", Day: feedDay, Shard: 1}
	removeEntries(t, s, p, func(n int) feed.Entry {
		return feed.Entry{Created: feedEntry(0).Created, ID: fmt.Sprint(n)}
	}, 0, node.Tombstones(t)/10*11)
	if _, err := s.Feeds.ListEntries(t.Context(), p, feed.Slice{Limit: 1}); fault.CodeOf(err) != fault.Unavailable ||
		!session.TooManyTombstones(err) {
		t.Errorf("%v, want UNAVAILABLE because of tombstones", err)
	}
}

// TestFeeds_NewestPageBehindTombstones: the newest page is right after more entries were removed from each partition
// than a node passes at once.
func TestFeeds_NewestPageBehindTombstones(t *testing.T) {
	s := open(t, options(t))
	rt := sched.NewReal()
	defer rt.Close()
	feeds := feed.New(feed.Config{Store: s.Feeds, Runtime: rt, Remote: true})
	const entries = 400
	for n := range entries {
		if err := feeds.Put(t.Context(), "pastes", feedEntry(n), feedEntry(n).Created); err != nil {
			t.Fatal(err)
		}
	}
	for shard := range 4 {
		removeEntries(t, s, feed.Partition{Feed: "pastes", Day: feedDay, Shard: shard}, feedEntry, entries, node.Tombstones(t)/10*11)
	}
	for range 2 {
		page, err := feed.Read(t.Context(), feeds, "pastes", feed.Query{Size: 20}, showAll)
		if err != nil || len(page.Found) != 20 || *page.Found[0].Item != feedEntry(entries-1).ID {
			t.Fatalf("%+v, %v", page, err)
		}
	}
}

// showAll shows every entry. It implements feed.LoadVisible.
func showAll(_ context.Context, es []feed.Entry) ([]*string, error) {
	ids := make([]*string, len(es))
	for i := range es {
		ids[i] = &es[i].ID
	}
	return ids, nil
}
