package timeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/sched"
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
	// bucketsKept is how long a process caches a list of buckets.
	bucketsKept = 30 * time.Second
	// aheadBy is how long before midnight a process looks for the bucket of the next day, because the clock of
	// another process may be ahead. Clocks should differ by far less.
	aheadBy = time.Minute
	// maxFeeds is how many feeds a process caches.
	maxFeeds = 1000
)

// buckets caches the buckets of feeds.
type buckets struct {
	store Store
	rt    sched.Runtime
	// remote reports whether a day has several partitions. In a local store they would spread no load, and a
	// page would open an iterator for each.
	remote bool

	mu    sync.Mutex
	feeds map[Feed]*cachedBuckets
}

// cachedBuckets are the buckets of a feed that a process has cached.
type cachedBuckets struct {
	newestFirst []Bucket
	// readAt is when the whole list was read, on the monotonic clock. If whole is false, the
	// list has only the buckets that this process has looked up or created.
	readAt time.Duration
	whole  bool
}

// list returns the buckets of a feed, newest first. A bucket that another process has created may
// be missing for bucketsKept, unless it is today's. A local store is used by this process alone, so
// the list is not read again to find today's bucket.
func (b *buckets) list(ctx context.Context, feed Feed) ([]Bucket, error) {
	now := b.rt.Elapsed()
	today := DayOf(clock.Of(b.rt.Now()).Add(aheadBy))
	list, fresh := b.cached(feed, now)
	if fresh && (!b.remote || len(list) > 0 && list[0].Day >= today) {
		return list, nil
	}
	if fresh {
		newest, err := b.store.ListBuckets(ctx, feed, math.MaxInt32, 1)
		if err != nil {
			return nil, fmt.Errorf("listing the newest day of a feed: %w", err)
		}
		if len(newest) == 0 || len(list) > 0 && list[0].Day >= newest[0].Day {
			return list, nil
		}
	}
	b.mu.Lock()
	k := b.of(feed) // if k is evicted during the read, the list is not cached
	b.mu.Unlock()
	list, err := b.readAll(ctx, feed)
	if err != nil {
		return nil, fmt.Errorf("listing the days of a feed: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, own := range k.newestFirst { // keep those that were cached while the list was read
		list = with(list, own)
	}
	k.newestFirst, k.readAt, k.whole = list, now, true
	return list, nil
}

// cached returns the cached list of a feed. fresh is false if there is none, or it is too old.
func (b *buckets) cached(feed Feed, now time.Duration) (list []Bucket, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.feeds[feed]
	if k == nil || !k.whole || now-k.readAt >= bucketsKept {
		return nil, false
	}
	return k.newestFirst, true
}

// readAll reads all buckets of a feed, newest first.
func (b *buckets) readAll(ctx context.Context, feed Feed) ([]Bucket, error) {
	var all []Bucket
	before := Day(math.MaxInt32)
	for {
		part, err := b.store.ListBuckets(ctx, feed, before, MaxBuckets)
		if err != nil {
			return nil, err
		}
		if all = append(all, part...); len(part) < MaxBuckets {
			return all, nil
		}
		before = part[len(part)-1].Day
	}
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

// with returns a list with one more bucket, in order. It does not modify the given list,
// which others may be reading.
func with(newestFirst []Bucket, b Bucket) []Bucket {
	at, found := slices.BinarySearchFunc(newestFirst, b, func(have, b Bucket) int { return int(b.Day) - int(have.Day) })
	if found {
		return newestFirst
	}
	return slices.Insert(slices.Clone(newestFirst), at, b)
}

// find returns the bucket of a day if it is cached. Buckets never change, so the age of the
// cache does not matter.
func (b *buckets) find(feed Feed, day Day) (Bucket, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.feeds[feed]; k != nil {
		for _, have := range k.newestFirst {
			if have.Day <= day {
				return have, have.Day == day
			}
		}
	}
	return Bucket{}, false
}

// record returns the bucket of a day. If the feed has none, record stores one.
func (b *buckets) record(ctx context.Context, feed Feed, day Day) (Bucket, error) {
	if have, ok := b.find(feed, day); ok {
		return have, nil
	}
	have, ok, err := b.look(ctx, feed, day)
	if err != nil || ok {
		return have, err
	}
	shards := 1
	if b.remote {
		if shards, err = b.shardsAfter(ctx, feed, have); err != nil {
			return Bucket{}, err
		}
	}
	stored, err := b.store.RecordBucket(ctx, feed, Bucket{Day: day, Shards: shards})
	if err != nil {
		return Bucket{}, fmt.Errorf("recording a day of a feed: %w", err)
	}
	b.learn(feed, stored)
	return stored, nil
}

// look returns the bucket of a day, from the cache or from the store. If there is none, ok is false, and found
// is the newest bucket of an earlier day, or the zero Bucket if there is none.
func (b *buckets) look(ctx context.Context, feed Feed, day Day) (found Bucket, ok bool, err error) {
	if have, ok := b.find(feed, day); ok {
		return have, true, nil
	}
	list, err := b.store.ListBuckets(ctx, feed, day+1, 1)
	if err != nil || len(list) == 0 {
		return Bucket{}, false, err
	}
	if list[0].Day != day {
		return list[0], false, nil
	}
	b.learn(feed, list[0])
	return list[0], true, nil
}

// learn caches a bucket.
func (b *buckets) learn(feed Feed, bucket Bucket) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.of(feed)
	k.newestFirst = with(k.newestFirst, bucket)
}

// shardsAfter returns the number of partitions of a new day. prev is the bucket of the newest day before it; if
// there is none, prev is the zero Bucket, and the new day has firstShards. Otherwise it has as many as prev,
// with two exceptions: twice as many, up to maxShards, if a partition of prev holds more than fullShard
// entries, and half as many, down to firstShards, if one holds less than an eighth of fullShard. Ids are spread
// evenly, so counting one partition is enough.
func (b *buckets) shardsAfter(ctx context.Context, feed Feed, prev Bucket) (int, error) {
	if prev == (Bucket{}) {
		return firstShards, nil
	}
	n, err := b.count(ctx, Partition{Feed: feed, Day: prev.Day})
	switch {
	case err != nil:
		return 0, fmt.Errorf("counting the entries of a day: %w", err)
	case n > fullShard:
		return min(2*prev.Shards, maxShards), nil
	case n < fullShard/8:
		return max(prev.Shards/2, firstShards), nil
	}
	return prev.Shards, nil
}

// count returns the number of entries of a partition. It stops counting once it has found more than fullShard.
func (b *buckets) count(ctx context.Context, p Partition) (int, error) {
	n := 0
	var from *Entry
	for {
		l, err := b.store.ListEntries(ctx, p, Slice{From: from, Limit: countStep})
		if err != nil {
			return 0, err
		}
		if n += len(l.Entries); n > fullShard || len(l.Entries) < countStep {
			return n, nil
		}
		from = &l.Entries[len(l.Entries)-1]
	}
}
