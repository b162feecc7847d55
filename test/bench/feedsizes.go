package main

import (
	"context"
	"fmt"
	"math"

	"carrel/core/timeline"
)

const (
	// entryBytes is the approximate size of an entry in a partition on Cassandra: the id
	// of 34 bytes, two times of 8 bytes, and the write timestamp, lengths and flags of
	// the row.
	entryBytes = 64
	// localEntryBytes is the approximate size of an entry on the embedded store, before
	// compression: the key of 55 bytes, which contains the id, with a trailer of 8 bytes, and the
	// value of 10 bytes.
	localEntryBytes = 73
	// manyPastes is a number of pastes for the calculation only; they are not stored.
	manyPastes = 10_000_000
	// mostInPartition is how many entries a partition may have before the entries of the next day
	// are spread over more partitions.
	mostInPartition = 100_000
)

// feedSize is how the entries of a feed are stored.
type feedSize struct {
	days, partitions, entries, largest int
}

// sizeOfPastes counts the entries in each partition of the feed of pastes.
func (g *gateway) sizeOfPastes(ctx context.Context) (size feedSize, err error) {
	const feed = timeline.Feed("pastes")
	days, err := g.store.ListBuckets(ctx, feed, math.MaxInt32, timeline.MaxBuckets)
	if err != nil {
		return size, err
	}
	size.days = len(days)
	for _, d := range days {
		for shard := range d.Shards {
			n, err := g.countEntries(ctx, timeline.Partition{Feed: feed, Day: d.Day, Shard: shard})
			if err != nil {
				return size, err
			}
			size.partitions++
			size.entries += n
			size.largest = max(size.largest, n)
		}
	}
	return size, nil
}

// countEntries counts the entries of a partition.
func (g *gateway) countEntries(ctx context.Context, p timeline.Partition) (n int, err error) {
	var last *timeline.Entry
	for {
		slice, err := g.store.ListEntries(ctx, p, timeline.Slice{From: last, Limit: 1000})
		if err != nil || len(slice.Entries) == 0 {
			return n, err
		}
		n += len(slice.Entries)
		last = &slice.Entries[len(slice.Entries)-1]
	}
}

// printSizes prints the sizes of partitions, and calculates those of manyPastes over as many days.
func (g *gateway) printSizes(ctx context.Context, t *table) error {
	size, err := g.sizeOfPastes(ctx)
	if err != nil {
		return err
	}
	t.title("The partitions of %d pastes over %d days", size.entries, size.days)
	many := fmt.Sprintf("in each with %d pastes, calculated", manyPastes)
	perPartition := manyPastes / size.partitions
	if size.partitions == size.days { // the embedded store sets no limit
		t.figure("partitions, one a day", fmt.Sprint(size.partitions))
		t.figure("entries in the largest", entries(size.largest, localEntryBytes))
		t.figure(many, entries(perPartition, localEntryBytes))
		return nil
	}
	limit := fmt.Sprintf("<= %d", mostInPartition)
	t.figure("partitions", fmt.Sprint(size.partitions))
	t.required("entries in the largest", entries(size.largest, entryBytes), limit, size.largest <= mostInPartition)
	t.required(many, entries(perPartition, entryBytes), limit, perPartition <= mostInPartition)
	return nil
}

// entries formats a number of entries of so many bytes each.
func entries(n, each int) string { return fmt.Sprintf("%d, about %.1f MB", n, float64(n*each)/1e6) }
