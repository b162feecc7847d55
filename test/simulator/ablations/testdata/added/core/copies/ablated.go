package copies

import (
	"time"

	"carrel/core/commit"
)

// ablatedAge is the age of a copy by one clock.
func ablatedAge(t, then Time) time.Duration {
	elapsed, wall := t.elapsed-then.elapsed, t.wall.Sub(then.wall)
	switch {
	case commit.Ablated("age-by-monotonic-clock"):
		return elapsed
	case commit.Ablated("age-by-wall-clock"):
		return wall
	}
	return max(elapsed, wall)
}
