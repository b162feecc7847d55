package pebblestore

import (
	"context"
	"fmt"
	"strings"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/feed"
	"carrel/paste"
)

const (
	// rounds is how often the script changes its item, its group and its paste.
	rounds = 6
	// bodySize is the number of bytes of the bodies of the paste.
	bodySize = 500
)

// pasteSteps returns the steps of round n of the script: they store a new body, the row of the paste,
// a day of the feed and the entry in it, which appears and disappears in turn, and drop the former
// body.
func pasteSteps(n int64) []step {
	at := clock.Instant(1000 * (n + 1))
	var steps []step
	add := func(what string, synced bool, run func(ctx context.Context, s *Store) error) {
		steps = append(steps, step{fmt.Sprintf("%s %d", what, n), synced, run})
	}
	add("put body", false, func(ctx context.Context, s *Store) error {
		return s.Pastes.PutBody(ctx, bodyRef(n), strings.Repeat("body ", bodySize/5))
	})
	add("commit paste", true, commitPasteStep(n))
	add("record bucket", true, recordBucketStep(n, 4))
	add("record known bucket", false, recordBucketStep(n, 8))
	c := entryChange(n, at)
	if n%2 == 0 {
		add("put entry", false, func(ctx context.Context, s *Store) error { return s.Feeds.PutEntry(ctx, c) })
		later := c
		later.MTS, later.Entry.Until = c.MTS+1, 1<<50
		add("replace entry", false, func(ctx context.Context, s *Store) error { return s.Feeds.PutEntry(ctx, later) })
	} else {
		add("drop entry", false, func(ctx context.Context, s *Store) error { return s.Feeds.DropEntry(ctx, c) })
		add("drop missing entry", false, func(ctx context.Context, s *Store) error { return s.Feeds.DropEntry(ctx, c) })
	}
	if n > 0 && n < rounds-1 {
		add("drop former body", false, func(ctx context.Context, s *Store) error {
			return s.Pastes.DropBodies(ctx, []paste.BodyRef{bodyRef(n - 1)})
		})
	}
	return steps
}

// lastPasteSteps returns the steps after the last round. They drop the two bodies that are left, in
// one call, and the row.
func lastPasteSteps() []step {
	return []step{
		{"drop bodies", false, func(ctx context.Context, s *Store) error {
			return s.Pastes.DropBodies(ctx, []paste.BodyRef{bodyRef(rounds - 2), bodyRef(rounds - 1)})
		}},
		{"drop paste", true, func(ctx context.Context, s *Store) error { return s.Pastes.DropRow(ctx, "p:item", rounds) }},
	}
}

// bodyRef refers to the body that the paste has after a round.
func bodyRef(n int64) paste.BodyRef {
	return paste.BodyRef{Paste: "p:item", Body: paste.BodyID{byte(n), 0xff}}
}

// entryChange returns the change of an entry in round n. An even round and the one after it change the
// same entry.
func entryChange(n int64, at clock.Instant) feed.Change {
	return feed.Change{
		Partition: feed.Partition{Feed: "pastes", Day: feed.Day(n / 2), Shard: 1},
		Entry:     feed.Entry{Created: 1000, ID: "p:item"},
		MTS:       at,
	}
}

// recordBucketStep returns the run function of a step that records a day of the feed. The day must have
// the 4 partitions that were requested first.
func recordBucketStep(n int64, shards int) func(ctx context.Context, s *Store) error {
	return func(ctx context.Context, s *Store) error {
		b, err := s.Feeds.RecordBucket(ctx, "pastes", feed.Bucket{Day: feed.Day(n), Shards: shards})
		if err == nil && b.Shards != 4 {
			err = fmt.Errorf("day %d has %d partitions", n, b.Shards)
		}
		return err
	}
}

// commitPasteStep returns the run function of a step that commits a state of a paste.
func commitPasteStep(n int64) func(ctx context.Context, s *Store) error {
	p := paste.Paste{ID: "p:item", Seq: n + 1, State: commit.Live, CreatedAt: 1000}
	p.Body = paste.Body{Long: bodyRef(n).Body, Size: bodySize}
	row := p.Row()
	return func(ctx context.Context, s *Store) error {
		current, err := s.Pastes.CommitRow(ctx, row)
		if err == nil && current.Seq != row.Seq {
			err = fmt.Errorf("refused: %+v", current)
		}
		return err
	}
}
