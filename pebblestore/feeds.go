package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"carrel/core/clock"
	"carrel/core/feed"
)

// feeds implements feed.Store.
type feeds struct{ *Store }

// RecordBucket implements feed.Store.
func (s feeds) RecordBucket(ctx context.Context, list feed.Feed, bucket feed.Bucket) (_ feed.Bucket, err error) {
	op, err := s.enter(ctx, "record a day of a feed")
	if err != nil {
		return feed.Bucket{}, err
	}
	defer op.leave(&err)
	key := appendBucketKey(nil, list, bucket.Day)
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	value, found, err := s.get(key)
	if err == nil && found {
		bucket.Shards, err = decodeBucket(value)
	}
	if err != nil {
		return feed.Bucket{}, err
	}
	if found {
		return bucket, nil
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Set(key, appendBucketRow(nil, bucket.Shards), nil); err != nil {
		return feed.Bucket{}, err
	}
	return bucket, s.commitSynced(b)
}

// ListBuckets implements feed.Store.
func (s feeds) ListBuckets(ctx context.Context, list feed.Feed) (_ []feed.Bucket, err error) {
	op, err := s.enter(ctx, "list the days of a feed")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openRange(func(v *view) {
		v.key = appendPartition(v.key[:0], tableBucket, string(list))
		v.end = prefixEnd(append(v.end[:0], v.key...))
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	var all []feed.Bucket
	for ok := v.it.Last(); ok; ok = v.it.Prev() {
		var b feed.Bucket
		if b.Day, err = cutDay(v.it.Key()); err == nil {
			b.Shards, err = decodeBucket(v.it.Value())
		}
		if err != nil {
			break
		}
		all = append(all, b)
	}
	if err = errors.Join(err, v.it.Error(), s.done(v)); err != nil {
		return nil, err
	}
	return all, nil
}

// PutEntry implements feed.Store. A drop leaves no tombstone, so a delayed put that arrives
// after a later drop is stored.
func (s feeds) PutEntry(ctx context.Context, c feed.Change) error {
	return s.changeEntry(ctx, "add to a feed", c, func(b *pebble.Batch, key []byte, before clock.Instant, _ bool) error {
		if before > c.MTS {
			return nil
		}
		return b.Set(key, appendFeedEntry(nil, c.MTS, c.Entry.Until), nil)
	})
}

// DropEntry implements feed.Store.
func (s feeds) DropEntry(ctx context.Context, c feed.Change) error {
	return s.changeEntry(ctx, "remove from a feed", c, func(b *pebble.Batch, key []byte, before clock.Instant, found bool) error {
		if !found || before > c.MTS {
			return nil
		}
		s.dead.mu.Lock()
		s.dead.add(string(c.Partition.Feed), 1)
		s.dead.mu.Unlock()
		return b.Delete(key, nil)
	})
}

// changeEntry changes an entry of a feed under the lock of its row. before is the MTS of the
// current entry.
func (s feeds) changeEntry(ctx context.Context, doing string, c feed.Change, change func(b *pebble.Batch, key []byte,
	before clock.Instant, found bool) error) error {
	key := appendFeedKey(nil, c.Partition, c.Entry)
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	return s.writeLater(ctx, doing, func(b *pebble.Batch) error {
		value, found, err := s.get(key)
		if err != nil {
			return err
		}
		before := clock.Min
		if found {
			if before, _, err = decodeFeedEntry(value); err != nil {
				return err
			}
		}
		return change(b, key, before, found)
	})
}

// ListEntries implements feed.Store.
func (s feeds) ListEntries(ctx context.Context, p feed.Partition, slice feed.Slice) (_ []feed.Entry, err error) {
	op, err := s.enter(ctx, "list a feed")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openRange(func(v *view) {
		v.key = appendFeedPartition(v.key[:0], p)
		v.end = prefixEnd(append(v.end[:0], v.key...))
		older, newer := slice.To, slice.From // the bounds of the slice
		if slice.Newer {
			older, newer = newer, older
		}
		if older != nil {
			v.key = appendAfter(appendFeedKey(v.key[:0], p, *older))
		}
		if newer != nil {
			v.end = appendFeedKey(v.end[:0], p, *newer)
		}
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	es, err := v.feedEntries(p, slice)
	if err = errors.Join(err, v.it.Error(), s.done(v)); err != nil {
		return nil, err
	}
	return es, nil
}

// feedEntries reads a slice of a feed.
func (v *view) feedEntries(p feed.Partition, slice feed.Slice) ([]feed.Entry, error) {
	prefix := len(appendFeedPartition(nil, p))
	step, ok := v.it.Next, false
	if slice.Newer {
		ok = v.it.First()
	} else {
		step, ok = v.it.Prev, v.it.Last()
	}
	var es []feed.Entry
	for ; ok && len(es) < slice.Limit; ok = step() {
		created, id, err := cutInstant(v.it.Key()[prefix:])
		if err != nil {
			return nil, err
		}
		e := feed.Entry{Created: created, ID: string(id)}
		value, err := v.it.ValueAndErr()
		if err == nil {
			_, e.Until, err = decodeFeedEntry(value)
		}
		if err != nil {
			return nil, err
		}
		es = append(es, e)
	}
	return es, nil
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
	mts, until = clock.Instant(d.int()), clock.Instant(d.int())
	return mts, until, d.end()
}

// appendBucketRow appends the row of a day of a feed.
func appendBucketRow(b []byte, shards int) []byte {
	return binary.AppendUvarint(append(b, rowVersion), uint64(shards))
}

// decodeBucket reads the row of a day of a feed.
func decodeBucket(value []byte) (shards int, err error) {
	d := decode(value)
	shards = int(d.uint())
	if err := d.end(); err != nil {
		return 0, err
	}
	if shards < 1 || shards > 255 {
		return 0, errRow
	}
	return shards, nil
}
