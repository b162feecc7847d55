package feed

import (
	"context"
	"fmt"
	"math"
	"slices"

	"carrel/core/clock"
	"carrel/core/sched"
)

// Limits of a walk.
const (
	// sliceSlack is how many entries are read from a partition beyond its share of the page, because some are not
	// shown. If the day has several partitions, the entries of the page fall into them at random, and a slice with
	// too few costs another round trip. So the slack has sliceSpread standard deviations of their number, too: one in
	// 1,400 pages of 20 entries of a day with four partitions takes another round trip.
	sliceSlack  = 3
	sliceSpread = 4
	// maxSlice limits the entries of a slice.
	maxSlice = 5000
	// maxExpired limits how many expired entries the walk of a page skips.
	maxExpired = 200_000
	// maxDaysAtOnce limits how many days are read at once.
	maxDaysAtOnce = 16
	// maxConcurrent limits how many calls of a remote store run at once.
	maxConcurrent = 64
)

// walk merges the partitions of a feed from a position in one direction.
type walk struct {
	t     *Timelines
	feed  Feed
	from  *Entry // nil to start at an end of the feed
	newer bool
	// want is about how many entries are taken at first. The limit of the first slice of each source is calculated
	// from it.
	want int
	// budget is how many expired entries may still be skipped.
	budget int
	// open are the sources that are merged. A page may set those that come first.
	open []*source
	// days are the days that follow; listed is false until they are listed. atOnce is how many of them are read next.
	// It doubles each time; otherwise a feed with few entries a day would take a round trip for each day.
	days   []Bucket
	listed bool
	atOnce int
	last   *Entry // the last entry that take has passed; nil if none
	ended  bool   // take has passed all entries
}

// source reads a partition.
type source struct {
	p     Partition
	slice Slice // the next one
	// pending are the entries that were read, but not yet passed.
	pending []Entry
	ended   bool
}

// take returns the next n entries of the walk that have not expired, or fewer if the feed ends or the budget is used
// up.
func (w *walk) take(ctx context.Context, n int) ([]Entry, error) {
	taken := make([]Entry, 0, min(n, headSize))
	now := clock.Of(w.t.rt.Now())
	for len(taken) < n && w.budget > 0 {
		e, err := w.next(ctx)
		if err != nil {
			return nil, err
		}
		if w.ended = e == nil; w.ended {
			break
		}
		again := w.last != nil && Compare(*e, *w.last) == 0 // it is in two sources of a head
		switch w.last = e; {
		case again:
		case e.expired(now):
			w.budget--
		default:
			taken = append(taken, *e)
		}
	}
	return taken, nil
}

// next passes the next entry of the walk and returns it. It returns nil at the end of the feed.
func (w *walk) next(ctx context.Context) (*Entry, error) {
	for {
		if err := w.fill(ctx); err != nil {
			return nil, err
		}
		if s := w.nearest(); s != nil {
			e := &s.pending[0]
			s.pending = s.pending[1:]
			return e, nil
		}
		if err := w.openDays(ctx); err != nil || len(w.open) == 0 {
			return nil, err
		}
	}
}

// nearest returns the open source whose first entry comes next, or nil if none has any.
func (w *walk) nearest() *source {
	var best *source
	for _, s := range w.open {
		if len(s.pending) == 0 {
			continue
		}
		if best == nil || w.newer == (Compare(s.pending[0], best.pending[0]) < 0) {
			best = s
		}
	}
	return best
}

// openDays opens the next days, each in all its partitions. After the last day it opens none.
func (w *walk) openDays(ctx context.Context) error {
	if !w.listed {
		newestFirst, err := w.t.buckets.list(ctx, w.feed)
		if err != nil {
			return err
		}
		w.days = slices.DeleteFunc(slices.Clone(newestFirst), func(day Bucket) bool {
			return w.from != nil && day.Day != DayOf(w.from.Created) && w.newer == (day.Day < DayOf(w.from.Created))
		})
		if w.newer {
			slices.Reverse(w.days)
		}
		w.listed = true
	}
	w.open = w.open[:0]
	w.atOnce = min(max(2*w.atOnce, 1), maxDaysAtOnce)
	n := min(w.atOnce, len(w.days))
	for _, day := range w.days[:n] {
		share, slack := w.want/day.Shards, sliceSlack
		if day.Shards > 1 {
			slack = max(slack, int(sliceSpread*math.Sqrt(float64(share))))
		}
		slice := Slice{Newer: w.newer, Limit: min(share+slack, maxSlice)}
		if w.from != nil && day.Day == DayOf(w.from.Created) {
			slice.From = w.from
		}
		for shard := range day.Shards {
			w.open = append(w.open, &source{p: Partition{Feed: w.feed, Day: day.Day, Shard: shard}, slice: slice})
		}
	}
	w.days = w.days[n:]
	return nil
}

// fill reads a slice of each open source that has no pending entries but may have more: the next entry of the walk
// may be among them.
func (w *walk) fill(ctx context.Context) error {
	var dry []*source
	for _, s := range w.open {
		if len(s.pending) == 0 && !s.ended {
			dry = append(dry, s)
		}
	}
	return sched.ForEach(ctx, w.t.rt, len(dry), w.t.width, func(i int) error { return dry[i].fill(ctx, w.t.store) })
}

// fill reads one slice.
func (s *source) fill(ctx context.Context, store Store) (err error) {
	if s.pending, err = store.ListEntries(ctx, s.p, s.slice); err != nil {
		return fmt.Errorf("reading the entries of a feed: %w", err)
	}
	if s.ended = len(s.pending) < s.slice.Limit; !s.ended {
		s.slice.From = &s.pending[len(s.pending)-1]
		s.slice.Limit = min(2*s.slice.Limit, maxSlice)
	}
	return nil
}
