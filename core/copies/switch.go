package copies

import (
	"sync"
	"time"
)

// Switch says whether copies pay. What they save is a reading for each hit, and what they
// cost is a reading of what is in flight for each request, so that few hits are worse than
// none. While it is off, copies go on being kept, and the hits that there would be are
// counted: so it turns itself on again.
type Switch struct {
	floor int // percent

	mu         sync.Mutex
	on         bool
	off        bool // for good
	asked, hit int  // in the present window
	since      time.Duration
}

const (
	// window is how many rows are counted until the switch decides.
	window = 1000
	// onAbove is by how many percent more than the floor there must be for it to turn on.
	onAbove = 10
	// restAtLeast is how long it stays off at least.
	restAtLeast = 10 * time.Second
)

// NewSwitch returns a switch that turns off below floor percent of hits. It is off, because
// a process begins without copies; with a floor of 0 it is always on.
func NewSwitch(floor int) *Switch { return &Switch{floor: floor, on: floor == 0} }

// On reports whether copies are to be served.
func (s *Switch) On() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on && !s.off
}

// Count counts rows that were asked for at a monotonic time, and those of them that were
// served from copies or, while the switch is off, would have been.
func (s *Switch) Count(asked, hit int, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked += asked
	s.hit += hit
	if s.floor == 0 || s.asked < window {
		return
	}
	percent := 100 * s.hit / s.asked
	s.asked, s.hit = 0, 0
	switch {
	case s.on && percent < s.floor:
		s.on, s.since = false, now
	case !s.on && percent >= s.floor+onAbove && (s.since == 0 || now-s.since >= restAtLeast):
		s.on = true
	}
}

// TurnOff turns the switch off for good. It reports whether it was not so before.
func (s *Switch) TurnOff() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.off
	s.off = true
	return !before
}
