package headercache

import (
	"sync"
	"time"

	"carrel/core/cursor"
)

// pays decides whether serving headers pays. Each hit saves a read of a row, but each page costs a read of the
// in-flight lists, so a low hit rate is worse than no cache. While it is off, headers are still kept and would-be hits
// still counted, so that it can turn itself on again.
type pays struct {
	always bool

	mu            sync.Mutex
	active        bool
	off           bool // permanently
	lookups, hits int  // in the current window
	since         time.Duration
}

const (
	// window is the number of looked-up rows after which it decides.
	window = 1000
	// It turns off when fewer than offBelow percent of the look-ups are hits, and on when onFrom percent are.
	offBelow = 30
	onFrom   = 40
	// minOff is the shortest time that it stays off.
	minOff = 10 * time.Second
)

// newPays starts off, because a new process has no headers, unless headers are always served.
func newPays(always bool) *pays { return &pays{always: always, active: always} }

// on reports whether headers may be served.
func (p *pays) on() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.active && !p.off
}

// count counts the entries of a library that were looked up at a monotonic time, and how many of them were hits. The
// lists are read once for all of them, so they count as no more entries than those of a usual page. Otherwise one
// search in a library that nobody has read would turn it off.
func (p *pays) count(lookups, hits int, now time.Duration) {
	if lookups > cursor.DefaultPageSize {
		lookups, hits = cursor.DefaultPageSize, hits*cursor.DefaultPageSize/lookups
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lookups += lookups
	p.hits += hits
	if p.always || p.lookups < window {
		return
	}
	percent := 100 * p.hits / p.lookups
	p.lookups, p.hits = 0, 0
	switch {
	case p.active && percent < offBelow:
		p.active, p.since = false, now
	case !p.active && percent >= onFrom && (p.since == 0 || now-p.since >= minOff):
		p.active = true
	}
}

// turnOff turns it off permanently. It reports whether this call did so.
func (p *pays) turnOff() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.off
	p.off = true
	return !before
}
