package feed_test

import (
	"context"
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/core/feed"
	"carrel/core/sched"
	"carrel/test/simulator"
)

// A day is recorded once, even if two processes put entries on it.
func TestPut_RecordsADayOnce(t *testing.T) {
	f := newFixture(t)
	for n := range 10 {
		f.put(feed.Entry{Created: today + clock.Instant(n), ID: fmt.Sprint(n)}, true)
	}
	other := f.open()
	if err := other.Put(t.Context(), "f", feed.Entry{Created: today + 10, ID: "10"}, 10); err != nil {
		t.Fatal(err)
	}
	if n := f.store.recorded.Load(); n != 1 {
		t.Errorf("recorded %d times", n)
	}
}

// The entries of a day are spread evenly over its partitions, and those of another day are in others.
func TestPut_SpreadsEntriesOverThePartitions(t *testing.T) {
	f := newFixture(t)
	const entries, shards = 400, 4
	for n := range entries {
		f.put(feed.Entry{Created: today + clock.Instant(n), ID: fmt.Sprint(n)}, true)
		f.put(feed.Entry{Created: today - day + clock.Instant(n), ID: fmt.Sprint(n)}, true)
	}
	for _, d := range []feed.Day{19_999, 20_000} {
		for shard := range shards {
			es, err := f.store.ListEntries(t.Context(), feed.Partition{Feed: "f", Day: d, Shard: shard}, feed.Slice{Limit: 2 * entries})
			if n := len(es); err != nil || n < entries/shards/2 || n > entries/shards*2 {
				t.Errorf("partition %d of day %d has %d of %d entries, %v", shard, d, n, entries, err)
			}
		}
	}
}

// In a remote store, the day after a full one has twice as many partitions. The day after one that is
// less than an eighth full has half as many, but at least four. In a local store each day has one.
func TestPut_AdjustsPartitionsToThePreviousDay(t *testing.T) {
	for name, c := range map[string]struct {
		before, entries, want int
		remote                bool
	}{
		"full":                       {4, 100_001, 8, true},
		"exactly full":               {8, 100_000, 8, true},
		"an eighth":                  {8, 12_500, 8, true},
		"less":                       {8, 12_499, 4, true},
		"few":                        {4, 1, 4, true},
		"full, the most partitions":  {64, 100_001, 64, true},
		"the first":                  {0, 0, 4, true},
		"full, local":                {4, 100_001, 1, false},
		"full, one partition, local": {1, 100_001, 1, false},
		"the first local":            {0, 0, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			store := &madeUp{Store: simulator.NewClient(simulator.NewStore(nil), nil).Feeds, entries: c.entries}
			if c.before > 0 {
				if _, err := store.RecordBucket(t.Context(), "f", feed.Bucket{Day: 19_990, Shards: c.before}); err != nil {
					t.Fatal(err)
				}
			}
			rt := sched.NewReal()
			defer rt.Close()
			feeds := feed.New(feed.Config{Store: store, Runtime: rt, Remote: c.remote})
			if err := feeds.Put(t.Context(), "f", feed.Entry{Created: today, ID: "x"}, 10); err != nil {
				t.Fatal(err)
			}
			got, err := store.ListBuckets(t.Context(), "f")
			if err != nil || len(got) == 0 || got[0] != (feed.Bucket{Day: 20_000, Shards: c.want}) {
				t.Errorf("recorded %v, %v; want %d partitions", got, err, c.want)
			}
		})
	}
}

// madeUp is a store whose partitions have a given number of made-up entries.
type madeUp struct {
	feed.Store
	entries int
}

func (c *madeUp) ListEntries(_ context.Context, _ feed.Partition, s feed.Slice) ([]feed.Entry, error) {
	begin := 0
	if s.From != nil {
		begin = int(s.From.Created) + 1
	}
	es := make([]feed.Entry, min(s.Limit, c.entries-begin))
	for n := range es {
		es[n].Created = clock.Instant(begin + n)
	}
	return es, nil
}
