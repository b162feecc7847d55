package session

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gocql/gocql"
)

// How the clocks of the nodes are asked for.
const (
	clockEvery  = 5 * time.Second
	clockAsks   = 5           // questions each time, which go from node to node
	clockWithin = time.Second // for one of them
	// clockGood is how long what was measured is relied on. A clock that is
	// kept by NTP moves less than a millisecond within it.
	clockGood = time.Minute
)

const selectClock = `SELECT toTimestamp(now()) FROM system.local`

// Skew is what is known of this process's clock and those of the nodes.
type Skew struct {
	// Ahead is how far this clock is ahead of the nodes' in the middle; it is
	// negative where it is behind.
	Ahead time.Duration
	// Within is how far Ahead may be from the truth, because the question and
	// its answer took their time.
	Within time.Duration
}

// clocks are what was measured last.
type clocks struct {
	mu    sync.Mutex
	skew  Skew
	at    time.Time // by the monotonic clock
	known bool
}

// clockReading is what one node has told.
type clockReading struct {
	node string
	skew Skew
}

// WatchClock compares the clock of the options with those of the nodes, now and
// then every few seconds until the Session is closed.
func (s *Session) WatchClock(ctx context.Context) {
	s.compareClocks(ctx)
	s.background.begin(ctx, func(ctx context.Context) {
		for Pause(ctx, clockEvery) == nil {
			s.compareClocks(ctx)
		}
	})
}

// Skew is what was measured last; known is false where that is too long ago.
func (s *Session) Skew() (skew Skew, known bool) {
	s.clocks.mu.Lock()
	defer s.clocks.mu.Unlock()
	return s.clocks.skew, s.clocks.known && time.Since(s.clocks.at) < clockGood
}

// Ahead is how far this process's clock is ahead of the nodes' at least, and
// negative where it is behind; 0 where that is not known.
func (s *Session) Ahead() time.Duration {
	skew, known := s.Skew()
	if !known {
		return 0
	}
	return skew.certain()
}

// certain is what of the difference is beyond doubt.
func (k Skew) certain() time.Duration {
	if k.Ahead < 0 {
		return min(k.Ahead+k.Within, 0)
	}
	return max(k.Ahead-k.Within, 0)
}

// compareClocks measures. Where no node answers, what is known stays.
func (s *Session) compareClocks(ctx context.Context) {
	var readings []clockReading
	for range clockAsks {
		if r, err := s.askClock(ctx); err == nil {
			readings = append(readings, r)
		}
	}
	if len(readings) == 0 {
		return
	}
	s.clocks.mu.Lock()
	defer s.clocks.mu.Unlock()
	s.clocks.skew, s.clocks.at, s.clocks.known = middle(readings), time.Now(), true
}

// askClock asks the next node for its time. The answer is that of the middle of
// the time it took, give or take half of it.
func (s *Session) askClock(ctx context.Context) (r clockReading, err error) {
	const doing = "read a clock"
	ctx, cancel := context.WithTimeout(ctx, clockWithin)
	defer cancel()
	err = s.request(ctx, doing, func() (sent, error) {
		var told time.Time
		q := s.driver.Query(selectClock).WithContext(ctx).Consistency(gocql.One).Idempotent(true).RetryPolicy(nil)
		before, began := s.now(), time.Now()
		iter := q.Iter()
		iter.Scan(&told)
		half := time.Since(began) / 2
		if host := iter.Host(); host != nil {
			r.node = host.HostID()
		}
		err := iter.Close()
		if err == nil && told.IsZero() {
			err = ErrMalformedCell
		}
		// The node tells whole milliseconds.
		const rest = time.Millisecond / 2
		here := before.Add(half)
		r.skew = Skew{Ahead: here.Time().Sub(told.Add(rest)), Within: half + rest}
		return sent{outcome: outcomeName(err)}, WrapError(doing, err)
	})
	return r, err
}

// middle is the median of the nodes, each by its best answer. Of two in the
// middle it is the one that finds less amiss: a node alone proves nothing.
func middle(readings []clockReading) Skew {
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
