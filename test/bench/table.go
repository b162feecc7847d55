package main

import (
	"fmt"
	"io"
	"time"
)

// A table prints figures as they are measured, one in a row, next to the requirement.
type table struct{ out io.Writer }

func (t *table) head() {
	t.line("what", "figure", "ratio", "wanted", "")
}

func (t *table) line(what, figure, ratio, wanted, verdict string) {
	fmt.Fprintf(t.out, "%-62s %18s %8s %12s %s\n", what, figure, ratio, wanted, verdict)
}

// title starts a group of rows.
func (t *table) title(format string, args ...any) {
	fmt.Fprintf(t.out, "\n"+format+"\n", args...)
}

// figure prints a row without a requirement.
func (t *table) figure(what, figure string) { t.line("  "+what, figure, "", "", "") }

// ratio prints a row with its ratio to another one; most is the highest allowed ratio, or
// 0 for none.
func (t *table) ratio(what, figure string, ratio, most float64) {
	if most == 0 {
		t.line("  "+what, figure, fmt.Sprintf("%.2f x", ratio), "", "")
		return
	}
	t.line("  "+what, figure, fmt.Sprintf("%.2f x", ratio), fmt.Sprintf("<= %.4g x", most), verdict(ratio <= most))
}

// required prints a row with a requirement, and whether the figure meets it.
func (t *table) required(what, figure, wanted string, ok bool) {
	t.line("  "+what, figure, "", wanted, verdict(ok))
}

func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "NOT REACHED"
}

// micros formats a duration in microseconds.
func micros(d time.Duration) string { return fmt.Sprintf("%.1f us", float64(d.Nanoseconds())/1e3) }

// millis formats a duration in milliseconds.
func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1e3) }
