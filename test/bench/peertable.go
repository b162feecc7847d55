package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// A summary is the median of several rounds, and the relative distance of the furthest
// round from it.
type summary struct{ median, off float64 }

func medianOf(all []float64) summary {
	all = slices.Sorted(slices.Values(all))
	n := len(all)
	s := summary{median: (all[(n-1)/2] + all[n/2]) / 2}
	s.off = max(s.median-all[0], all[n-1]-s.median) / s.median
	return s
}

// in formats the summary with a unit.
func (s summary) in(format string) string {
	return fmt.Sprintf(format+" ± %.0f %%", s.median, 100*s.off)
}

// printPeers prints a row for each peer. The CPU of each is compared with that of the
// first, within each round.
func printPeers(out io.Writer, title string, results []peerResult) error {
	fmt.Fprintf(out, "\n%s:\n%d edges with creator, %d connections, a core for the server and one for its clients;\n"+
		"median of %d rounds and the furthest from it\n\n", title, pageSize, peerClients, len(results[0].series))
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "CPU a page\tbeside Carrel\tp50\tp99\tpages/s\tpeak RSS\t server")
	for _, r := range results {
		ratio := r.median(func(i int) float64 { return float64(r.series[i].cpu) / float64(results[0].series[i].cpu) })
		millis := func(of func(cost) time.Duration) string {
			return r.median(func(i int) float64 { return inUnits(of(r.series[i]), time.Millisecond) }).in("%.1f ms")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t %s\n", r.micros(cpu).in("%.0f us"), ratio.in("%.2f x"),
			millis(func(c cost) time.Duration { return c.p50 }), millis(func(c cost) time.Duration { return c.p99 }),
			r.perSecond().in("%.0f"), mebibytes(r.peak), r.name)
	}
	return w.Flush()
}

func inUnits(d, unit time.Duration) float64 { return float64(d) / float64(unit) }
