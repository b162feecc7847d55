package journal

import (
	"carrel/core/clock"
	"carrel/core/commit"
)

// ablatedStamp is the stamp up to which a lane is dropped.
func (j *Journal) ablatedStamp(stamp int64) int64 {
	if commit.Ablated("lane-dropped-newer") {
		return max(stamp, int64(clock.Of(j.rt.Now()))) + 1
	}
	return stamp
}
