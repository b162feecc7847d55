package lease

import (
	"context"
	"time"

	"carrel/core/claim"
	"carrel/core/clock"
)

// missedAfter is how long a lease waits to be swept before its hint counts as lost.
const missedAfter = time.Minute

// Scanned is what the repair of derived rows has to know of a lease.
type Scanned struct {
	ID ID
	// Keys are those that the lease holds now.
	Keys []claim.Key
	// Permanent: the lease holds them for good.
	Permanent bool
	// Missed: the lease should have been swept by now.
	Missed bool
}

// Scan lists at most limit leases after an id, in an order that lasts. The empty id comes
// before all others.
func (s *Service) Scan(ctx context.Context, after ID, limit int) ([]Scanned, error) {
	rows, err := s.store.ScanLeases(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	all := make([]Scanned, len(rows))
	for i, row := range rows {
		l, err := leaseOf(row)
		if err != nil {
			return nil, err
		}
		all[i] = Scanned{ID: l.ID, Permanent: l.State == Confirmed}
		if at := l.sweepAt(); at != 0 {
			all[i].Missed = at.Add(missedAfter) <= now
		}
		if l.Ended() || l.overdue(now) {
			continue
		}
		for _, key := range l.keys() {
			all[i].Keys = append(all[i].Keys, claim.Leased(key))
		}
	}
	return all, nil
}

// Sweep does what the hint of a lease asks for, whose time has come.
func (s *Service) Sweep(ctx context.Context, id ID) error {
	l, err := s.read(ctx, id)
	if err != nil || l == nil {
		return err
	}
	_, err = s.sweep(ctx, l, l.Deadline)
	return err
}

// sweepAt returns when a lease is swept next; 0: never.
func (l *Lease) sweepAt() clock.Instant {
	switch {
	case l.State == Confirmed:
		return 0
	case l.Ended():
		return l.Deadline.Add(keptFor)
	}
	return l.Deadline
}
