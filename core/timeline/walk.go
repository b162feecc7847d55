package timeline

import (
	"context"
	"fmt"
	"math"

	"carrel/core/clock"
)

// Limits of a walk.
const (
	// sliceSlack is the smallest slack. The slack is the number of entries that are read from a partition beyond
	// its share of the page, because some are not shown.
	sliceSlack = 3
	// In a remote store, the slack is sliceSpread standard deviations of the number of entries of the page that
	// fall into a partition, if that is more than sliceSlack: ids fall into partitions at random, and a slice
	// with too few entries costs another round trip. With a sliceSpread of 4, that happens to about one in 1,400
	// pages of 20 entries of a day with four partitions, and more often with more partitions.
	sliceSpread = 4
	// maxSlice limits the entries of a slice.
	maxSlice = 5000
	// maxExpired limits how many expired entries a walk skips.
	maxExpired = 500_000
	// checkedAtOnce is how many entries a walk passes before it looks at its context again.
	checkedAtOnce = 64
	// maxDaysAtOnce limits how many days are read at once.
	maxDaysAtOnce = 16
	// maxConcurrent limits how many calls of a remote store run at once.
	maxConcurrent = 64
)

// walk merges the partitions of a feed from a position in one direction.
type walk struct {
	t     *Timelines
	feed  Feed
	newer bool
	from  *Entry
	// day is the current day, rest are its slices that are still to be opened, and days are the days that
	// follow.
	day  Bucket
	rest []Slice
	days []Bucket
	// atOnce is how many days are read next. It doubles each time; otherwise a feed with
	// few entries a day would take a round trip for each day.
	atOnce int
	// want is about how many entries the caller of newWalk takes first. The limit of the first slice of each
	// source is calculated from it (see limitFor).
	want int
	open []*source
	// now is when the walk began. asOf is the time by which an entry must have expired to be skipped. It starts
	// as the time when the walk began, and a page moves it forward.
	now, asOf clock.Instant
	// budget is how many expired entries may still be skipped.
	budget int
	// last is the last entry that take has passed; nil if none.
	last *Entry
	// passed is the number of entries that take has passed, expiring the number of those that have an
	// expiry time, and taken the number of entries that take has returned.
	passed, expiring, taken int
	empty                   emptySpan
	beginning
	// drops are the creation times of entries that this process has removed, in ascending order. They are set
	// in a search only. Once a search has passed an entry beyond all of them, it does not go on to another day:
	// enough reports whether it has ended for that reason.
	drops  []clock.Instant
	enough bool
	// removedDays spans the days in which the store has skipped many removed entries. likeliest is the span in it
	// that most likely contained them: of the spans without an entry to show, the one with the longest part
	// outside the gaps that the walk skips (see endEmpty). longest is the length of that part in microseconds.
	removedDays span
	likeliest   span
	longest     int64
}

// source reads a partition, or one of the parts into which gaps divide it.
type source struct {
	p      Partition
	shards int    // the number of partitions of its day
	first  *Entry // From of its first slice
	slice  Slice  // the next one
	// pending are the entries that were read, but not yet passed.
	pending []Entry
	ended   bool
	// removed reports whether the store has skipped many removed entries.
	removed bool
}

// newWalk starts a walk at the time now. Its caller takes about want entries first. If from is nil, the walk
// starts at an end of the feed. The caller obtains b, because callers skip different gaps. newWalk lists the days
// itself, so that they are listed after b was obtained: otherwise the walk could miss an entry that this process
// put between the two, and remember a gap that hides it.
func (t *Timelines) newWalk(ctx context.Context, feed Feed, from *Entry, newer bool, want int, now clock.Instant, b beginning) (*walk, error) {
	w := &walk{t: t, feed: feed, newer: newer, from: from, atOnce: 1, want: want, now: now, asOf: now, budget: maxExpired, beginning: b}
	list, err := t.buckets.list(ctx, feed)
	if err != nil {
		return nil, err
	}
	w.empty.from = w.end(!newer)
	if from != nil {
		w.empty.from = from.Created
	}
	for i := range list {
		day := list[i]
		if newer {
			day = list[len(list)-1-i]
		}
		if from == nil || newer && day.Day >= DayOf(from.Created) || !newer && day.Day <= DayOf(from.Created) {
			w.days = append(w.days, day)
		}
	}
	return w, nil
}

// end returns the instant at an end of the feed.
func (w *walk) end(newest bool) clock.Instant {
	if newest {
		return w.now
	}
	return clock.Min
}

// take returns the next n entries of the walk that have not expired, or fewer if the feed
// ends, maxExpired were skipped, or a search has read enough.
func (w *walk) take(ctx context.Context, n int) ([]Entry, error) {
	var taken []Entry
	for len(taken) < n && w.budget > 0 {
		e, err := w.advance(ctx)
		if err != nil {
			return nil, err
		}
		if e == nil {
			if !w.enough {
				w.endEmpty(w.end(w.newer))
			}
			break
		}
		w.last = e
		if w.passed%checkedAtOnce == 0 && ctx.Err() != nil { // no store is called while entries are pending
			return nil, ctx.Err()
		}
		if w.passed++; e.Until != 0 {
			w.expiring++
		}
		if e.Until != 0 && e.Until <= w.asOf {
			w.budget--
			w.empty.expired++
			continue
		}
		w.endEmpty(e.Created)
		taken = append(taken, *e)
	}
	if w.budget == 0 {
		w.endEmpty(w.last.Created)
	}
	w.taken += len(taken)
	w.t.gaps.cut(w.feed, w.beginning, taken...)
	if w.longest > 0 {
		w.remember(w.likeliest)
		w.likeliest, w.longest = span{}, 0
	}
	return taken, nil
}

// advance passes the next entry of the walk and returns it. It returns nil at the end of the feed, or if a
// search has read enough.
func (w *walk) advance(ctx context.Context) (*Entry, error) {
	for {
		if err := w.fill(ctx); err != nil {
			return nil, err
		}
		if s := w.next(); s != nil {
			e := &s.pending[0]
			s.pending = s.pending[1:]
			return e, nil
		}
		if w.enough = w.passedDrops(); w.enough || !w.openDays() {
			return nil, nil
		}
	}
}

// next returns the open source whose first entry comes next, or nil if none has any.
func (w *walk) next() *source {
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

// openDays opens the next slices, each in all partitions of its day, and reports whether there were any. It stops
// after atOnce slices that end with their day. A slice that ends at a gap does not count: it may be empty, so it
// is opened together with the next one, which would otherwise cost another round trip. One call opens at most
// atOnce+maxGaps slices, including those that end at a gap; later calls open the others. A slice that is opened
// in several partitions counts as one.
func (w *walk) openDays() bool {
	w.open = w.open[:0]
	for n, slices := 0, w.atOnce+maxGaps; n < w.atOnce && slices > 0 && w.nextDay(); slices-- {
		part := w.rest[0]
		w.rest = w.rest[1:]
		if part.To == nil {
			n++
		}
		part.Limit = w.limitFor(w.want / w.day.Shards)
		for shard := range w.day.Shards {
			w.open = append(w.open, &source{p: Partition{Feed: w.feed, Day: w.day.Day, Shard: shard}, shards: w.day.Shards, first: part.From, slice: part})
		}
	}
	w.atOnce = min(2*w.atOnce, maxDaysAtOnce)
	return len(w.open) > 0
}

// nextDay goes on to the next day with slices to read if all slices of the current day are open. It
// reports whether there is a slice to open.
func (w *walk) nextDay() bool {
	for len(w.rest) == 0 && len(w.days) > 0 {
		w.day, w.days = w.days[0], w.days[1:]
		w.rest = w.parts(w.day.Day)
	}
	return len(w.rest) > 0
}

// parts returns the slices that the walk reads of each partition of a day, in its direction:
// what follows the start of the walk and is in no gap. Each slice ends at the next gap. The last one
// ends with the day, unless a gap covers the end of the day.
func (w *walk) parts(d Day) (all []Slice) {
	first, end := firstOf(d), firstOf(d+1)
	var from *Entry
	if w.from != nil && d == DayOf(w.from.Created) {
		from = w.from
	}
	for i := range w.skip {
		g := w.skip[i]
		near, far := g.from, g.to // in the direction of the walk
		if !w.newer {
			g = w.skip[len(w.skip)-1-i]
			near, far = g.to, g.from
		}
		if g.to <= first || g.from >= end || from != nil && !w.after(*before(far), *from) {
			continue // on another day, or already passed
		}
		beginsHere := near < end // the day has time before the gap, in the direction of the walk
		if w.newer {
			beginsHere = near > first
		}
		if beginsHere && (from == nil || w.after(*before(near), *from)) {
			all = append(all, Slice{From: from, To: before(near), Newer: w.newer})
		}
		if w.newer && far >= end || !w.newer && far <= first {
			return all
		}
		from = before(far)
	}
	return append(all, Slice{From: from, Newer: w.newer})
}

// after reports whether position a comes after b in the direction of the walk.
func (w *walk) after(a, b Entry) bool { return w.newer == (Compare(a, b) > 0) && Compare(a, b) != 0 }

// limitFor returns the limit of the first slice of a source, or of its first one after discard. share is how many
// of the wanted entries are expected in its partition. The slack is smaller in a local store, because another
// slice takes no round trip there.
func (w *walk) limitFor(share int) int {
	slack := sliceSlack
	if w.t.remote {
		slack = max(slack, int(sliceSpread*math.Sqrt(float64(share))))
	}
	return min(share+slack, maxSlice)
}

// discard forgets the pending entries of all sources, so that they are read again from the position of
// the walk. n is how many entries the walk will take next.
func (w *walk) discard(n int) {
	for _, s := range w.open {
		if w.last != nil && len(s.pending) > 0 {
			s.pending, s.ended, s.slice.From = nil, false, s.first
			s.slice.Limit = w.limitFor(n / s.shards)
			if s.first == nil || w.after(*w.last, *s.first) {
				s.slice.From = w.last
			}
		}
	}
}

// pending returns how many entries the walk has read, but not passed. atGap reports whether it has read a
// partition up to the first gap after the entries that it has passed.
func (w *walk) pending() (n int, atGap bool) {
	var gap *Entry
	for _, s := range w.open {
		n += len(s.pending)
		to := s.slice.To
		if to == nil || w.last != nil && !w.after(*to, *w.last) {
			continue
		}
		if gap == nil {
			gap = to
		}
		// Slices that end at the same gap share the pointer To.
		atGap = atGap || to == gap && s.ended
	}
	return n, atGap
}

// fill reads a slice of each open source that has no pending entries but may have more: the next
// entry of the walk may be among them.
func (w *walk) fill(ctx context.Context) error {
	var dry []*source
	for _, s := range w.open {
		if len(s.pending) == 0 && !s.ended {
			dry = append(dry, s)
		}
	}
	err := w.t.each(ctx, len(dry), func(i int) error { return dry[i].fill(ctx, w.t.store) })
	if err != nil {
		return fmt.Errorf("reading the entries of a feed: %w", err)
	}
	for _, s := range dry {
		if s.removed {
			w.removedDays = around(w.removedDays, firstOf(s.p.Day), firstOf(s.p.Day+1))
		}
	}
	return nil
}

// fill reads one slice.
func (s *source) fill(ctx context.Context, store Store) error {
	l, err := store.ListEntries(ctx, s.p, s.slice)
	if err != nil {
		return err
	}
	es := l.Entries
	s.pending, s.removed = es, l.Removed
	if s.ended = len(es) < s.slice.Limit; s.ended {
		return nil
	}
	from := es[len(es)-1]
	s.slice.From = &from
	s.slice.Limit = min(2*s.slice.Limit, maxSlice)
	return nil
}
