package main

import (
	"math"
	"testing"
	"time"
)

const simulated = 10 * time.Minute

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*want {
		t.Errorf("%s is %.4g, want %.4g within %.0f %%", what, got, want, 100*within)
	}
}

// TestSimulateInFlight_QuietGatewayWritesOnlyForItsChange makes one change in ten seconds. The list
// is written when the change starts, at each heartbeat while the change is on the list, and at the
// heartbeat after it.
func TestSimulateInFlight_QuietGatewayWritesOnlyForItsChange(t *testing.T) {
	use := simulateInFlight(listLoad{
		changes: 0.1, lasts: 1500 * time.Millisecond, write: time.Millisecond, pages: 1, read: time.Millisecond,
	}, 100*simulated, 1)
	// 1.5 s contain one heartbeat or two, and the next one writes the list without the
	// change.
	near(t, "writes per second", use.writes, 0.1*(1+1.5+1), 0.1)
	near(t, "time on the list in s", use.listed.Seconds(), 2, 0.1)
	near(t, "reads per second", use.reads, 1, 0.05)
	near(t, "wait of a page in ms", use.waits.Seconds()*1e3, 1, 0.05)
}

// TestSimulateInFlight_BusyGatewayOverlapsNoWritesOrReads checks that writes and reads do not
// overlap, however many changes and pages arrive.
func TestSimulateInFlight_BusyGatewayOverlapsNoWritesOrReads(t *testing.T) {
	l := listLoad{
		changes: 10_000, lasts: 22 * time.Millisecond, write: 5 * time.Millisecond,
		pages: 10_000, read: 8 * time.Millisecond,
	}
	use := simulateInFlight(l, 30*time.Second, 1)
	near(t, "writes per second", use.writes, 200, 0.02)
	// The 50 changes that arrive during a write are in the writes that start 0, 5, 10,
	// 15, 20 and 25 ms after it, and gone from the one at 30 ms.
	near(t, "entries in a list", use.entries, 6*50, 0.03)
	near(t, "time on the list in ms", use.listed.Seconds()*1e3, 30, 0.03)
	near(t, "reads per second", use.reads, 125, 0.02)
	near(t, "wait of a page in ms", use.waits.Seconds()*1e3, 8*1.5, 0.05)
}

// TestSimulateInFlight_IntervalLimitsReads checks that with an interval, reads happen at its rate,
// and a page waits for half of it and for a read.
func TestSimulateInFlight_IntervalLimitsReads(t *testing.T) {
	l := listLoad{changes: 1, lasts: time.Millisecond, write: time.Millisecond, pages: 10_000, read: 8 * time.Millisecond}
	l.interval = 20 * time.Millisecond
	use := simulateInFlight(l, 30*time.Second, 1)
	near(t, "reads per second", use.reads, 50, 0.02)
	near(t, "wait of a page in ms", use.waits.Seconds()*1e3, 20/2+8, 0.05)
	l.interval = 5 * time.Millisecond
	near(t, "reads per second with a short interval", simulateInFlight(l, 30*time.Second, 1).reads, 125, 0.02)
}

func TestFitListCosts_FindsTheCostsBehindThreePoints(t *testing.T) {
	want := listCosts{read: 100 * time.Microsecond, row: 5 * time.Microsecond, kib: 2 * time.Microsecond}
	point := func(lists, entries int) readCost {
		return readCost{lists, entries, want.readOf(lists, float64(listBytes(entries)))}
	}
	got := fitListCosts(point(10, 5), point(1000, 5), point(100, 50))
	for what, d := range map[string][2]time.Duration{
		"a read": {got.read, want.read}, "a list": {got.row, want.row}, "a KiB": {got.kib, want.kib},
	} {
		near(t, what+" in ns", float64(d[0]), float64(d[1]), 0.01)
	}
}

func TestSimulateInFlight_SameSeedGivesSameFigures(t *testing.T) {
	l := listLoad{
		changes: 50, lasts: 30 * time.Millisecond, write: 3 * time.Millisecond, pages: 300, read: 4 * time.Millisecond,
	}
	if a, b := simulateInFlight(l, time.Minute, 7), simulateInFlight(l, time.Minute, 7); a != b {
		t.Errorf("the same seed gives %+v and %+v", a, b)
	}
	if a, b := simulateInFlight(l, time.Minute, 7), simulateInFlight(l, time.Minute, 8); a == b {
		t.Error("two seeds give the same figures")
	}
}
