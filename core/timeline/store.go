package timeline

import (
	"context"

	"carrel/core/clock"
)

// Feed names a feed: "pastes", or "content:" and a tenant.
type Feed string

// Day is a day in UTC, counted from 1970-01-01.
type Day int32

// Entry is something in a feed: when it was created, and its id. Entries are in order of
// both, and neither ever changes.
type Entry struct {
	Created clock.Instant
	ID      string
	// Until is when the entry ceases to be shown; 0: never. It is no part of its place, and
	// another put of the entry may change it. So a reader passes over what has expired
	// without reading its row.
	Until clock.Instant
}

// Bucket is a day of which a feed has entries, and over how many partitions they are
// spread. It never changes.
type Bucket struct {
	Day    Day
	Shards int
}

// Partition is where a part of the entries of a day is stored. All of them were created on
// that day.
type Partition struct {
	Feed  Feed
	Day   Day
	Shard int
}

// Slice is what is read of a partition.
type Slice struct {
	// From and To bound the slice: it has what comes behind the one place and before the
	// other, in the direction of the walk. nil: to the end of the partition.
	From, To *Entry
	// Newer walks towards newer entries, the oldest first; otherwise the newest come first.
	Newer bool
	Limit int
}

// Listed is what a slice has.
type Listed struct {
	Entries []Entry
	// Removed reports that the store has passed so many entries that were removed that it
	// took time. A reader had better remember where there is nothing.
	Removed bool
}

// Change is a write of an entry. MTS is the write timestamp of the state of the row that
// asks for it.
type Change struct {
	Partition Partition
	Entry     Entry
	MTS       clock.Instant
}

// MaxBuckets is the most buckets that one call of a Store lists.
const MaxBuckets = 1000

// Store keeps the entries of feeds. They are derived: rows elsewhere decide what is shown.
type Store interface {
	// FixBucket stores a bucket where the feed has none of its day, by compare-and-set. It
	// must return the bucket that the feed has then. So what it returns lasts.
	FixBucket(ctx context.Context, feed Feed, b Bucket) (Bucket, error)
	// ListBuckets must list at most limit buckets before a day, the newest first.
	ListBuckets(ctx context.Context, feed Feed, before Day, limit int) ([]Bucket, error)
	// PutEntry adds an entry, or replaces what an earlier put has stored. Of two puts the
	// one with the greater MTS must win. It must be durable no later than a lane of this
	// process that is written after it. A put that is older than a drop may be left out.
	PutEntry(ctx context.Context, c Change) error
	// DropEntry must remove the entry iff no put of it has a greater MTS. It is durable when
	// a put would be.
	DropEntry(ctx context.Context, c Change) error
	// ListEntries must list the entries of a partition between two places, each with the
	// Until of the put that has won, at most as many as the slice asks for.
	ListEntries(ctx context.Context, p Partition, s Slice) (Listed, error)
}
