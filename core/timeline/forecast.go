package timeline

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
)

const (
	// During the last rereadWithin before a span becomes a gap, forecasts read its entries again.
	// Another process may have changed the time at which one of them expires.
	rereadWithin = 20 * time.Second
	// When a span has spanSize entries, a forecast begins another span at the next instant that has an entry.
	spanSize = 500
	// maxForecast is how many entries a forecast reads at most, and maxSpans how many spans it keeps.
	maxForecast = 200_000
	maxSpans    = 1000
)

// futureGap is a span that becomes a gap at emptyAt, when all of its entries have expired. From until on, pages
// do not skip it, but the next forecast still reuses it.
type futureGap struct {
	span
	emptyAt clock.Instant
}

// forecaster collects the spans of a feed, newest first, from its entries in that order. Without
// known spans, readers would have to read past all entries that have just expired to find the gap.
type forecaster struct {
	spans []futureGap
	// reused are the known spans and gaps that are not read again: disjoint, oldest first. For a gap,
	// emptyAt is 0.
	reused []futureGap
	// until is the until of the spans that are read now.
	until time.Duration
	// The current span ends at to, exclusive. It has count entries; oldest is when the oldest of them
	// was created, and emptyAt when the last of them expires.
	to, oldest, emptyAt clock.Instant
	count               int
}

// forecast reads the newest entries of a feed and remembers which spans will have no entries to
// show, and from when on. After an error, it remembers what it has read.
func (t *Timelines) forecast(ctx context.Context, feed Feed) {
	ctx, cancel := t.rt.Deadline(ctx, refreshWithin)
	defer cancel()
	now := clock.Of(t.rt.Now())
	b := t.gaps.begin(feed, t.rt.Elapsed(), now)
	f := &forecaster{until: b.elapsed + gapOldAfter, to: now.Add(-listedWithin)}
	f.reused = t.gaps.reused(feed, b.elapsed, now.Add(rereadWithin))
	b.skip = joined(f.reused)
	w, err := t.newWalk(ctx, feed, nil, false, cursor.MaxPageSize+1, now, b)
	if err != nil {
		return
	}
	for read, lasting := 0, 0; read < maxForecast && lasting <= cursor.MaxPageSize && len(f.spans) < maxSpans; read++ {
		e, err := w.advance(ctx)
		if err != nil {
			break
		}
		if e == nil {
			f.pass(clock.Min)
			break
		}
		f.add(*e)
		if e.Until == 0 {
			lasting++
		}
	}
	t.gaps.setForecast(feed, f.result(), b.puts)
}

// add adds the next entry.
func (f *forecaster) add(e Entry) {
	f.pass(e.Created)
	switch {
	case e.Until == 0:
		f.close(e.Created + 1)
		f.to = min(f.to, e.Created)
	case e.Created < f.to:
		if f.count >= spanSize && e.Created < f.oldest {
			f.close(f.oldest)
		}
		f.count++
		f.oldest, f.emptyAt = e.Created, max(f.emptyAt, e.Until)
	}
}

// pass moves past the reused spans and gaps that begin after an instant. It adds the spans, but not the gaps,
// to the forecast.
func (f *forecaster) pass(at clock.Instant) {
	for len(f.reused) > 0 && f.reused[len(f.reused)-1].from > at {
		s := f.reused[len(f.reused)-1]
		f.reused = f.reused[:len(f.reused)-1]
		s.to = min(s.to, f.to)
		if s.empty() {
			continue
		}
		f.close(s.to)
		if s.emptyAt != 0 {
			f.spans = append(f.spans, s)
		}
		f.to = s.from
	}
}

// close ends the current span, which begins at from. A span of fewer than minExpired entries is kept only if it
// touches the next newer span. A gap of its own would cost each page another slice, and reading its entries takes
// hardly any time.
func (f *forecaster) close(from clock.Instant) {
	touches := len(f.spans) > 0 && f.spans[len(f.spans)-1].from == f.to
	if f.count >= minExpired || f.count > 0 && touches {
		f.spans = append(f.spans, futureGap{span{from, f.to, f.until}, f.emptyAt})
	}
	f.to, f.count, f.emptyAt = min(f.to, from), 0, 0
}

// result closes the last span, and returns the newest spans, oldest first.
func (f *forecaster) result() []futureGap {
	f.close(f.oldest + 1) // perhaps not all entries of that instant were read
	spans := f.spans[:min(len(f.spans), maxSpans)]
	slices.Reverse(spans)
	return spans
}

// joined returns sorted spans as gaps. Those that overlap or touch become one.
func joined(spans []futureGap) []span {
	var all []span
	for _, s := range spans {
		all = join(all, s.span)
	}
	return all
}

// reused returns what a forecast does not read again, disjoint and oldest first: the spans of the last
// forecast that become gaps after an instant, and the known gaps that need not be verified yet.
func (c *gapCache) reused(feed Feed, elapsed time.Duration, after clock.Instant) []futureGap {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	var all []futureGap
	for _, s := range k.forecast {
		if s.emptyAt > after && !s.empty() {
			all = append(all, s)
		}
	}
	var outside []span
	for _, g := range k.all {
		if !g.due(elapsed) && !g.empty() {
			outside = append(outside, g)
		}
	}
	for _, s := range all {
		outside = without(outside, s.span)
	}
	for _, g := range outside {
		all = append(all, futureGap{span: g})
	}
	slices.SortFunc(all, func(a, b futureGap) int { return cmp.Compare(a.from, b.from) })
	return all
}

// setForecast replaces the forecast of a feed. since is the putCount at the start of the walk that has read the
// entries. If not all puts since then are known, setForecast does nothing.
func (c *gapCache) setForecast(feed Feed, spans []futureGap, since putCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(feed)
	if !k.hasPuts(since) {
		return
	}
	k.forecast = spans
	for _, created := range k.puts.since(since.put) {
		k.excludeInstant(created)
	}
}

// expiredSpans returns the spans of the forecast whose entries have all expired, as gaps. Those that overlap or
// touch become one. It leaves out spans whose until has passed.
func (k *knownGaps) expiredSpans(elapsed time.Duration, now clock.Instant) (all []span) {
	for _, s := range k.forecast {
		if s.emptyAt <= now && elapsed < s.until {
			all = join(all, s.span)
		}
	}
	return all
}

// excludeEntry cuts the instant of an entry out of the forecast if the entry expires after the others of its
// span.
func (k *knownGaps) excludeEntry(e Entry) {
	if s := k.spanAt(e.Created); s != nil && (e.Until == 0 || e.Until > s.emptyAt) {
		s.span = s.widerPart(e.Created)
	}
}

// excludeInstant cuts an instant out of the forecast.
func (k *knownGaps) excludeInstant(at clock.Instant) {
	if s := k.spanAt(at); s != nil {
		s.span = s.widerPart(at)
	}
}

// spanAt returns the span that contains an instant, or nil.
func (k *knownGaps) spanAt(at clock.Instant) *futureGap {
	i := sort.Search(len(k.forecast), func(i int) bool { return k.forecast[i].to > at })
	if i == len(k.forecast) || k.forecast[i].from > at {
		return nil
	}
	return &k.forecast[i]
}
