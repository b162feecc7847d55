package follow

import (
	"cmp"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// Times and numbers of announcements: other processes know of an index update within
// announceEvery + pollEvery and the time that both take.
const (
	announceEvery   = 250 * time.Millisecond
	announceTimeout = 2 * time.Second
	announceMost    = 2_000
	// announceFor is how long a touch is part of the announcement: the maximum delay of a reader.
	announceFor = 10 * time.Second
)

// announcer writes the announcements of this process, while there is anything new.
type announcer struct {
	s       *Publisher
	process commit.ListID
	// born is the clock when the announcer was made, and bornAt the same by the monotonic clock.
	// Announcements are compared only with those of the same process, so they are dated by the
	// monotonic clock: with a clock that is set back, everything would be announced until the
	// clock has caught up.
	born   clock.Instant
	bornAt time.Duration

	mu      sync.Mutex
	stamp   clock.Instant
	touches map[principal.ID]clock.Instant
	updates map[library.ContentID]clock.Instant
	all     clock.Instant
	written clock.Instant // everything up to it is in an announcement that was written
	dirty   bool
	writing bool
}

func newAnnouncer(s *Publisher) *announcer {
	var id [16]byte
	s.rt.Random(id[:])
	return &announcer{s: s, process: commit.ListID(hex.EncodeToString(id[:])), born: s.engine.Now(), bornAt: s.rt.Elapsed(),
		touches: map[principal.ID]clock.Instant{}, updates: map[library.ContentID]clock.Instant{}}
}

// now returns the time by which announcements are dated.
func (a *announcer) now() clock.Instant { return a.born.Add(a.s.rt.Elapsed() - a.bornAt) }

// touched announces the libraries of the principals of rows.
func (a *announcer) touched(rows []library.Member) {
	a.note(func(at clock.Instant) {
		for _, m := range rows {
			a.touches[m.Principal] = at
		}
		if len(a.touches) > announceMost {
			a.all = at
			clear(a.touches)
		}
	})
}

// updated announces an update in place.
func (a *announcer) updated(id library.ContentID) {
	a.note(func(at clock.Instant) {
		if len(a.updates) < announceMost {
			a.updates[id] = at
		}
	})
}

// note adds to the announcement, and starts to write it unless that is running.
func (a *announcer) note(add func(at clock.Instant)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stamp = max(a.stamp+1, a.now())
	add(a.stamp)
	a.dirty = true
	if !a.writing {
		a.writing = true
		a.s.rt.Go(a.write)
	}
}

// write writes the announcement, and writes it again while it changes, with pauses. A process
// that ends tries once more and no longer: its end waits for this task, and the store may be
// down for hours. Other processes find by their next full look what was not announced.
func (a *announcer) write() {
	for {
		last := a.s.engine.Ending()
		next, ok := a.take()
		if !ok {
			return
		}
		ctx, cancel := a.s.rt.Deadline(a.s.life, announceTimeout)
		err := a.s.notifier.Announce(ctx, next)
		cancel()
		if err != nil {
			a.s.log.WarnContext(a.s.life, "changes could not be announced yet", "error", err)
		}
		if a.tried(next, err == nil, last) {
			return
		}
		pause := a.s.engine.Pause
		if last {
			pause = a.s.rt.After // the process is ending already
		}
		if err := pause(a.s.life, announceEvery); err != nil && !errors.Is(err, commit.ErrEnding) {
			return
		}
	}
}

// tried records the result of writing an announcement. It returns true if this was the last
// try.
func (a *announcer) tried(next library.Announcement, written, last bool) (over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if written {
		a.written = clock.Instant(next.Stamp)
		return false
	}
	// What is noted after the last try gets a try of its own.
	a.dirty, a.writing = true, !last
	return last
}

// take returns the announcement to write. It drops what has been announced for longer than
// announceFor, which all readers have had the time to read. ok is false if nothing is new, or
// nothing is left. What was never written is never too old, even if the process was suspended for
// long.
func (a *announcer) take() (next library.Announcement, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stamp = max(a.stamp+1, a.now())
	old := min(a.stamp.Add(-announceFor), a.written+1)
	next = library.Announcement{Process: a.process, Stamp: int64(a.stamp)}
	for p, at := range a.touches { // in any order: sorted below
		if at < old {
			delete(a.touches, p)
			continue
		}
		next.Touched = append(next.Touched, library.Touch{Principal: p, At: at})
	}
	for id, at := range a.updates { // in any order: sorted below
		if at < old {
			delete(a.updates, id)
			continue
		}
		next.Updated = append(next.Updated, library.Update{Content: id, At: at})
	}
	if a.all >= old {
		next.All = a.all
	}
	if !a.dirty || len(next.Touched)+len(next.Updated) == 0 && next.All == 0 {
		a.writing = false
		return next, false
	}
	slices.SortFunc(next.Touched, func(x, y library.Touch) int { return cmp.Compare(x.Principal, y.Principal) })
	slices.SortFunc(next.Updated, func(x, y library.Update) int { return cmp.Compare(x.Content, y.Content) })
	a.dirty = false
	return next, true
}
