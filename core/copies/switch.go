package copies

import (
	"sync"
	"time"
)

// Switch decides whether serving copies pays. Each hit saves a read of a row, but each request
// costs a read of the in-flight lists, so a low hit rate is worse than no copies. While the
// switch is off, copies are still kept and would-be hits still counted, so that it can turn
// itself on again.
type Switch struct {
	floor int // percent

	mu            sync.Mutex
	on            bool
	off           bool // permanently
	lookups, hits int  // in the current window
	since         time.Duration
}

const (
	// window is the number of looked-up rows after which the switch decides.
	window = 1000
	// onAbove is how many percentage points above the floor the hit rate must be to turn it on.
	onAbove = 10
	// minOff is the shortest time that the switch stays off.
	minOff = 10 * time.Second
)

// NewSwitch returns a switch that turns off when fewer than floor percent of lookups are hits.
// It starts off, because a new process has no copies; with a floor of 0 it is always on.
func NewSwitch(floor int) *Switch { return &Switch{floor: floor, on: floor == 0} }

// On reports whether copies may be served.
func (s *Switch) On() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on && !s.off
}

// Count counts the rows that were looked up at a monotonic time, and how many of them were
// served from copies or, while the switch is off, would have been.
func (s *Switch) Count(lookups, hits int, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookups += lookups
	s.hits += hits
	if s.floor == 0 || s.lookups < window {
		return
	}
	percent := 100 * s.hits / s.lookups
	s.lookups, s.hits = 0, 0
	switch {
	case s.on && percent < s.floor:
		s.on, s.since = false, now
	case !s.on && percent >= s.floor+onAbove && (s.since == 0 || now-s.since >= minOff):
		s.on = true
	}
}

// TurnOff turns the switch off permanently. It reports whether this call did so.
func (s *Switch) TurnOff() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.off
	s.off = true
	return !before
}
