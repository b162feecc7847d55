package pebblestore

import (
	"context"
	"encoding/binary"

	"carrel/core/clock"
	"carrel/core/feed"
)

// feeds implements feed.Store.
type feeds struct{ *Store }

// RecordBucket implements feed.Store.
func (s feeds) RecordBucket(ctx context.Context, of feed.Feed, bucket feed.Bucket) (feed.Bucket, error) {
	key := appendBucketKey(nil, of, bucket.Day)
	err := s.write(ctx, "record a day of a feed", key, s.commitSynced, func(b *batch) error {
		value, found, err := s.get(key)
		if err != nil {
			return err
		}
		if found {
			bucket.Shards, err = decodeBucket(value)
			return err
		}
		b.set(key, appendBucketRow(nil, bucket.Shards))
		return nil
	})
	if err != nil {
		return feed.Bucket{}, err
	}
	return bucket, nil
}

// ListBuckets implements feed.Store.
func (s feeds) ListBuckets(ctx context.Context, of feed.Feed) ([]feed.Bucket, error) {
	rows := under(appendPartition(nil, tableBucket, string(of)), unlimited)
	rows.backwards = true
	return list(ctx, s.Store, "list the days of a feed", rows, func(key, value []byte) (b feed.Bucket, err error) {
		if b.Day, err = cutDay(key); err == nil {
			b.Shards, err = decodeBucket(value)
		}
		return b, err
	})
}

// PutEntry implements feed.Store. A drop leaves no tombstone, so a delayed put that arrives
// after a later drop is stored.
func (s feeds) PutEntry(ctx context.Context, c feed.Change) error {
	key := appendFeedKey(nil, c.Partition, c.Entry)
	return s.write(ctx, "add to a feed", key, s.commitLater, func(b *batch) error {
		before, _, err := s.entryAt(key)
		if before <= c.MTS {
			b.set(key, appendFeedEntry(nil, c.MTS, c.Entry.Until))
		}
		return err
	})
}

// DropEntry implements feed.Store.
func (s feeds) DropEntry(ctx context.Context, c feed.Change) error {
	key := appendFeedKey(nil, c.Partition, c.Entry)
	return s.write(ctx, "remove from a feed", key, s.commitLater, func(b *batch) error {
		before, found, err := s.entryAt(key)
		if err != nil || !found || before > c.MTS {
			return err
		}
		s.dead.mu.Lock()
		s.dead.add(string(c.Partition.Feed), 1)
		s.dead.mu.Unlock()
		b.delete(key)
		return nil
	})
}

// entryAt reads the MTS of the entry at a key. It returns clock.Min if there is none.
func (s feeds) entryAt(key []byte) (mts clock.Instant, found bool, err error) {
	value, found, err := s.get(key)
	if err != nil || !found {
		return clock.Min, false, err
	}
	mts, _, err = decodeFeedEntry(value)
	return mts, true, err
}

// ListEntries implements feed.Store.
func (s feeds) ListEntries(ctx context.Context, p feed.Partition, slice feed.Slice) ([]feed.Entry, error) {
	prefix := appendFeedPartition(nil, p)
	rows := under(prefix, slice.Limit)
	rows.backwards = !slice.Newer
	older, newer := slice.To, slice.From // the bounds of the slice
	if slice.Newer {
		older, newer = newer, older
	}
	if older != nil {
		rows.from = appendAfter(appendFeedKey(nil, p, *older))
	}
	if newer != nil {
		rows.to = appendFeedKey(nil, p, *newer)
	}
	return list(ctx, s.Store, "list a feed", rows, func(key, value []byte) (e feed.Entry, err error) {
		created, id, err := cutInstant(key[len(prefix):])
		if err == nil {
			_, e.Until, err = decodeFeedEntry(value)
		}
		e.Created, e.ID = created, string(id)
		return e, err
	})
}

// appendDay appends a day so that earlier ones sort first.
func appendDay(b []byte, day feed.Day) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(day)^(1<<31))
}

// appendBucketKey appends the key of the row that counts the shards of a day.
func appendBucketKey(b []byte, list feed.Feed, day feed.Day) []byte {
	return appendDay(appendPartition(b, tableBucket, string(list)), day)
}

// cutDay reads the day that the key of a row ends with.
func cutDay(k []byte) (feed.Day, error) {
	if len(k) < 4 {
		return 0, errKey
	}
	return feed.Day(binary.BigEndian.Uint32(k[len(k)-4:]) ^ (1 << 31)), nil
}

// appendFeedPartition appends the common prefix of the keys of a partition of a feed.
func appendFeedPartition(b []byte, p feed.Partition) []byte {
	return append(appendDay(appendPartition(b, tableFeed, string(p.Feed)), p.Day), byte(p.Shard))
}

// appendFeedKey appends the key of an entry of a feed.
func appendFeedKey(b []byte, p feed.Partition, e feed.Entry) []byte {
	return append(appendInstant(appendFeedPartition(b, p), e.Created), e.ID...)
}

// appendFeedEntry appends the row of an entry of a feed.
func appendFeedEntry(b []byte, mts, until clock.Instant) []byte {
	return binary.AppendVarint(binary.AppendVarint(append(b, rowVersion), int64(mts)), int64(until))
}

// decodeFeedEntry reads the row of an entry of a feed.
func decodeFeedEntry(value []byte) (mts, until clock.Instant, err error) {
	d := decode(value)
	mts, until = clock.Instant(d.Int()), clock.Instant(d.Int())
	return mts, until, d.end()
}

// appendBucketRow appends the row of a day of a feed.
func appendBucketRow(b []byte, shards int) []byte {
	return binary.AppendUvarint(append(b, rowVersion), uint64(shards))
}

// decodeBucket reads the row of a day of a feed.
func decodeBucket(value []byte) (shards int, err error) {
	d := decode(value)
	shards = int(d.Uint())
	if err := d.end(); err != nil {
		return 0, err
	}
	if shards < 1 || shards > 255 {
		return 0, errRow
	}
	return shards, nil
}
