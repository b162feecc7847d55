package cassandra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
)

// A commit.Reminder is a row of the table due.
//
// Every removed reminder leaves a tombstone for hours, and a node refuses a read that passes 100,000 of
// them. So a partition holds the reminders of one hour and shard, and an hour that is over and empty is
// not read again: a read passes the tombstones of the hours that are listed, and of no others.
const (
	// dueShards is the number of partitions of an hour.
	dueShards = 16
	// dueReadTimeout limits one read, so that a hanging partition delays the others by at most that.
	// dueScanTimeout limits all reads of one call.
	dueReadTimeout = 5 * time.Second
	dueScanTimeout = 4 * dueReadTimeout
	// dueArrivesWithin is how much later than the note of its hour a reminder arrives at most. Both are
	// written at the same time.
	dueArrivesWithin = time.Minute
)

const (
	noteHour    = `INSERT INTO due_hour (part, hour, noted) VALUES (0, ?, 1)`
	forgetHour  = `DELETE FROM due_hour USING TIMESTAMP ? WHERE part = 0 AND hour = ?`
	selectHours = `SELECT hour, writetime(noted) FROM due_hour WHERE part = 0 AND hour <= ?`
	// A reminder carries the mts of its state as its timestamp, and so does its removal.
	putReminder  = `INSERT INTO due (hour, shard, at, content_id, mts) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?`
	dropReminder = `DELETE FROM due USING TIMESTAMP ? WHERE hour = ? AND shard = ? AND at = ? AND content_id = ?`
	selectDue    = `SELECT at, content_id, mts FROM due WHERE hour = ? AND shard = ? AND at <= ? LIMIT ?`
)

// hourOf returns the beginning of the hour of an instant, as hours are stored.
func hourOf(at clock.Instant) int64 {
	return at.Time().Truncate(time.Hour).UnixMicro()
}

// shardOf returns the shard of a reminder, given its Reminder.Row.
func shardOf(row string) int8 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(row)) // hash writes never fail
	return int8(h.Sum32() % dueShards)
}

// PutReminder implements commit.JournalStore.
func (s journalStore) PutReminder(ctx context.Context, d commit.Reminder) error {
	const doing = "write a reminder"
	hour := hourOf(d.At)
	return session.ForEach(ctx, 2, 2, func(ctx context.Context, i int) error {
		if i == 0 {
			return s.session.Write(ctx, doing, noteHour, hour)
		}
		mts := int64(d.MTS)
		return s.session.WriteStamped(ctx, doing, putReminder, hour, shardOf(d.Row()), int64(d.At), d.Row(), mts, mts)
	})
}

// DropReminder implements commit.JournalStore.
func (s journalStore) DropReminder(ctx context.Context, d commit.Reminder) error {
	return s.session.WriteStamped(ctx, "remove a reminder", dropReminder, int64(d.MTS), hourOf(d.At), shardOf(d.Row()), int64(d.At), d.Row())
}

// DueReminders implements commit.JournalStore. It reads hour by hour, the shards of an hour at the same
// time, and forgets hours that are over and have no reminders.
func (s journalStore) DueReminders(ctx context.Context, until clock.Instant, limit int) ([]commit.Reminder, error) {
	ctx, cancel := context.WithTimeout(ctx, dueScanTimeout)
	defer cancel()
	hours, err := s.dueHours(ctx, until)
	if err != nil {
		return nil, err
	}
	var (
		dues []commit.Reminder
		errs []error
	)
	for _, h := range hours {
		if len(dues) >= limit {
			break
		}
		if err := ctx.Err(); err != nil {
			errs = append(errs, session.NotSent(err))
			break
		}
		found, err := s.duesOf(ctx, h.hour, until, limit-len(dues))
		dues, errs = append(dues, found...), append(errs, err)
		if err == nil && len(found) == 0 && h.over(until) {
			// An hour that was noted again since it was read stays.
			errs = append(errs, s.session.WriteStamped(ctx, "forget an hour", forgetHour, int64(h.noted), h.hour))
		}
	}
	return dues, errors.Join(errs...)
}

// dueHour is an hour that may have reminders, and when that was noted.
type dueHour struct {
	hour  int64
	noted clock.Instant
}

// over reports whether all reminders of the hour have arrived and are due. Whoever writes another one
// notes the hour again.
func (h dueHour) over(now clock.Instant) bool {
	return hourOf(now) > h.hour && now > h.noted.Add(dueArrivesWithin)
}

// dueHours lists the hours that may have reminders, in order.
func (s *Store) dueHours(ctx context.Context, until clock.Instant) ([]dueHour, error) {
	var hour, noted int64
	q := session.Query{Operation: "read reminders", Stmt: selectHours, Args: []any{hourOf(until)}}
	return session.List(ctx, s.session, q, []any{&hour, &noted}, func() (dueHour, error) { return dueHour{hour, clock.Instant(noted)}, nil })
}

// duesOf reads the earliest reminders of an hour until an instant. If some shards cannot be read, it
// returns the reminders of the others together with the error.
func (s journalStore) duesOf(ctx context.Context, hour int64, until clock.Instant, limit int) ([]commit.Reminder, error) {
	var (
		found [dueShards][]commit.Reminder
		errs  [dueShards]error
	)
	err := session.ForEach(ctx, dueShards, dueShards, func(ctx context.Context, shard int) error {
		ctx, cancel := context.WithTimeout(ctx, dueReadTimeout)
		defer cancel()
		found[shard], errs[shard] = s.readDues(ctx, hour, int8(shard), until, limit)
		return nil
	})
	all := slices.Concat(found[:]...)
	slices.SortFunc(all, func(a, b commit.Reminder) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Row(), b.Row())) })
	return all[:min(len(all), limit)], errors.Join(append(errs[:], err)...)
}

// readDues reads the earliest reminders of a partition until an instant.
func (s journalStore) readDues(ctx context.Context, hour int64, shard int8, until clock.Instant,
	limit int) (dues []commit.Reminder, err error) {
	var (
		at, mts int64
		row     string
	)
	q := session.Query{Operation: "read reminders", Stmt: selectDue, Args: []any{hour, shard, int64(until), limit}}
	dues, err = session.List(ctx, s.session, q, []any{&at, &row, &mts}, func() (commit.Reminder, error) {
		return commit.ReminderOf(clock.Instant(at), row, clock.Instant(mts)), nil
	})
	if err != nil {
		return nil, fmt.Errorf("the reminders of the hour from %s, shard %d: %w", clock.Instant(hour), shard, err)
	}
	return dues, nil
}
