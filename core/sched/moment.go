package sched

import "time"

// Moment is a moment as both clocks of a process show it. The monotonic clock of a suspended machine
// does not advance, and a wall clock may be set back: the time between two moments is the greater of
// the two.
type Moment struct {
	Elapsed time.Duration
	Wall    time.Time
}

// Present returns the present moment.
func Present(rt Runtime) Moment { return Moment{rt.Elapsed(), rt.Now()} }

// Since returns the time from an earlier moment to m.
func (m Moment) Since(then Moment) time.Duration {
	return max(m.Elapsed-then.Elapsed, m.Wall.Sub(then.Wall))
}
