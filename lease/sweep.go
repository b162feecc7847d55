package lease

import (
	"context"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
)

// keptFor is how long the row of a lease is kept after its deadline, so that a late
// confirm is answered EXPIRED.
const keptFor = 24 * time.Hour

// putDue asks for a lease to be looked at when a time has come.
func (s *Service) putDue(ctx context.Context, l *Lease, at clock.Instant) error {
	return s.dues.PutDue(ctx, commit.Due{At: at, Kind: commit.Lease, Key: string(l.ID), MTS: s.MTS(l.CreatedAt)})
}

// expire does what a hint asks for. It implements commit.Handler.
func (s *Service) expire(ctx context.Context, d commit.Due) (done bool, err error) {
	l, err := s.read(ctx, ID(d.Key))
	if err != nil || l == nil || l.State == Confirmed {
		return err == nil, err
	}
	return s.sweep(ctx, l, d.At)
}

// sweep has a lease expire whose deadline has passed, removes the claims of one that has
// ended, and a day later its row. It reports whether the hint of a time can be removed: a
// lease has another one for its deadline where that is later.
func (s *Service) sweep(ctx context.Context, l *Lease, hint clock.Instant) (done bool, err error) {
	if l, err = s.settled(ctx, l); err != nil {
		return false, err
	}
	switch {
	case l.State == Confirmed:
		return true, nil
	case !l.Ended() || l.Deadline > s.Now():
		return l.Deadline > hint, nil // its time has not come by this clock
	}
	if err := s.release(ctx, l); err != nil {
		return false, err
	}
	last := l.Deadline.Add(keptFor)
	if last > s.Now() {
		err := s.putDue(ctx, l, last)
		return err == nil, err
	}
	err = s.store.DropLease(ctx, l.ID, l.Seq)
	return err == nil, err
}
