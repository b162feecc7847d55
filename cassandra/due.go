package cassandra

import (
	"context"
	"hash/fnv"
	"time"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
)

// A hint in this package is a commit.Due, a row of the table due. It has nothing to do with the
// hints that Cassandra's coordinators keep for nodes that are down.

// dueShards is the number of partitions of a day.
const dueShards = 16

// dueDaysKept is how long a past day without hints stays in the list of days. Only imports and the
// scrubber write hints of older days, and they add the day to the list again.
const dueDaysKept = 2 * 24 * time.Hour

// The list of days that may have hints limits the scan: a day without hints costs nothing.
const (
	noteDay    = `INSERT INTO due_day (part, day, noted) VALUES (0, ?, 1)`
	forgetDay  = `DELETE FROM due_day USING TIMESTAMP ? WHERE part = 0 AND day = ?`
	selectDays = `SELECT day, writetime(noted) FROM due_day WHERE part = 0 AND day <= ?`
	// A hint carries the mts of its state as its timestamp, and so does its removal.
	putDue    = `INSERT INTO due (day, shard, at, content_id, mts) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?`
	dropDue   = `DELETE FROM due USING TIMESTAMP ? WHERE day = ? AND shard = ? AND at = ? AND content_id = ?`
	selectDue = `SELECT at, content_id, mts FROM due
 WHERE day = ? AND shard = ? AND (at, content_id) > (?, ?) AND (at) <= (?) LIMIT ?`
)

// dayOf returns the UTC day of an instant.
func dayOf(at clock.Instant) time.Time {
	t := at.Time()
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// shardOf returns the shard of a hint, given its Due.Row.
func shardOf(row string) int8 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(row)) // hash writes never fail
	return int8(h.Sum32() % dueShards)
}

// PutDue implements commit.JournalStore.
func (s *Store) PutDue(ctx context.Context, d commit.Due) error {
	const doing = "write a hint"
	day := dayOf(d.At)
	err := session.ForEach(ctx, 2, 2, func(ctx context.Context, i int) error {
		if i == 0 {
			return s.session.Write(ctx, doing, noteDay, day)
		}
		mts := int64(d.MTS)
		return s.session.WriteStamped(ctx, doing, putDue, day, shardOf(d.Row()), int64(d.At), d.Row(), mts, mts)
	})
	if err == nil {
		s.dues.wrote(d)
	}
	return err
}

// DropDue implements commit.JournalStore.
func (s *Store) DropDue(ctx context.Context, d commit.Due) error {
	err := s.session.WriteStamped(ctx, "remove a hint", dropDue, int64(d.MTS), dayOf(d.At), shardOf(d.Row()), int64(d.At), d.Row())
	if err == nil {
		s.dues.dropped(d)
	}
	return err
}

// dueDay is a day that may have hints, and the time when that was noted.
type dueDay struct {
	day   time.Time
	noted int64
}

func (s *Store) dueDays(ctx context.Context, until clock.Instant) ([]dueDay, error) {
	var (
		days []dueDay
		d    dueDay
	)
	err := s.session.Read(ctx, session.Query{Operation: "read hints", Stmt: selectDays, Args: []any{dayOf(until)}}, func(iter *gocql.Iter) bool {
		if !iter.Scan(&d.day, &d.noted) {
			return false
		}
		days = append(days, d)
		return true
	})
	return days, err
}

// readDues reads hints of a partition in order: those after a position and up to an instant. The
// write time of a hint of an earlier version is unknown, but not after now.
func (s *Store) readDues(ctx context.Context, p *duePartition, from duePosition, to, now clock.Instant, limit int) ([]commit.Due, error) {
	var (
		dues []commit.Due
		at   int64
		row  string
		mts  *int64
	)
	r := session.Query{Operation: "read hints", Stmt: selectDue, Args: []any{p.day, p.shard, int64(from.at), from.row, int64(to), limit}}
	err := s.session.Read(ctx, r, func(iter *gocql.Iter) bool {
		if !iter.Scan(&at, &row, &mts) {
			return false
		}
		d := commit.DueOf(clock.Instant(at), row, now)
		if mts != nil {
			d.MTS = clock.Instant(*mts)
		}
		dues = append(dues, d)
		return true
	})
	return dues, err
}
