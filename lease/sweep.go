package lease

import (
	"context"
	"time"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
)

// keptFor is how long the row of a lease is kept after its deadline, so that a late confirm
// fails with EXPIRED.
const keptFor = 24 * time.Hour

// releaseAt returns when the claims of the lease are released unless it is confirmed. Until then they
// keep the fencing number of the lease for the next owner of a key.
func (l *Lease) releaseAt() clock.Instant { return l.Deadline.Add(claim.RememberedFor) }

// putReminder stores a reminder to sweep a lease at a time.
func (s *Service) putReminder(ctx context.Context, l *Lease, at clock.Instant) error {
	return s.dues.PutReminder(ctx, commit.Reminder{At: at, Kind: commit.Lease, Key: string(l.ID), MTS: s.engine.MTS(l.CreatedAt)})
}

// expire acts on a reminder. It is the Expire function of the commit.Handler.
func (s *Service) expire(ctx context.Context, d commit.Reminder) (done bool, err error) {
	l, err := s.read(ctx, ID(d.Key))
	if err != nil || l == nil || l.State == Confirmed {
		return err == nil, err
	}
	return s.sweep(ctx, l, d.At)
}

// sweep makes a lease expire if its deadline has passed, removes the claims of an ended lease once
// they need not be remembered, and removes its row a day after its deadline. reminder is the time of a reminder,
// and done reports whether that reminder can be removed: if the deadline was extended, the lease has a later
// reminder.
func (s *Service) sweep(ctx context.Context, l *Lease, reminder clock.Instant) (done bool, err error) {
	if l, err = s.expireIfOverdue(ctx, l); err != nil {
		return false, err
	}
	switch {
	case l.State == Confirmed:
		return true, nil
	case !l.Ended() || l.releaseAt() > s.engine.Now():
		return l.releaseAt() > reminder, nil // not due yet by this clock
	}
	if err := s.release(ctx, l); err != nil {
		return false, err
	}
	last := l.Deadline.Add(keptFor)
	if last > s.engine.Now() {
		err := s.putReminder(ctx, l, last)
		return err == nil, err
	}
	err = s.store.DropRow(ctx, l.ID, l.Seq)
	return err == nil, err
}
