package session

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gocql/gocql"
)

// How often, and how, the clocks of the nodes are read.
const (
	clockEvery   = 5 * time.Second
	clockAsks    = 5           // reads each time, which go from node to node
	clockTimeout = time.Second // for one read
	// clockValid is how long a measurement is valid. A clock that uses NTP drifts by less than a
	// millisecond in that time.
	clockValid = time.Minute
)

const selectClock = `SELECT toTimestamp(now()) FROM system.local`

// Skew is the difference between this process's clock and those of the nodes.
type Skew struct {
	// Ahead is how far this clock is ahead of the median of the nodes; negative if it is
	// behind.
	Ahead time.Duration
	// Within is the maximum error of Ahead, which depends on the duration of the request.
	Within time.Duration
}

// clocks holds the last measurement.
type clocks struct {
	mu    sync.Mutex
	skew  Skew
	at    time.Time // monotonic
	known bool
}

// clockReading is the measurement of one node.
type clockReading struct {
	node string
	skew Skew
}

// WatchClock compares the clock of the options with those of the nodes, now and every few
// seconds until the Session is closed.
func (s *Session) WatchClock(ctx context.Context) {
	s.compareClocks(ctx)
	s.background.begin(ctx, func(ctx context.Context) {
		for Pause(ctx, clockEvery) == nil {
			s.compareClocks(ctx)
		}
	})
}

// Skew returns the last measurement; known is false if it is too old.
func (s *Session) Skew() (skew Skew, known bool) {
	s.clocks.mu.Lock()
	defer s.clocks.mu.Unlock()
	return s.clocks.skew, s.clocks.known && time.Since(s.clocks.at) < clockValid
}

// Ahead returns by how much this process's clock is at least ahead of the nodes'. It is negative if
// the clock is behind, and 0 if that is not known.
func (s *Session) Ahead() time.Duration {
	skew, known := s.Skew()
	if !known {
		return 0
	}
	return skew.certain()
}

// certain returns the part of the difference that exceeds its error.
func (k Skew) certain() time.Duration {
	if k.Ahead < 0 {
		return min(k.Ahead+k.Within, 0)
	}
	return max(k.Ahead-k.Within, 0)
}

// compareClocks measures. If no node answers, the last measurement stays.
func (s *Session) compareClocks(ctx context.Context) {
	var readings []clockReading
	for range clockAsks {
		if r, err := s.readClock(ctx); err == nil {
			readings = append(readings, r)
		}
	}
	if len(readings) == 0 {
		return
	}
	s.clocks.mu.Lock()
	defer s.clocks.mu.Unlock()
	s.clocks.skew, s.clocks.at, s.clocks.known = median(readings), time.Now(), true
}

// readClock reads the time of the next node. It assumes that the node read its clock in the middle
// of the request.
func (s *Session) readClock(ctx context.Context) (r clockReading, err error) {
	const operation = "read a clock"
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	err = s.request(ctx, operation, func() (sent, error) {
		var remote time.Time
		q := s.driver.Query(selectClock).WithContext(ctx).Consistency(gocql.One).Idempotent(true).RetryPolicy(nil)
		before, began := s.now(), time.Now()
		iter := q.Iter()
		iter.Scan(&remote)
		half := time.Since(began) / 2
		if host := iter.Host(); host != nil {
			r.node = host.HostID()
		}
		err := iter.Close()
		if err == nil && remote.IsZero() {
			err = ErrMalformedCell
		}
		// A node returns whole milliseconds.
		const rest = time.Millisecond / 2
		here := before.Add(half)
		r.skew = Skew{Ahead: here.Time().Sub(remote.Add(rest)), Within: half + rest}
		return sent{outcome: outcomeName(err)}, WrapError(operation, err)
	})
	return r, err
}

// median returns the median over the nodes, of the most exact measurement of each. For an even
// number of nodes, it returns the smaller of the two middle differences, because one node may be
// wrong.
func median(readings []clockReading) Skew {
	slices.SortFunc(readings, func(a, b clockReading) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.skew.Within, b.skew.Within))
	})
	nodes := slices.CompactFunc(readings, func(a, b clockReading) bool { return a.node == b.node })
	slices.SortFunc(nodes, func(a, b clockReading) int { return cmp.Compare(a.skew.Ahead, b.skew.Ahead) })
	low, high := nodes[(len(nodes)-1)/2].skew, nodes[len(nodes)/2].skew
	if low.Ahead.Abs() < high.Ahead.Abs() {
		return low
	}
	return high
}
