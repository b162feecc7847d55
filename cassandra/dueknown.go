package cassandra

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
)

// mostDuesKept limits the hints of a partition that are remembered because this process wrote them
// before its read position. If there are more, a full read starts at once and finds them.
const mostDuesKept = 1000

// duePosition is a position in a partition of hints: right after a hint, or before all hints of an
// instant.
type duePosition struct {
	at  clock.Instant
	row string
}

func positionOf(d commit.Due) duePosition { return duePosition{d.At, d.Row()} }

func comparePositions(a, b duePosition) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.row, b.row))
}

func (p duePosition) before(q duePosition) bool { return comparePositions(p, q) < 0 }

// knownDue is a hint that was read or written and not dropped since.
type knownDue struct {
	mts clock.Instant
	// call is the number of the call of DueUntil during or after which that happened.
	call int
}

// duePartition is the state of this process for one partition of hints.
type duePartition struct {
	day   time.Time
	shard int8
	first clock.Instant // of the day
	last  clock.Instant

	near  dueWalk     // continues where the last call of DueUntil stopped
	ahead duePosition // where the current read ends
	known map[duePosition]knownDue

	full  bool          // everything is being read again
	again dueWalk       // the walk of that full read
	since clock.Instant // when the last full read started
	// skipped reports that a slice has been unreadable since then.
	skipped bool
	most    time.Duration // the largest slice
}

// dueDayState is the state of this process for a day.
type dueDayState struct {
	// noted is the write time of the note of the day, as it was when the last full read started.
	noted int64
	parts [dueShards]duePartition
}

// dueScan remembers how far the hints have been read, and which exist.
type dueScan struct {
	scanning sync.Mutex // held by DueUntil; guards the walks except near.position

	mu   sync.Mutex // guards the fields below, near.position, ahead, known and since
	days map[time.Time]*dueDayState
	call int
	now  clock.Instant
}

// begin starts a call with the listed days.
func (s *dueScan) begin(days []dueDay, now clock.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.call++
	s.now = now
	kept := make(map[time.Time]*dueDayState, len(days))
	for _, d := range days {
		if kept[d.day] = s.days[d.day]; kept[d.day] == nil {
			kept[d.day] = newDueDay(d, now)
		}
	}
	s.days = kept
}

func newDueDay(d dueDay, now clock.Instant) *dueDayState {
	state := &dueDayState{noted: d.noted}
	first := clock.Of(d.day)
	for i := range state.parts {
		state.parts[i] = duePartition{day: d.day, shard: int8(i), first: first, last: first.Add(24*time.Hour) - 1,
			near: dueWalk{position: duePosition{at: first}, slice: dueSlice}, known: map[duePosition]knownDue{}, since: now}
	}
	return state
}

// day returns the state of a listed day and marks what must be read again.
func (s *dueScan) day(d dueDay) *dueDayState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.days[d.day]
	read, full := true, false
	for i := range state.parts {
		p := &state.parts[i]
		// The position may be in the future after a clock that ran ahead was corrected.
		if now := (duePosition{at: max(s.now+1, p.first)}); now.before(p.near.position) {
			p.near.position = now
		}
		read, full = read && p.near.position.at > p.last, full || p.full
	}
	// Another process has written a hint to a day that was read to its end.
	renoted := read && !full && state.noted != d.noted
	if renoted {
		state.noted = d.noted
	}
	for i := range state.parts {
		p := &state.parts[i]
		if p.most = dueSlice; s.now > p.last.Add(24*time.Hour) {
			p.most = dueWholeDay
		}
		if p.near.slice == dueSlice && p.near.failures == 0 {
			p.near.slice = p.most
		}
		if due := s.now >= p.since.Add(dueFullEvery) || s.now < p.since; renoted || due && !p.full {
			p.full, p.since, p.skipped, p.again = true, s.now, false, dueWalk{position: duePosition{at: p.first}, slice: p.most}
		}
	}
	return state
}

// dueIn counts the known hints of a day that are due, and reports whether the day is long over and
// has no hints. A hint is written at the same time as the note of its day and may arrive later, so
// only a read that started well after the note can show that there are none.
func (s *dueScan) dueIn(day *dueDayState, until clock.Instant) (due int, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over = until.Time().Sub(day.parts[0].day) > dueDaysKept+24*time.Hour
	for i := range day.parts {
		p := &day.parts[i]
		due += p.count(until)
		over = over && !p.skipped && p.since >= clock.Instant(day.noted).Add(dueOverlap)
		over = over && len(p.known) == 0 && !p.full && p.near.failures == 0 && p.again.failures == 0 && p.near.position.at > p.last
	}
	return due, over
}

func (p *duePartition) count(until clock.Instant) (n int) {
	for position := range p.known { // in any order: they are only counted
		if position.at <= until {
			n++
		}
	}
	return n
}

// count returns the number of known hints of a partition that are due.
func (s *dueScan) count(p *duePartition, until clock.Instant) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.count(until)
}

// reading notes that a read up to a position starts.
func (s *dueScan) reading(p *duePartition, to duePosition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.ahead = to
}

// passed advances a walk to a position. It never moves it back.
func (s *dueScan) passed(w *dueWalk, to duePosition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.position.before(to) {
		w.position = to
	}
}

// learn records the hints that a walk has read between two positions. Hints that were known there
// but were not read have been dropped by other processes.
func (s *dueScan) learn(p *duePartition, w *dueWalk, from, to duePosition, rows []commit.Due) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for position, k := range p.known { // in any order: each is checked on its own
		if from.before(position) && !to.before(position) && k.call < s.call {
			delete(p.known, position)
		}
	}
	for _, d := range rows {
		p.known[positionOf(d)] = knownDue{max(d.MTS, p.known[positionOf(d)].mts), s.call}
	}
	if w.position.before(to) {
		w.position = to
	}
}

// part returns the partition of a hint, or nil if it is not being read. The caller holds mu.
func (s *dueScan) part(d commit.Due) *duePartition {
	state := s.days[dayOf(d.At)]
	if state == nil {
		return nil
	}
	return &state.parts[shardOf(d.Row())]
}

// wrote records a hint that this process has written. A hint before the current position would
// otherwise not be read soon.
func (s *dueScan) wrote(d commit.Due) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, position := s.part(d), positionOf(d)
	if p == nil || p.near.position.before(position) && p.ahead.before(position) {
		return
	}
	known, ok := p.known[position]
	if !ok && len(p.known) >= mostDuesKept {
		p.since = 0 // a full read finds it
		return
	}
	p.known[position] = knownDue{max(d.MTS, known.mts), s.call}
}

// dropped forgets a hint that this process has removed.
func (s *dueScan) dropped(d commit.Due) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.part(d); p != nil && p.known[positionOf(d)].mts <= d.MTS {
		delete(p.known, positionOf(d))
	}
}

// list returns the known hints that are due, earliest first.
func (s *dueScan) list(until clock.Instant, limit int) []commit.Due {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []commit.Due
	for _, day := range s.days { // in any order: they are sorted below
		for i := range day.parts {
			for position, k := range day.parts[i].known {
				if position.at <= until {
					all = append(all, commit.DueOf(position.at, position.row, k.mts))
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b commit.Due) int { return comparePositions(positionOf(a), positionOf(b)) })
	return all[:min(len(all), limit)]
}
