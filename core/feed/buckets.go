package feed

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Limits of buckets and of their cache.
const (
	// firstShards is the number of partitions of the first day of a feed in a remote store.
	firstShards = 4
	// maxShards is the largest number of partitions of a day.
	maxShards = 64
	// fullShard is how many entries a partition should hold at most.
	fullShard = 100_000
	// countStep is how many entries are read at once to count the entries of a partition.
	countStep = 10_000
	// bucketsKept is how long a process caches the list of the days of a feed in a remote store.
	bucketsKept = headKept / 2
	// maxFeeds is how many feeds a process caches.
	maxFeeds = 1000
)

// buckets caches the buckets of feeds.
type buckets struct {
	c     Config
	mu    sync.Mutex
	feeds map[Feed]*cachedBuckets
}

// cachedBuckets are the buckets of a feed that a process has cached.
type cachedBuckets struct {
	newestFirst []Bucket
	// readAt is when the whole list was read, on the monotonic clock. If whole is false, the list has only the
	// buckets that this process has recorded.
	readAt time.Duration
	whole  bool
}

// list returns the buckets of a feed, newest first. In a remote store, the buckets that other processes have recorded
// within bucketsKept may be missing. A local store is used by this process alone, so its list is read once.
func (b *buckets) list(ctx context.Context, feed Feed) ([]Bucket, error) {
	now := b.c.Runtime.Elapsed()
	b.mu.Lock()
	k := b.of(feed) // if k is evicted during the read, the list is not cached
	list, fresh := k.newestFirst, k.whole && (!b.c.Remote || now-k.readAt < bucketsKept)
	b.mu.Unlock()
	if fresh {
		return list, nil
	}
	list, err := b.c.Store.ListBuckets(ctx, feed)
	if err != nil {
		return nil, fmt.Errorf("listing the days of a feed: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, own := range k.newestFirst { // keep those that were recorded while the list was read
		list = with(list, own)
	}
	k.newestFirst, k.readAt, k.whole = list, now, true
	return list, nil
}

// of returns the cached buckets of a feed. The caller holds mu.
func (b *buckets) of(feed Feed) *cachedBuckets {
	k := b.feeds[feed]
	if k == nil {
		if len(b.feeds) >= maxFeeds {
			clear(b.feeds)
		}
		k = &cachedBuckets{}
		b.feeds[feed] = k
	}
	return k
}

// with returns a list with one more bucket, in order. It does not modify the given list, which others may be reading.
func with(newestFirst []Bucket, b Bucket) []Bucket {
	at, found := slices.BinarySearchFunc(newestFirst, b, func(have, b Bucket) int { return int(b.Day) - int(have.Day) })
	if found {
		return newestFirst
	}
	return slices.Insert(slices.Clone(newestFirst), at, b)
}

// newestUntil returns the newest bucket up to a day, or the zero Bucket if there is none. ok reports whether it is
// that of the day.
func newestUntil(day Day, newestFirst []Bucket) (found Bucket, ok bool) {
	i := slices.IndexFunc(newestFirst, func(b Bucket) bool { return b.Day <= day })
	if i < 0 {
		return Bucket{}, false
	}
	return newestFirst[i], newestFirst[i].Day == day
}

// look returns the bucket of a day. If there is none, ok is false, and found is that of the newest day before it, or
// the zero Bucket.
func (b *buckets) look(ctx context.Context, feed Feed, day Day) (found Bucket, ok bool, err error) {
	b.mu.Lock()
	list := b.of(feed).newestFirst
	b.mu.Unlock()
	if found, ok = newestUntil(day, list); !ok { // buckets never change, so the age of the cache does not matter
		list, err = b.list(ctx, feed)
		found, ok = newestUntil(day, list)
	}
	return found, ok, err
}

// record returns the bucket of a day. If the feed has none, record stores one.
func (b *buckets) record(ctx context.Context, feed Feed, day Day) (Bucket, error) {
	have, ok, err := b.look(ctx, feed, day)
	if err != nil || ok {
		return have, err
	}
	shards, err := b.shardsAfter(ctx, feed, have)
	if err != nil {
		return Bucket{}, err
	}
	stored, err := b.c.Store.RecordBucket(ctx, feed, Bucket{Day: day, Shards: shards})
	if err != nil {
		return Bucket{}, fmt.Errorf("recording a day of a feed: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.of(feed)
	k.newestFirst = with(k.newestFirst, stored)
	return stored, nil
}

// shardsAfter returns the number of partitions of a new day. prev is the bucket of the newest day before it; if there
// is none, prev is the zero Bucket, and the new day has firstShards. Otherwise it has as many as prev, with two
// exceptions: twice as many, up to maxShards, if a partition of prev holds more than fullShard entries, and half as
// many, down to firstShards, if one holds less than an eighth of fullShard. Ids are spread evenly, so counting one
// partition is enough. In a local store a day has one: several would spread no load, and cost an iterator each.
func (b *buckets) shardsAfter(ctx context.Context, feed Feed, prev Bucket) (int, error) {
	switch {
	case !b.c.Remote:
		return 1, nil
	case prev == (Bucket{}):
		return firstShards, nil
	}
	n, slice := 0, Slice{Limit: countStep}
	for n <= fullShard {
		es, err := b.c.Store.ListEntries(ctx, Partition{Feed: feed, Day: prev.Day}, slice)
		if err != nil {
			return 0, fmt.Errorf("counting the entries of a day: %w", err)
		}
		if n += len(es); len(es) < countStep {
			break
		}
		slice.From = &es[countStep-1]
	}
	switch {
	case n > fullShard:
		return min(2*prev.Shards, maxShards), nil
	case n < fullShard/8:
		return max(prev.Shards/2, firstShards), nil
	}
	return prev.Shards, nil
}
