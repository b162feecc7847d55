package main

import (
	"fmt"
	"io"
	"time"
)

// A table prints what was measured as it comes in, one figure a row, beside
// what is wanted of it.
type table struct{ out io.Writer }

func (t *table) head() {
	t.line("what", "figure", "ratio", "wanted", "")
}

func (t *table) line(what, figure, ratio, wanted, verdict string) {
	fmt.Fprintf(t.out, "%-62s %18s %8s %12s %s\n", what, figure, ratio, wanted, verdict)
}

// title begins a group of rows.
func (t *table) title(format string, args ...any) {
	fmt.Fprintf(t.out, "\n"+format+"\n", args...)
}

// figure is a row without anything wanted of it.
func (t *table) figure(what, figure string) { t.line("  "+what, figure, "", "", "") }

// ratio is a row whose ratio to another one is told; most is what is wanted,
// 0 for nothing.
func (t *table) ratio(what, figure string, ratio, most float64) {
	if most == 0 {
		t.line("  "+what, figure, fmt.Sprintf("%.2f x", ratio), "", "")
		return
	}
	t.line("  "+what, figure, fmt.Sprintf("%.2f x", ratio), fmt.Sprintf("<= %.4g x", most), verdict(ratio <= most))
}

// atMost is a row of which a most is wanted.
func (t *table) atMost(what, figure, wanted string, ok bool) {
	t.line("  "+what, figure, "", wanted, verdict(ok))
}

func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "NOT REACHED"
}

// micros tells a duration in microseconds.
func micros(d time.Duration) string { return fmt.Sprintf("%.1f us", float64(d.Nanoseconds())/1e3) }

// millis tells a duration in milliseconds.
func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1e3) }
