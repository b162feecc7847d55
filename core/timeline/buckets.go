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

// Numbers of buckets.
const (
	// firstShards is the number of partitions of a day that follows no other.
	firstShards = 4
	// maxShards bounds it.
	maxShards = 64
	// fullShard is how many entries a partition should hold at most.
	fullShard = 100_000
	// countStep is how many entries are read at once to count those of a partition.
	countStep = 10_000
	// bucketsKept is how long a process uses a list of buckets that it has read.
	bucketsKept = 30 * time.Second
	// aheadBy is by how much the clocks of other processes may be ahead: a bucket of the
	// next day may exist that much before midnight.
	aheadBy = time.Minute
	// maxFeeds is how many feeds' buckets a process remembers.
	maxFeeds = 1000
)

// buckets are the buckets of feeds as this process knows them.
type buckets struct {
	store Store
	rt    sched.Runtime

	mu    sync.Mutex
	feeds map[Feed]*known
}

// known are the buckets of a feed.
type known struct {
	newestFirst []Bucket
	// readAt is when the list was read whole, on the monotonic clock. A list that was never
	// read whole has only buckets that this process has written to.
	readAt time.Duration
	whole  bool
}

// list returns the buckets of a feed, the newest first. A bucket that another process has
// made may be missing for bucketsKept, unless it is of today.
func (b *buckets) list(ctx context.Context, feed Feed) ([]Bucket, error) {
	now := b.rt.Elapsed()
	today := DayOf(clock.Of(b.rt.Now()).Add(aheadBy))
	list, fresh := b.cached(feed, now)
	if fresh && len(list) > 0 && list[0].Day >= today {
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
	list, err := b.readAll(ctx, feed)
	if err != nil {
		return nil, fmt.Errorf("listing the days of a feed: %w", err)
	}
	b.note(feed, func(k *known) {
		for _, own := range k.newestFirst { // written since the list was read
			list = with(list, own)
		}
		k.newestFirst, k.readAt, k.whole = list, now, true
	})
	return list, nil
}

// cached returns the list of a feed, and whether it was read not long ago.
func (b *buckets) cached(feed Feed, now time.Duration) (list []Bucket, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.feeds[feed]
	if k == nil || !k.whole || now-k.readAt >= bucketsKept {
		return nil, false
	}
	return k.newestFirst, true
}

// readAll reads all buckets of a feed, the newest first.
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

// note changes what is known of a feed.
func (b *buckets) note(feed Feed, change func(k *known)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.feeds[feed]
	if k == nil {
		if len(b.feeds) >= maxFeeds {
			clear(b.feeds)
		}
		k = &known{}
		b.feeds[feed] = k
	}
	change(k)
}

// with returns a list with one more bucket in its place. It does not change the list,
// which others may be reading.
func with(newestFirst []Bucket, b Bucket) []Bucket {
	at, found := slices.BinarySearchFunc(newestFirst, b, func(have, b Bucket) int { return int(b.Day) - int(have.Day) })
	if found {
		return newestFirst
	}
	return slices.Insert(slices.Clone(newestFirst), at, b)
}

// find returns the bucket of a day, if the process knows it. Buckets never change, so it
// does not matter when it was read.
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

// fix returns the bucket of a day, and makes it if the feed has none.
func (b *buckets) fix(ctx context.Context, feed Feed, day Day) (Bucket, error) {
	if have, ok := b.find(feed, day); ok {
		return have, nil
	}
	have, ok, err := b.look(ctx, feed, day)
	if err != nil || ok {
		return have, err
	}
	shards := firstShards
	if have != (Bucket{}) {
		if shards, err = b.shardsAfter(ctx, feed, have); err != nil {
			return Bucket{}, err
		}
	}
	stands, err := b.store.FixBucket(ctx, feed, Bucket{Day: day, Shards: shards})
	if err != nil {
		return Bucket{}, fmt.Errorf("recording a day of a feed: %w", err)
	}
	b.learn(feed, stands)
	return stands, nil
}

// look reads the bucket of a day. If there is none it returns the one before it, the zero
// Bucket if that is missing too.
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

// learn remembers a bucket.
func (b *buckets) learn(feed Feed, bucket Bucket) {
	b.note(feed, func(k *known) { k.newestFirst = with(k.newestFirst, bucket) })
}

// shardsAfter returns over how many partitions the entries of a day are spread that
// follows another: twice as many where that one has grown too large, half as many where
// it used an eighth of them. Ids are spread evenly, so one partition is counted.
func (b *buckets) shardsAfter(ctx context.Context, feed Feed, before Bucket) (int, error) {
	n, err := b.count(ctx, Partition{Feed: feed, Day: before.Day})
	switch {
	case err != nil:
		return 0, fmt.Errorf("counting the entries of a day: %w", err)
	case n > fullShard:
		return min(2*before.Shards, maxShards), nil
	case n < fullShard/8:
		return max(before.Shards/2, firstShards), nil
	}
	return before.Shards, nil
}

// count returns the number of entries of a partition, or a number greater than fullShard.
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
