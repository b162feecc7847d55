package feed

import (
	"cmp"
	"hash/fnv"
	"time"

	"carrel/core/clock"
)

// dayMicros is how many microseconds a day has.
const dayMicros = int64(24 * time.Hour / time.Microsecond)

// DayOf returns the day of an instant.
func DayOf(at clock.Instant) Day {
	day := int64(at) / dayMicros
	if int64(at)%dayMicros < 0 {
		day-- // integer division truncates toward zero
	}
	return Day(day)
}

// expired reports whether the entry has expired.
func (e *Entry) expired(now clock.Instant) bool { return e.Until != 0 && e.Until <= now }

// Compare orders entries by creation, then by id: negative if a is older than b.
func Compare(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
}

// shardOf returns the shard of an id on a day with the given number of shards.
func shardOf(id string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // writing to a hash never fails
	return int(h.Sum32() % uint32(shards))
}

// partition returns the partition of e. b must be the bucket of the day of e.
func (b Bucket) partition(feed Feed, e Entry) Partition {
	return Partition{Feed: feed, Day: b.Day, Shard: shardOf(e.ID, b.Shards)}
}
