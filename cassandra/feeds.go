package cassandra

import (
	"context"
	"time"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/feed"
)

const (
	insertBucket  = `INSERT INTO feed_bucket (feed, day, shards) VALUES (?, ?, ?) IF NOT EXISTS`
	selectBucket  = `SELECT shards FROM feed_bucket WHERE feed = ? AND day = ?`
	selectBuckets = `SELECT day, shards FROM feed_bucket WHERE feed = ?`

	// An entry carries the write timestamp of its state, and so does its removal.
	putFeedEntry  = `INSERT INTO feed (feed, day, shard, created_at, id, until) VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`
	dropFeedEntry = `DELETE FROM feed USING TIMESTAMP ? WHERE feed = ? AND day = ? AND shard = ? AND created_at = ? AND id = ?`

	selectOlder = `SELECT created_at, id, until FROM feed
 WHERE feed = ? AND day = ? AND shard = ? AND (created_at, id) > (?, ?) AND (created_at, id) < (?, ?) LIMIT ?`
	selectNewer = `SELECT created_at, id, until FROM feed
 WHERE feed = ? AND day = ? AND shard = ? AND (created_at, id) > (?, ?) AND (created_at, id) < (?, ?) ORDER BY created_at ASC, id ASC LIMIT ?`
)

// If a node refuses a slice because of too many tombstones, the slice is read in sliceParts parts of equal
// duration. A part that is refused is divided again. A refused read costs a node as much as one that meets
// exactly the allowed number of tombstones, so few reads should be refused. If 110,000 tombstones lie in one
// span of 40 seconds, about three reads are refused; with two parts in place of 16, ten would be. Each part
// also costs a round trip.
const sliceParts = 16

// daysPage is how many days of a feed are read at once.
const daysPage = 1000

// dateOf returns a day in the form that the driver accepts.
func dateOf(day feed.Day) time.Time {
	return time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(day))
}

// feeds implements feed.Store.
type feeds struct{ *Store }

// RecordBucket implements feed.Store.
func (s feeds) RecordBucket(ctx context.Context, list feed.Feed, b feed.Bucket) (feed.Bucket, error) {
	const doing = "record a day of a feed"
	applied, _, err := s.session.DecideOne(ctx, doing, insertBucket, string(list), dateOf(b.Day), int8(b.Shards))
	if err != nil || applied {
		return b, err
	}
	q := session.Query{Operation: doing, Stmt: selectBucket, Args: []any{string(list), dateOf(b.Day)}, Serial: true}
	var shards int8
	if found, err := s.session.ReadRow(ctx, q, &shards); err != nil || !found {
		return b, err
	}
	b.Shards = int(shards)
	return b, nil
}

// ListBuckets implements feed.Store.
func (s feeds) ListBuckets(ctx context.Context, list feed.Feed) ([]feed.Bucket, error) {
	var (
		day    time.Time
		shards int8
	)
	q := session.Query{Operation: "list the days of a feed", Stmt: selectBuckets, Args: []any{string(list)}, PageSize: daysPage}
	return session.List(ctx, s.session, q, []any{&day, &shards}, func() (feed.Bucket, error) {
		return feed.Bucket{Day: feed.DayOf(clock.Of(day)), Shards: int(shards)}, nil
	})
}

// PutEntry implements feed.Store.
func (s feeds) PutEntry(ctx context.Context, c feed.Change) error {
	p, e := c.Partition, c.Entry
	return s.session.WriteStamped(ctx, "add to a feed", putFeedEntry,
		string(p.Feed), dateOf(p.Day), int8(p.Shard), int64(e.Created), e.ID, int64(e.Until), int64(c.MTS))
}

// DropEntry implements feed.Store.
func (s feeds) DropEntry(ctx context.Context, c feed.Change) error {
	p, e := c.Partition, c.Entry
	return s.session.WriteStamped(ctx, "remove from a feed", dropFeedEntry,
		int64(c.MTS), string(p.Feed), dateOf(p.Day), int8(p.Shard), int64(e.Created), e.ID)
}

// ListEntries implements feed.Store with one SELECT. If a node refuses it because of too many
// tombstones, ListEntries reads parts of the slice. If a node refuses a slice or a part of at most
// one microsecond, ListEntries returns the error.
func (s feeds) ListEntries(ctx context.Context, p feed.Partition, slice feed.Slice) ([]feed.Entry, error) {
	if slice.Limit <= 0 {
		return nil, nil
	}
	day := clock.Of(dateOf(p.Day))
	older, newer := feed.Entry{Created: day}, feed.Entry{Created: day.Add(24 * time.Hour)}
	if slice.Newer {
		older, newer = within(slice.From, slice.To, older, newer)
	} else {
		older, newer = within(slice.To, slice.From, older, newer)
	}
	return s.listBetween(ctx, p, slice, older, newer)
}

// within returns the bounds of a slice. A missing bound is that of the day.
func within(older, newer *feed.Entry, first, last feed.Entry) (feed.Entry, feed.Entry) {
	if older != nil && feed.Compare(*older, first) > 0 {
		first = *older
	}
	if newer != nil && feed.Compare(*newer, last) < 0 {
		last = *newer
	}
	return first, last
}

// listBetween lists the entries between two positions.
func (s *Store) listBetween(ctx context.Context, p feed.Partition, slice feed.Slice, older, newer feed.Entry) (es []feed.Entry, err error) {
	if feed.Compare(older, newer) >= 0 {
		return nil, nil
	}
	var (
		created, until int64
		id             string
	)
	q := session.Query{Operation: "list a feed", Stmt: selectOlder,
		Args: []any{string(p.Feed), dateOf(p.Day), int8(p.Shard), int64(older.Created), older.ID, int64(newer.Created), newer.ID, slice.Limit}}
	if slice.Newer {
		q.Stmt = selectNewer
	}
	es, err = session.List(ctx, s.session, q, []any{&created, &id, &until}, func() (feed.Entry, error) {
		return feed.Entry{Created: clock.Instant(created), ID: id, Until: clock.Instant(until)}, nil
	})
	if session.TooManyTombstones(err) && newer.Created-older.Created > 1 {
		return s.listParts(ctx, p, slice, older, newer)
	}
	return es, err
}

// listParts lists the entries of a slice that was refused: one part after another, in the direction of the
// slice, until there are enough entries.
func (s *Store) listParts(ctx context.Context, p feed.Partition, slice feed.Slice, older, newer feed.Entry) (all []feed.Entry, err error) {
	bound := func(n int) feed.Entry {
		// No entry has an empty id, so this position is before all entries of its instant.
		at := feed.Entry{Created: older.Created + (newer.Created-older.Created)*clock.Instant(n)/sliceParts}
		switch {
		case n == sliceParts:
			return newer
		case feed.Compare(at, older) < 0:
			return older
		}
		return at
	}
	for i := range sliceParts {
		part := i
		if !slice.Newer {
			part = sliceParts - 1 - i
		}
		es, err := s.listBetween(ctx, p, slice, bound(part), bound(part+1))
		if err != nil {
			return nil, err
		}
		all = append(all, es...)
		if slice.Limit -= len(es); slice.Limit <= 0 {
			break
		}
	}
	return all, nil
}
