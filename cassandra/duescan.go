package cassandra

import (
	"context"
	"errors"
	"fmt"
	"time"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
)

// Every removed hint leaves a tombstone for hours. A read from the beginning of a day's partition
// passes all of them, and a node refuses a read that passes 100,000. So DueUntil reads each
// partition from the position where it last stopped, in slices of time, and remembers the hints
// that it has listed until they are dropped. Hints that are written before that position are found
// in three ways: this process remembers its own; the last minute is read again each time; and
// everything is read again every ten minutes.
const (
	// dueOverlap is how far back every call reads again. Other processes write a hint at most 5 s
	// after they have found its instant to be in the future, and their clocks differ from ours by
	// less than a second, or the difference is reported.
	dueOverlap = time.Minute
	// dueFullEvery is how often a partition is read again from its start, for hints that were
	// written even later.
	dueFullEvery = 10 * time.Minute
	// dueSlice is the longest period that one read covers. For a day that is long over it is
	// dueWholeDay, because the tombstones of such a day have been collected or come from this
	// process. A slice that cannot be read is halved, down to dueSliceLeast.
	dueSlice      = time.Hour
	dueWholeDay   = 24 * time.Hour
	dueSliceLeast = time.Second
	// dueReadWithin limits one read, so that a hanging partition delays the others by at most that,
	// and not every time.
	dueReadWithin = 5 * time.Second
	// The pauses before a failed read is retried.
	duePauseLeast = time.Second
	duePauseMost  = 5 * time.Minute
)

// dueWalk is one walk over a partition.
type dueWalk struct {
	position duePosition // everything up to it has been read
	slice    time.Duration
	failures int
	retry    clock.Instant
}

// waits reports whether the walk has failed and its pause is not over. If the clock is set back,
// the pause ends.
func (w *dueWalk) waits(now clock.Instant) bool {
	return w.failures > 0 && now < w.retry && now.Add(duePauseMost) >= w.retry
}

// failed delays the walk and halves its slice. It reports whether the slice already had the minimal
// size.
func (w *dueWalk) failed(now clock.Instant) (least bool) {
	pause := duePauseMost
	if w.failures < 10 {
		pause = min(pause, duePauseLeast<<w.failures)
	}
	w.failures++
	w.retry = now.Add(pause)
	least = w.slice <= dueSliceLeast
	w.slice = max(w.slice/2, dueSliceLeast)
	return least
}

// DueUntil implements commit.JournalStore. It reads day by day, the shards of a day at the same
// time. A shard that cannot be read is delayed without affecting the others.
func (s *Store) DueUntil(ctx context.Context, until clock.Instant, limit int) ([]commit.Due, error) {
	s.dues.scanning.Lock()
	defer s.dues.scanning.Unlock()
	days, err := s.dueDays(ctx, until)
	if err != nil {
		return s.dues.list(until, limit), err
	}
	s.dues.begin(days, until)
	var errs []error
	found := 0
	for _, d := range days {
		if found >= limit {
			break
		}
		day := s.dues.day(d)
		errs = append(errs, s.scanDay(ctx, day, until, limit))
		n, over := s.dues.dueIn(day, until)
		if found += n; over && day.noted == d.noted {
			// A day that was noted again since it was read stays.
			errs = append(errs, s.session.WriteStamped(ctx, "forget a day", forgetDay, d.noted, d.day))
		}
	}
	return s.dues.list(until, limit), errors.Join(errs...)
}

// scanDay continues to read the partitions of a day.
func (s *Store) scanDay(ctx context.Context, day *dueDayState, until clock.Instant, limit int) error {
	var errs [dueShards]error
	err := session.ForEach(ctx, dueShards, dueShards, func(ctx context.Context, shard int) error {
		errs[shard] = s.scanPart(ctx, &day.parts[shard], until, limit)
		return nil
	})
	return errors.Join(append(errs[:], err)...)
}

// scanPart continues to read a partition up to an instant, and reads one slice of the full read if
// that is due.
func (s *Store) scanPart(ctx context.Context, p *duePartition, until clock.Instant, limit int) error {
	end := min(until, p.last)
	var errs []error
	if !p.near.waits(until) {
		from := p.near.position
		if again := (duePosition{at: until.Add(-dueOverlap)}); p.near.failures == 0 && again.before(from) {
			from = again
		}
		for from.at <= end && s.dues.count(p, until) < limit {
			var err error
			if from, err = s.readSlice(ctx, p, &p.near, from, end, until, limit); err != nil {
				errs = append(errs, err)
				break
			}
		}
	}
	if p.full && !p.again.waits(until) && s.dues.count(p, until) < limit {
		from, err := s.readSlice(ctx, p, &p.again, p.again.position, end, until, limit)
		errs = append(errs, err)
		p.full = from.at <= end
	}
	return errors.Join(errs...)
}

// readSlice reads one slice of a walk and returns the position that it has reached. A minimal slice
// that cannot be read is skipped until the next full read, so that it does not hide what follows.
func (s *Store) readSlice(ctx context.Context, p *duePartition, w *dueWalk, from duePosition, end, now clock.Instant, limit int) (duePosition, error) {
	to := min(end, from.at.Add(w.slice))
	next := duePosition{at: to + 1}
	s.dues.reading(p, next)
	within, cancel := context.WithTimeout(ctx, dueReadWithin)
	defer cancel()
	rows, err := s.readDues(within, p, from, to, now, limit)
	switch {
	case err != nil && ctx.Err() != nil:
		return from, err
	case err != nil:
		if w.failed(now) {
			p.skipped = true
			s.dues.passed(w, next)
		}
		return from, fmt.Errorf("cannot read the hints of %s, shard %d, from %s to %s: %w", p.day.Format(time.DateOnly), p.shard, from.at, to, err)
	}
	w.failures, w.slice = 0, min(2*w.slice, p.most)
	if len(rows) >= limit {
		last := rows[len(rows)-1]
		next = positionOf(last)
	}
	s.dues.learn(p, w, from, next, rows)
	return next, nil
}
