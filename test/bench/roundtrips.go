package main

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"carrel/cassandra/session"
)

// A span is the time from sending a statement until its answer.
type span struct {
	from, to    time.Time
	conditional bool
}

// roundTrips returns the minimum number of round trips to the replicas that an operation
// waits for: the length of the longest chain of statements each of which was sent after
// the answer to the previous one, where a conditional write counts as lwt round trips.
func roundTrips(spans []span, lwt int) int {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.to.UnixNano(), b.to.UnixNano()) })
	best, most := make([]int, len(spans)), 0
	for i, s := range spans {
		before := 0
		for j, earlier := range spans[:i] {
			if !earlier.to.After(s.from) {
				before = max(before, best[j])
			}
		}
		best[i] = before + 1
		if s.conditional {
			best[i] = before + lwt
		}
		most = max(most, best[i])
	}
	return most
}

// spans records the statements that a store sends.
type spans struct {
	mu  sync.Mutex
	all []span
}

func (s *spans) observe(_ context.Context, o session.Observation) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	decision := o.Outcome == "applied" || o.Outcome == "refused"
	s.all = append(s.all, span{from: now.Add(-o.Took), to: now, conditional: decision})
}

// within returns the statements that were sent and answered between two times.
func (s *spans) within(from, to time.Time) []span {
	s.mu.Lock()
	defer s.mu.Unlock()
	var some []span
	for _, one := range s.all {
		if !one.from.Before(from) && !one.to.After(to) {
			some = append(some, one)
		}
	}
	return some
}

// and returns an observer that records in s and counts in counts.
func (s *spans) and(counts *tally) func(context.Context, session.Observation) {
	return func(ctx context.Context, o session.Observation) {
		s.observe(ctx, o)
		counts.observe(ctx, o)
	}
}
