package sched_test

import (
	"testing"
	"time"

	"carrel/core/sched"
)

func TestMoment_CountsByTheClockThatAdvancedFurther(t *testing.T) {
	begin := sched.Moment{Elapsed: time.Hour, Wall: time.Unix(5000, 0)}
	for _, c := range []struct {
		elapsed, wall, want time.Duration
	}{
		{time.Second, time.Second, time.Second},
		{0, time.Hour, time.Hour},                       // the machine was suspended
		{time.Minute, -time.Hour, time.Minute},          // the wall clock was set back
		{2 * time.Minute, time.Minute, 2 * time.Minute}, // it is behind
		{0, 0, 0},
	} {
		end := sched.Moment{Elapsed: begin.Elapsed + c.elapsed, Wall: begin.Wall.Add(c.wall)}
		if got := end.Since(begin); got != c.want {
			t.Errorf("%s by the monotonic and %s by the wall clock are %s, want %s", c.elapsed, c.wall, got, c.want)
		}
	}
}

// The difference of two times with monotonic readings is that of the monotonic clock, so a moment would
// have only one clock.
func TestReal_NowHasNoMonotonicReading(t *testing.T) {
	if now := sched.NewReal().Now(); now != now.Round(0) {
		t.Errorf("the wall clock is %v", now)
	}
}
