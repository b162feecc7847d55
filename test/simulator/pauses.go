package simulator

import (
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
)

// checkPauses checks that a hot item moves at most once in a pause. Moves are
// compared by the timestamps of their states, which processes with different
// clocks make, so the pause may be shorter by the difference of the clocks. A
// process that drains makes its moves at once, so later states are not checked.
func (r *run) checkPauses() {
	if r.tune.HotMoves == 0 {
		return // the default, which no schedule reaches
	}
	pause := r.tune.HotPause - r.clockSpread()
	if pause <= 0 {
		return
	}
	for _, c := range r.hist.contents {
		var last clock.Instant
		for i := 1; i < len(c.states) && (r.drained == 0 || c.states[i].step < r.drained); i++ {
			a, b := &c.states[i-1].header, &c.states[i].header
			if a.State != commit.Live || b.State != commit.Live || a.Position == b.Position {
				continue
			}
			hot := a.Moves >= r.tune.HotMoves && b.MTS < a.MovesSince.Add(time.Hour)
			if hot && last != 0 {
				r.m.reached("move of a hot item after another")
				if b.MTS < last.Add(pause) {
					r.report(brokenHeader, "%s: hot, moved at %d and again at %d, within a pause of %v", c.id, last, b.MTS, r.tune.HotPause)
				}
			}
			last = b.MTS
		}
	}
}

// clockSpread returns the largest difference between the clocks of the processes.
func (r *run) clockSpread() time.Duration {
	var least, most time.Duration
	for _, p := range r.procs {
		least, most = min(least, p.a.slowest), max(most, p.a.fastest)
	}
	// A timestamp may be ahead of its clock by a microsecond for each state.
	return most - least + time.Millisecond
}
