package timeline

import (
	"time"

	"carrel/core/clock"
)

// span is a time span, from inclusive and to exclusive. It is a gap if a feed has no entries to show in it: all
// were removed or have expired. Reading past them takes time until the store has cleaned up. Pages that skip the
// gap do not show an entry that another process has put there late, or has changed there to expire later.
type span struct {
	from, to clock.Instant
	// until is when a known gap becomes old, when pages stop using a span of a forecast (see futureGap), or when the
	// remaining entries of a search are forgotten, by the monotonic clock; 0 in other spans.
	until time.Duration
}

func (s span) empty() bool { return s.from >= s.to }

func (s span) contains(at clock.Instant) bool { return at >= s.from && at < s.to }

func (s span) overlaps(other span) bool { return s.from < other.to && other.from < s.to }

// due reports whether a known gap is old, or becomes old within dueWithin.
func (s span) due(elapsed time.Duration) bool { return elapsed >= s.until-dueWithin }

// stale reports whether a known gap has been old for gapGrace.
func (s span) stale(elapsed time.Duration) bool { return elapsed >= s.until+gapGrace }

// micros returns the length of the span in microseconds. It may be longer than a time.Duration.
func (s span) micros() int64 { return int64(s.to - s.from) }

// around returns the smallest span that contains g and the time from first up to, but not including, end. An empty
// g is ignored.
func around(g span, first, end clock.Instant) span {
	if g.empty() {
		return span{from: first, to: end}
	}
	return span{from: min(g.from, first), to: max(g.to, end)}
}

// between returns the span between two instants, excluding both.
func between(a, b clock.Instant) span { return span{from: min(a, b) + 1, to: max(a, b)} }

// widerPart returns the wider of the two parts before and after an instant, or the whole span if the instant is
// not in it.
func (s span) widerPart(at clock.Instant) span {
	if !s.contains(at) {
		return s
	}
	older, newer := span{s.from, at, s.until}, span{at + 1, s.to, s.until}
	if older.micros() < newer.micros() {
		return newer
	}
	return older
}

// without returns the parts of gaps that are outside of cut.
func without(all []span, cut span) []span {
	var rest []span
	for _, one := range all {
		for _, part := range []span{{one.from, min(one.to, cut.from), one.until}, {max(one.from, cut.to), one.to, one.until}} {
			if !part.empty() {
				rest = append(rest, part)
			}
		}
	}
	return rest
}

// outside returns the parts of a span that are in none of the given spans.
func (s span) outside(spans []span) []span {
	if s.empty() {
		return nil
	}
	parts := []span{s}
	for _, one := range spans {
		parts = without(parts, one)
	}
	return parts
}

// join adds a gap to gaps that begin no later. Gaps that overlap or touch become one, whose until is
// the earlier one of the two.
func join(all []span, next span) []span {
	if next.empty() {
		return all
	}
	if len(all) == 0 || all[len(all)-1].to < next.from {
		return append(all, next)
	}
	last := &all[len(all)-1]
	last.to, last.until = max(last.to, next.to), min(last.until, next.until)
	return all
}

// union returns the gaps of two sorted lists, and joins those that overlap or touch.
func union(a, b []span) (all []span) {
	for len(a) > 0 || len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && a[0].from < b[0].from {
			a, b = b, a
		}
		all, b = join(all, b[0]), b[1:]
	}
	return all
}
