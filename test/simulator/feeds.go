package simulator

import (
	"cmp"
	"context"
	"slices"

	"carrel/core/clock"
	"carrel/core/feed"
)

// bucketRow is a day of a feed.
type bucketRow struct {
	list   feed.Feed
	bucket feed.Bucket
}

// feedCell is an entry of a feed.
type feedCell struct {
	cell
	p     feed.Partition
	entry feed.Entry
}

// feedGroup is the Paxos group of a day of a feed.
func feedGroup(list feed.Feed) string { return "list " + string(list) }

// compareFeedCell orders entries by their partitions, then from the oldest on.
func compareFeedCell(c *feedCell, k feed.Change) int {
	return cmp.Or(cmp.Compare(c.p.Feed, k.Partition.Feed), cmp.Compare(c.p.Day, k.Partition.Day),
		cmp.Compare(c.p.Shard, k.Partition.Shard), feed.Compare(c.entry, k.Entry))
}

// feedCell returns the cell of an entry.
func (st *Store) feedCell(k feed.Change) *feedCell {
	return made(&st.feeds, k, compareFeedCell, func() *feedCell {
		e := feed.Entry{Created: k.Entry.Created, ID: k.Entry.ID}
		return &feedCell{cell: cell{ts: int64(clock.Min)}, p: k.Partition, entry: e}
	})
}

// feeds implements feed.Store.
type feeds struct{ *Client }

// RecordBucket stores a day of a feed if there is none.
func (c feeds) RecordBucket(ctx context.Context, list feed.Feed, b feed.Bucket) (feed.Bucket, error) {
	return change(ctx, c.Client, "RecordBucket", feedGroup(list), func() feed.Bucket {
		for _, row := range c.st.buckets {
			if row.list == list && row.bucket.Day == b.Day {
				return row.bucket
			}
		}
		c.st.buckets = append(c.st.buckets, bucketRow{list, b})
		return b
	})
}

// ListBuckets lists the days of a feed, the newest first.
func (c feeds) ListBuckets(ctx context.Context, list feed.Feed) ([]feed.Bucket, error) {
	return look(ctx, c.Client, "ListBuckets", func() (all []feed.Bucket) {
		for _, row := range c.st.buckets {
			if row.list == list {
				all = append(all, row.bucket)
			}
		}
		slices.SortFunc(all, func(a, b feed.Bucket) int { return cmp.Compare(b.Day, a.Day) })
		return all
	})
}

// PutEntry adds an entry to a feed.
func (c feeds) PutEntry(ctx context.Context, k feed.Change) error {
	return c.write(ctx, "PutEntry", "", func() {
		if cell := c.st.feedCell(k); cell.put(int64(k.MTS)) {
			cell.entry.Until = k.Entry.Until
			c.st.feedChanged(k.Entry.ID, c.a)
		}
	}, nil)
}

// DropEntry removes an entry from a feed.
func (c feeds) DropEntry(ctx context.Context, k feed.Change) error {
	return c.write(ctx, "DropEntry", "", func() { c.st.feedCell(k).del(int64(k.MTS)) }, nil)
}

// ListEntries lists entries of a partition.
func (c feeds) ListEntries(ctx context.Context, p feed.Partition, slice feed.Slice) ([]feed.Entry, error) {
	behind := func(e, bound feed.Entry) bool {
		return slice.Newer == (feed.Compare(e, bound) > 0) && feed.Compare(e, bound) != 0
	}
	return look(ctx, c.Client, "ListEntries", func() (all []feed.Entry) {
		for _, cell := range c.st.feeds {
			within := (slice.From == nil || behind(cell.entry, *slice.From)) && (slice.To == nil || behind(*slice.To, cell.entry))
			if cell.live && cell.p == p && within {
				all = append(all, cell.entry)
			}
		}
		if !slice.Newer {
			slices.Reverse(all)
		}
		return all[:min(len(all), max(slice.Limit, 0))]
	})
}
