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

// Every hint that was removed leaves a tombstone, for hours. A read that begins
// at the start of a day's partition crosses all of them, and a node refuses a
// read that crosses 100,000. So DueUntil reads each partition from where it has
// got to, in slices of time, and remembers what it has listed until it is
// dropped. Hints that were written behind that place are found in three ways:
// this process remembers its own; the last minute is read again each time; and
// all is read again every ten minutes.
const (
	// dueOverlap is how far back every call reads again. Others write a hint at
	// most 5 s after they have found its instant to be in the future, by clocks
	// that differ by less than a second from ours or are reported.
	dueOverlap = time.Minute
	// dueFullEvery is how often a partition is read again from its start, for hints
	// that were written later than that.
	dueFullEvery = 10 * time.Minute
	// dueSlice is the most that one read covers, and dueWholeDay that of a day that
	// is long over: its tombstones have been collected, or come from this process.
	// A slice that cannot be read is halved, down to dueSliceLeast.
	dueSlice      = time.Hour
	dueWholeDay   = 24 * time.Hour
	dueSliceLeast = time.Second
	// dueReadWithin bounds one read, so that a partition that hangs delays the
	// others by that at most, and not each time.
	dueReadWithin = 5 * time.Second
	// The pauses after which a read that failed is tried again.
	duePauseLeast = time.Second
	duePauseMost  = 5 * time.Minute
)

// dueWalk is one walk over a partition.
type dueWalk struct {
	place    duePlace // all up to it has been read
	slice    time.Duration
	failures int
	retry    clock.Instant
}

// waits reports whether the walk has failed and is not to be tried again yet. A
// clock that was set back ends the pause.
func (w *dueWalk) waits(now clock.Instant) bool {
	return w.failures > 0 && now < w.retry && now.Add(duePauseMost) >= w.retry
}

// failed puts the walk off, with a smaller slice. It reports whether the slice
// could not be made smaller.
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

// DueUntil implements library.JournalStore: day by day, the shards of one at the
// same time. A shard that cannot be read is put off by itself.
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
		n, over := s.dues.look(day, until)
		if found += n; over && day.noted == d.noted {
			// A day that was noted again since it was read stays.
			errs = append(errs, s.session.WriteStamped(ctx, "forget a day", forgetDay, d.noted, d.day))
		}
	}
	return s.dues.list(until, limit), errors.Join(errs...)
}

// scanDay reads the partitions of a day on.
func (s *Store) scanDay(ctx context.Context, day *dueDayState, until clock.Instant, limit int) error {
	var errs [dueShards]error
	err := session.ForEach(ctx, dueShards, dueShards, func(ctx context.Context, shard int) error {
		errs[shard] = s.scanPart(ctx, &day.parts[shard], until, limit)
		return nil
	})
	return errors.Join(append(errs[:], err)...)
}

// scanPart reads on to an instant, and one slice of the full reading if one is
// due.
func (s *Store) scanPart(ctx context.Context, p *duePartition, until clock.Instant, limit int) error {
	end := min(until, p.last)
	var errs []error
	if !p.near.waits(until) {
		from := p.near.place
		if again := (duePlace{at: until.Add(-dueOverlap)}); p.near.failures == 0 && again.before(from) {
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
		from, err := s.readSlice(ctx, p, &p.again, p.again.place, end, until, limit)
		errs = append(errs, err)
		p.full = from.at <= end
	}
	return errors.Join(errs...)
}

// readSlice reads one slice of a walk and returns the place it has got to. A
// slice that cannot be read however small it is, is left to the next full
// reading, so that it does not hide what comes after it.
func (s *Store) readSlice(ctx context.Context, p *duePartition, w *dueWalk, from duePlace, end, now clock.Instant, limit int) (duePlace, error) {
	to := min(end, from.at.Add(w.slice))
	next := duePlace{at: to + 1}
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
		return from, fmt.Errorf("the dues of %s, shard %d, from %s to %s: %w", p.day.Format(time.DateOnly), p.shard, from.at, to, err)
	}
	w.failures, w.slice = 0, min(2*w.slice, p.most)
	if len(rows) >= limit {
		last := rows[len(rows)-1]
		next = placeOf(last)
	}
	s.dues.learn(p, w, from, next, rows)
	return next, nil
}
