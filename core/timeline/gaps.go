package timeline

import (
	"sync"
	"time"
)

const (
	// gapFrom is how many expired entries in a row make a gap that is worth remembering.
	gapFrom = 200
	// gapKept is how long a process passes over a gap without looking at it again. An entry
	// that comes late, from a gateway that had died, may be hidden for as long.
	gapKept = 10 * time.Second
)

// gap is a run of entries that have all expired. Entries never come back, so a walk that meets
// one of them goes on behind the last.
type gap struct {
	newest, oldest Entry
	foundAt        time.Duration // on the monotonic clock
}

// gaps remembers the longest gap of each feed that a walk has passed, so that not every page
// passes it again: until what has expired is removed, much of it may be where pages begin.
type gaps struct {
	mu    sync.Mutex
	feeds map[Feed]gap
}

// around returns the gap of a feed that an entry is in.
func (g *gaps) around(feed Feed, e Entry, now time.Duration) (gap, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	found, ok := g.feeds[feed]
	if !ok || now-found.foundAt >= gapKept {
		return gap{}, false
	}
	return found, Compare(e, found.oldest) >= 0 && Compare(e, found.newest) <= 0
}

// note remembers a gap of a feed.
func (g *gaps) note(feed Feed, found gap) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.feeds) >= maxFeeds {
		clear(g.feeds)
	}
	g.feeds[feed] = found
}

// passage is the expired entries that a walk is passing.
type passage struct {
	first, last Entry
	passed      int
	jumped      bool // over a gap that is known
}

// pass adds an expired entry to the run. If it is in a gap that is known, the walk goes on
// behind that.
func (w *walk) pass(e Entry) {
	if w.run.passed++; w.run.passed == 1 {
		w.run.first = e
	}
	w.run.last = e
	if w.run.jumped {
		return
	}
	known, ok := w.t.gaps.around(w.feed, e, w.t.rt.Elapsed())
	if !ok {
		return
	}
	w.run.jumped, w.run.last = true, known.oldest
	if w.newer {
		w.run.last = known.newest
	}
	w.jump(w.run.last)
}

// endRun ends the run before an entry that has not expired, or at the end of the feed.
func (w *walk) endRun() {
	if w.run.passed >= gapFrom && !w.run.jumped {
		found := gap{newest: w.run.first, oldest: w.run.last, foundAt: w.t.rt.Elapsed()}
		if w.newer {
			found.newest, found.oldest = found.oldest, found.newest
		}
		w.t.gaps.note(w.feed, found)
	}
	w.run = passage{}
}

// jump goes on behind an entry, which is further on than all that was taken.
func (w *walk) jump(to Entry) {
	behind := func(e Entry) bool { return w.newer == (Compare(e, to) > 0) && Compare(e, to) != 0 }
	day := DayOf(to.Created)
	before := func(d Day) bool { return d != day && w.newer == (d < day) }
	for _, s := range w.open {
		for len(s.read) > 0 && !behind(s.read[0]) {
			s.read = s.read[1:]
		}
		switch {
		case before(s.p.Day):
			s.ended = true
		case s.p.Day == day && (s.slice.From == nil || !behind(*s.slice.From)):
			s.slice.From = &to
		}
	}
	for len(w.days) > 0 && before(w.days[0].Day) {
		w.days = w.days[1:]
	}
	w.from = &to // for a day that is opened later
}
