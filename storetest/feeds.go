package storetest

import (
	"fmt"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/feed"
)

func feedChecks() []check {
	return []check{
		{"RecordBucket", "It must return the bucket that the feed has then", recordBucket},
		{"RecordBucket", "one of many that record a day at the same time wins", raceForBucket},
		{"ListBuckets", "ListBuckets must list all buckets of a feed, the newest first", listBuckets},
		{"PutEntry", "Of two puts the one with the greater MTS must win", putEntry},
		{"PutEntry", "an entry that was dropped can be put again", putEntryAgain},
		{"DropEntry", "DropEntry must remove the entry iff no put of it has a greater MTS", dropFeedEntry},
		{"ListEntries", "ListEntries must list the entries of a slice, in the direction of reading and at most Limit of them, each " +
			"with the Until of its put with the greatest MTS", listEntries},
		{"ListEntries", "partitions are separate", listOtherPartitions},
	}
}

// feed returns a feed of this subtest.
func (s *env) feed(name string) feed.Feed { return feed.Feed(name + ":" + s.tenant) }

// aDay is the day of the entries of these subtests.
var aDay = feed.DayOf(start)

// recordBucket records a day.
func (s *env) recordBucket(list feed.Feed, b feed.Bucket) feed.Bucket {
	s.Helper()
	return settled(s, func() (feed.Bucket, error) { return s.Feeds.RecordBucket(s.ctx, list, b) })
}

func recordBucket(s *env) {
	first := feed.Bucket{Day: aDay, Shards: 4}
	s.same("the first", s.recordBucket(s.feed("a"), first), first)
	s.same("another of the same day", s.recordBucket(s.feed("a"), feed.Bucket{Day: aDay, Shards: 8}), first)
	next := feed.Bucket{Day: aDay + 1, Shards: 64}
	s.same("another day", s.recordBucket(s.feed("a"), next), next)
	other := feed.Bucket{Day: aDay, Shards: 16}
	s.same("another feed", s.recordBucket(s.feed("ab"), other), other)
	s.same("the first again", s.recordBucket(s.feed("a"), first), first)
}

func raceForBucket(s *env) {
	got := agreed(s, func(n int) (feed.Bucket, error) {
		return s.Feeds.RecordBucket(s.ctx, s.feed("a"), feed.Bucket{Day: aDay, Shards: n + 1})
	})
	s.same("the bucket", s.recordBucket(s.feed("a"), feed.Bucket{Day: aDay, Shards: racers + 1}), got)
}

func listBuckets(s *env) {
	list := func() []feed.Bucket {
		s.Helper()
		got, err := s.Feeds.ListBuckets(s.ctx, s.feed("a"))
		s.ok(err)
		return got
	}
	s.same("of a feed that has none", len(list()), 0)
	var newestFirst []feed.Bucket
	for _, day := range []feed.Day{aDay + 9, aDay + 1, aDay, 1, 0, -1, -400} {
		b := feed.Bucket{Day: day, Shards: 1 + int(day&3)}
		newestFirst = append(newestFirst, b)
		s.recordBucket(s.feed("a"), b)
		s.recordBucket(s.feed("ab"), feed.Bucket{Day: day + 1, Shards: 1})
	}
	s.same("all", list(), newestFirst)
}

// partition returns the partition of this subtest.
func (s *env) partition() feed.Partition {
	return feed.Partition{Feed: s.feed("a"), Day: aDay, Shard: 3}
}

// listed returns a slice of a partition.
func (s *env) listed(p feed.Partition, slice feed.Slice) []feed.Entry {
	s.Helper()
	got, err := s.Feeds.ListEntries(s.ctx, p, slice)
	s.ok(err)
	return got
}

// wantFeed compares all entries of the partition of this subtest, the newest first.
func (s *env) wantFeed(what string, want ...feed.Entry) {
	s.Helper()
	got := s.listed(s.partition(), feed.Slice{Limit: 100})
	if len(got) == 0 {
		got = nil
	}
	s.same(what, got, want)
}

// change returns a write of an entry with a write timestamp.
func (s *env) change(e feed.Entry, mts clock.Instant) feed.Change {
	return feed.Change{Partition: s.partition(), Entry: e, MTS: mts}
}

func putEntry(s *env) {
	e := feed.Entry{Created: s.tick(), ID: "x"}
	until := func(n clock.Instant) feed.Entry { f := e; f.Until = n; return f }
	s.ok(s.Feeds.PutEntry(s.ctx, s.change(until(7), 10)))
	s.wantFeed("once", until(7))
	s.ok(s.Feeds.PutEntry(s.ctx, s.change(until(7), 10)))
	s.wantFeed("the same again", until(7))
	s.ok(s.Feeds.PutEntry(s.ctx, s.change(until(0), 12)))
	s.wantFeed("a later state", until(0))
	s.ok(s.Feeds.PutEntry(s.ctx, s.change(until(9), 11)))
	s.wantFeed("an earlier state that comes late", until(0))
}

// putEntryAgain puts an entry again after it was dropped.
func putEntryAgain(s *env) {
	e := feed.Entry{Created: s.tick(), ID: "x"}
	s.ok(s.Feeds.PutEntry(s.ctx, s.change(e, 10)))
	s.ok(s.Feeds.DropEntry(s.ctx, s.change(e, 11)))
	s.wantFeed("dropped")
	s.ok(s.Feeds.PutEntry(s.ctx, s.change(e, 12)))
	s.wantFeed("put again", e)
}

func dropFeedEntry(s *env) {
	e := feed.Entry{Created: s.tick(), ID: "x"}
	other := feed.Entry{Created: e.Created, ID: "xy"}
	s.ok(s.Feeds.DropEntry(s.ctx, s.change(e, 1)))
	s.ok(s.Feeds.PutEntry(s.ctx, s.change(e, 10)))
	s.ok(s.Feeds.PutEntry(s.ctx, s.change(other, 10)))
	s.wantFeed("two", other, e)
	s.ok(s.Feeds.DropEntry(s.ctx, s.change(e, 9)))
	s.wantFeed("dropped by an earlier state", other, e)
	s.ok(s.Feeds.DropEntry(s.ctx, s.change(e, 10)))
	s.wantFeed("dropped by the same state", other)
	s.ok(s.Feeds.DropEntry(s.ctx, s.change(other, 11)))
	s.wantFeed("dropped by a later state")
	s.ok(s.Feeds.DropEntry(s.ctx, s.change(other, 12)))
	s.wantFeed("dropped twice")
}

func listEntries(s *env) {
	start := s.tick()
	var oldestFirst, newestFirst []feed.Entry
	for n := range 9 {
		// Three at a time were created at the same instant.
		e := feed.Entry{Created: start + clock.Instant(n/3), ID: fmt.Sprintf("%d/\x00ü", n%3), Until: clock.Instant(n % 2)}
		oldestFirst, newestFirst = append(oldestFirst, e), append([]feed.Entry{e}, newestFirst...)
		s.ok(s.Feeds.PutEntry(s.ctx, s.change(e, 10)))
	}
	p := s.partition()
	for _, limit := range []int{1, 2, 4, 8, 9, 10} {
		s.same("from the newest", s.listed(p, feed.Slice{Limit: limit}), newestFirst[:min(limit, 9)])
		s.same("from the oldest", s.listed(p, feed.Slice{Newer: true, Limit: limit}), oldestFirst[:min(limit, 9)])
		for n := range 9 {
			older := feed.Slice{From: &newestFirst[n], Limit: limit}
			newer := feed.Slice{From: &oldestFirst[n], Newer: true, Limit: limit}
			if want := newestFirst[n+1 : min(n+1+limit, 9)]; len(want) > 0 {
				s.same(fmt.Sprintf("%d older than %d", limit, n), s.listed(p, older), want)
				s.same(fmt.Sprintf("%d newer than %d", limit, n), s.listed(p, newer), oldestFirst[n+1:min(n+1+limit, 9)])
			} else {
				s.same("older than the oldest", len(s.listed(p, older)), 0)
				s.same("newer than the newest", len(s.listed(p, newer)), 0)
			}
		}
	}
	for _, newer := range []bool{false, true} {
		inOrder := newestFirst
		if newer {
			inOrder = oldestFirst
		}
		for n := range 9 {
			to := feed.Slice{To: &inOrder[n], Newer: newer, Limit: 20}
			s.same(fmt.Sprintf("before %d", n), len(s.listed(p, to)), n)
			for from := range n {
				to.From = &inOrder[from]
				s.same(fmt.Sprintf("between %d and %d", from, n), append([]feed.Entry{}, s.listed(p, to)...),
					append([]feed.Entry{}, inOrder[from+1:n]...))
			}
			to.From = &inOrder[n]
			s.same("between a position and itself", len(s.listed(p, to)), 0)
		}
	}
	s.same("a limit of 0", len(s.listed(p, feed.Slice{})), 0)
	// A bound need not be the position of an entry.
	between := feed.Entry{Created: start + 1, ID: "1"}
	s.same("older than a position", s.listed(p, feed.Slice{From: &between, Limit: 1}), []feed.Entry{oldestFirst[3]})
	s.same("newer than a position", s.listed(p, feed.Slice{From: &between, Newer: true, Limit: 1}), []feed.Entry{oldestFirst[4]})
	before, after := feed.Entry{Created: start - 1}, feed.Entry{Created: start + 9}
	s.same("older than all", len(s.listed(p, feed.Slice{From: &before, Limit: 9})), 0)
	s.same("newer than a position before all", s.listed(p, feed.Slice{From: &before, Newer: true, Limit: 9}), oldestFirst)
	s.same("older than a position after all", s.listed(p, feed.Slice{From: &after, Limit: 9}), newestFirst)
	s.same("newer than all", len(s.listed(p, feed.Slice{From: &after, Newer: true, Limit: 9})), 0)
}

func listOtherPartitions(s *env) {
	e := feed.Entry{Created: s.tick(), ID: "x"}
	all := []feed.Partition{
		{Feed: s.feed("a"), Day: aDay, Shard: 0}, {Feed: s.feed("a"), Day: aDay, Shard: 1}, {Feed: s.feed("a"), Day: aDay, Shard: 63},
		{Feed: s.feed("a"), Day: aDay + 1, Shard: 0}, {Feed: s.feed("a"), Day: -1, Shard: 0}, {Feed: s.feed("ab"), Day: aDay, Shard: 0},
	}
	const day = clock.Instant(24 * time.Hour / time.Microsecond)
	of := func(n int) feed.Entry { // of the day of its partition
		return feed.Entry{Created: clock.Instant(all[n].Day)*day + e.Created%day, ID: e.ID, Until: clock.Instant(n)}
	}
	for n, p := range all {
		s.ok(s.Feeds.PutEntry(s.ctx, feed.Change{Partition: p, Entry: of(n), MTS: 10}))
	}
	s.ok(s.Feeds.DropEntry(s.ctx, feed.Change{Partition: all[1], Entry: of(1), MTS: 11}))
	for n, p := range all {
		for _, newer := range []bool{false, true} {
			got := s.listed(p, feed.Slice{Newer: newer, Limit: 9})
			if n == 1 {
				s.same("the partition whose entry was dropped", len(got), 0)
				continue
			}
			s.same(fmt.Sprintf("partition %v", p), got, []feed.Entry{of(n)})
		}
	}
}

// durableEntry puts an entry before an in-flight list, and has a commit make both durable.
func durableEntry(s *durableEnv) {
	put, dropped := feed.Entry{Created: s.tick(), ID: "put"}, feed.Entry{Created: s.tick(), ID: "dropped"}
	s.ok(s.Feeds.PutEntry(s.ctx, s.change(dropped, 10)))
	s.ok(s.Feeds.PutEntry(s.ctx, s.change(put, 10)))
	s.ok(s.Feeds.DropEntry(s.ctx, s.change(dropped, 11)))
	s.ok(s.Journal.PutInFlightList(s.ctx, commit.InFlightList{ID: "00000000-0000-4000-8000-00000000feed", Stamp: 1, Block: []byte{1}}))
	s.commitPaste(s.pasted(1, 1))
	s.crash()
	inFlightLists, err := s.Journal.InFlightLists(s.ctx)
	s.ok(err)
	inFlightLists = slices.DeleteFunc(inFlightLists, func(l commit.InFlightList) bool { return len(l.Block) == 0 })
	s.same("the lists", len(inFlightLists), 1)
	s.wantFeed("the feed", put)
}
