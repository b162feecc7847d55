package headercache

import (
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/sched"
)

// ablatedAge is the age at t of a copy that was made at then, by one clock.
func ablatedAge(t, then sched.Moment) time.Duration {
	switch {
	case commit.Ablated("age-by-monotonic-clock"):
		return t.Elapsed - then.Elapsed
	case commit.Ablated("age-by-wall-clock"):
		return t.Wall.Sub(then.Wall)
	}
	return t.Since(then)
}

// ablatedMTS is the state that a copy must not be older than.
func ablatedMTS(mts clock.Instant) clock.Instant {
	if commit.Ablated("entry-mts-ignored") {
		return 0
	}
	return mts
}
