package lease

import (
	"context"
	"time"

	"carrel/core/claim"
	"carrel/core/clock"
)

// missedAfter is how late a lease may be swept. After that, its reminder counts as lost.
const missedAfter = time.Minute

// Scanned is a lease as the repair of derived rows needs it. Lists of the leases of users are scanned
// too; they have no keys.
type Scanned struct {
	ID ID
	// Keys are the keys that the lease holds now.
	Keys []claim.Key
	// Permanent is whether the lease holds them permanently.
	Permanent bool
	// Missed is whether the lease should have been swept by now.
	Missed bool
}

// Scan lists at most limit leases after an id, in a stable order. The empty id comes
// before all others.
func (s *Service) Scan(ctx context.Context, after ID, limit int) ([]Scanned, error) {
	rows, err := s.store.ScanRows(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	now := s.engine.Now()
	all := make([]Scanned, len(rows))
	for i, row := range rows {
		if isHoldings(row.ID) {
			all[i] = Scanned{ID: row.ID}
			continue
		}
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
		all[i].Keys = l.keys()
	}
	return all, nil
}

// Sweep sweeps a lease as its reminder at the deadline would.
func (s *Service) Sweep(ctx context.Context, id ID) error {
	l, err := s.read(ctx, id)
	if err != nil || l == nil {
		return err
	}
	_, err = s.sweep(ctx, l, l.releaseAt())
	return err
}

// sweepAt returns when a lease must be swept next, or 0 for never.
func (l *Lease) sweepAt() clock.Instant {
	switch {
	case l.State == Confirmed:
		return 0
	case l.Ended():
		return l.Deadline.Add(keptFor)
	}
	return l.releaseAt()
}
