package main

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"
)

func TestInTurns_MeasuresEachSubjectOnceARound(t *testing.T) {
	var order []int
	all, err := inTurns(2, 2, func(i int) (cost, error) {
		order = append(order, i)
		return cost{cpu: time.Duration(len(order))}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{0, 1, 0, 1, 0, 1}; !slices.Equal(order, want) {
		t.Errorf("measured in the order %v, want %v", order, want)
	}
	// The first round only warms up.
	for i, want := range []series{{{cpu: 3}, {cpu: 5}}, {{cpu: 4}, {cpu: 6}}} {
		if !slices.Equal(all[i], want) {
			t.Errorf("subject %d: %v, want %v", i, all[i], want)
		}
	}
}

func TestInTurns_StopsAtAnError(t *testing.T) {
	fault, measured := errors.New("a fault"), 0
	_, err := inTurns(5, 2, func(int) (cost, error) {
		measured++
		return cost{}, fault
	})
	if !errors.Is(err, fault) || measured != 1 {
		t.Errorf("error %v after %d measurements, want %v after 1", err, measured, fault)
	}
}

// costs returns a series with these CPU times, in microseconds; the wall time is twice as long.
func costs(micros ...time.Duration) (s series) {
	for _, m := range micros {
		m *= time.Microsecond
		s = append(s, cost{cpu: m, wall: 2 * m, p50: 1500 * time.Microsecond, p99: 2 * time.Millisecond})
	}
	return s
}

// TestSeries_ComparesWithinRounds checks that a ratio is computed within each round, so that a
// round in which the machine was slow changes it little.
func TestSeries_ComparesWithinRounds(t *testing.T) {
	floor, page := costs(100, 500, 110, 90, 200), costs(150, 750, 220, 135, 300)
	if got := page.times(floor, cpu); math.Abs(got-1.5) > 1e-9 {
		t.Errorf("%.3f times, want 1.5", got)
	}
	if got, want := floor.micros(cpu).in("%.1f us"), "110.0 us ± 355 %"; got != want {
		t.Errorf("CPU %s, want %s", got, want)
	}
	if got, want := floor.perSecond().in("%.0f/s"), "4545/s ± 78 %"; got != want {
		t.Errorf("throughput %s, want %s", got, want)
	}
}
