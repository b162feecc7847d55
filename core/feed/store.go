package feed

import (
	"context"

	"carrel/core/clock"
)

// Feed names a feed: "pastes", or "content:" followed by a tenant.
type Feed string

// Day is a day in UTC, counted from 1970-01-01.
type Day int32

// Entry is an entry of a feed. Entries are ordered by Created, then by ID, which never change.
type Entry struct {
	Created clock.Instant
	ID      string
	// Until is when the entry expires; 0 if never. With it, a reader skips an expired entry without reading its row.
	// It is not part of the position, and another put of the entry may change it.
	Until clock.Instant
}

// Bucket is a day that is recorded for a feed, and the number of partitions over which the entries of that day are
// spread. It never changes. A feed has entries only on recorded days.
type Bucket struct {
	Day    Day
	Shards int
}

// Partition identifies one of the partitions of a day. Shard is its number, from 0 on.
type Partition struct {
	Feed  Feed
	Day   Day
	Shard int
}

// Slice describes which entries of a partition to read.
type Slice struct {
	// From and To bound the slice: it has the entries after From and before To, in the direction of reading. If From
	// is nil, it begins with the first entry of the partition; if To is nil, it ends with the last.
	From, To *Entry
	// Newer requests the entries from the oldest to the newest; otherwise the newest come first.
	Newer bool
	Limit int // the largest number of entries
}

// Change is a write of an entry. MTS is the write timestamp of the state of the row that the entry is derived from.
type Change struct {
	Partition Partition
	Entry     Entry
	MTS       clock.Instant
}

// Store keeps the entries of feeds. They are derived: other rows decide what is shown.
type Store interface {
	// RecordBucket stores a bucket, by compare-and-set, unless the feed has a bucket for that day. It must return the
	// bucket that the feed has then. So all calls for a day return the same bucket.
	RecordBucket(ctx context.Context, feed Feed, b Bucket) (Bucket, error)
	// ListBuckets must list all buckets of a feed, the newest first.
	ListBuckets(ctx context.Context, feed Feed) ([]Bucket, error)
	// PutEntry adds an entry, or replaces the one that an earlier put has stored. Of two puts the one with the
	// greater MTS must win. A put must be durable no later than an in-flight list that this process writes after it.
	// A put whose MTS is not greater than that of a drop may be ignored.
	PutEntry(ctx context.Context, c Change) error
	// DropEntry must remove the entry iff no put of it has a greater MTS. It is as durable as a put.
	DropEntry(ctx context.Context, c Change) error
	// ListEntries must list the entries of a slice, in the direction of reading and at most Limit of them, each with
	// the Until of its put with the greatest MTS.
	ListEntries(ctx context.Context, p Partition, s Slice) ([]Entry, error)
}
