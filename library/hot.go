package library

import (
	"time"

	"carrel/core/clock"
)

// movesWindow is the fixed hour in which the moves of an item are counted.
const movesWindow = time.Hour

// move puts an item at a new position, in a header that has its new MTS.
func move(h *Header, position clock.Instant) {
	if h.MTS >= h.MovesSince.Add(movesWindow) {
		h.MovesSince, h.Moves = h.MTS, 0
	}
	h.Moves++
	h.Position = position
	h.Widest = h.Visibility
}

// deferUntil tells when an item may move that would move now: 0 means at once.
// A hot item moves at most once in HotPause, because each move leaves dead
// rows in every library that holds it; one with many unsettled positions waits
// until they are settled, because each enforcement deletes all of them.
func (s *Service) deferUntil(h *Header, now clock.Instant) clock.Instant {
	hot := h.Moves >= s.tune.HotMoves && now < h.MovesSince.Add(movesWindow)
	due := clock.Instant(0)
	if next := h.Position.Add(s.tune.HotPause); hot && now < next {
		// A position of a clock that was ahead makes no move wait for longer.
		due = min(next, now.Add(s.tune.HotPause))
	}
	if len(h.Unsettled) >= s.tune.MaxUnsettled {
		due = max(due, now.Add(s.tune.HotPause))
	}
	if due != 0 && !s.journal.MayDefer() {
		return 0
	}
	return due
}
