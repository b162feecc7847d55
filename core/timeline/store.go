package timeline

import (
	"context"

	"carrel/core/clock"
)

// Feed names a feed: "pastes", or "content:" and a tenant. The feed "complete:" and a kind has a
// day if all feeds of that kind are complete; see Timelines.Complete.
type Feed string

// Day is a day in UTC, counted from 1970-01-01.
type Day int32

// Entry is an entry of a feed. Entries are ordered by Created, then by ID, which never change.
type Entry struct {
	Created clock.Instant
	ID      string
	// Until is when the entry expires; 0 if never. With it, a reader skips an expired entry
	// without reading its row. It is not part of the position, and another put of the entry
	// may change it.
	Until clock.Instant
}

// Bucket is a day that is recorded for a feed, and the number of partitions over which the entries of
// that day are spread. It never changes. A feed has entries only on recorded days.
type Bucket struct {
	Day    Day
	Shards int
}

// Partition holds a part of the entries that were created on a day.
type Partition struct {
	Feed  Feed
	Day   Day
	Shard int
}

// Slice describes the entries to read of a partition.
type Slice struct {
	// From and To bound the slice: it has the entries after From and before To, in the direction
	// of reading. If From is nil, it begins with the first entry of the partition; if To is nil, it
	// ends with the last.
	From, To *Entry
	// Newer requests the entries from the oldest to the newest; otherwise the newest come first.
	Newer bool
	Limit int
}

// Listed is the content of a slice.
type Listed struct {
	Entries []Entry
	// Removed reports that the store has skipped so many removed entries that it took time.
	// A reader should remember which span has no entries.
	Removed bool
}

// Change is a write of an entry. MTS is the write timestamp of the row's state that causes
// it.
type Change struct {
	Partition Partition
	Entry     Entry
	MTS       clock.Instant
}

// MaxBuckets is the most buckets that one call of a Store lists.
const MaxBuckets = 1000

// Store keeps the entries of feeds. They are derived: other rows decide what is shown.
type Store interface {
	// FixBucket stores a bucket, by compare-and-set, unless the feed has one of its day. It
	// must return the bucket that the feed has then. So the result never changes.
	FixBucket(ctx context.Context, feed Feed, b Bucket) (Bucket, error)
	// ListBuckets must list at most limit buckets before a day, the newest first.
	ListBuckets(ctx context.Context, feed Feed, before Day, limit int) ([]Bucket, error)
	// PutEntry adds an entry, or replaces the one that an earlier put has stored. Of two puts the
	// one with the greater MTS must win. A put must be durable no later than an in-flight list
	// of this process that is written after it. A put whose MTS is not greater than that of a drop may be
	// ignored.
	PutEntry(ctx context.Context, c Change) error
	// DropEntry must remove the entry iff no put of it has a greater MTS. It is as durable
	// as a put.
	DropEntry(ctx context.Context, c Change) error
	// ListEntries must list the entries of a partition between two positions, each with the
	// Until of the put that has won, at most as many as the limit of the slice.
	ListEntries(ctx context.Context, p Partition, s Slice) (Listed, error)
}
