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

// summaryOf summarizes a figure of the rounds.
func summaryOf(rounds []peerRound, figure func(peerRound) float64) summary {
	all := make([]float64, len(rounds))
	for i, r := range rounds {
		all[i] = figure(r)
	}
	return medianOf(all)
}

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
func printPeers(out io.Writer, results []peerResult) error {
	fmt.Fprintf(out, "A page of %d edges with creator, %d connections, a core for the server and one for its clients;\n"+
		"median of %d rounds and the furthest from it\n\n", pageSize, peerClients, len(results[0].rounds))
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "CPU a page\tbeside Carrel\tp50\tp99\tpages/s\tpeak RSS\t server")
	for _, r := range results {
		ratios := make([]float64, len(r.rounds))
		for i := range ratios {
			ratios[i] = float64(r.rounds[i].cpu) / float64(results[0].rounds[i].cpu)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t %s\n",
			summaryOf(r.rounds, func(p peerRound) float64 { return inUnits(p.cpu, time.Microsecond) }).in("%.0f us"),
			medianOf(ratios).in("%.2f x"),
			summaryOf(r.rounds, func(p peerRound) float64 { return inUnits(p.p50, time.Millisecond) }).in("%.1f ms"),
			summaryOf(r.rounds, func(p peerRound) float64 { return inUnits(p.p99, time.Millisecond) }).in("%.1f ms"),
			summaryOf(r.rounds, func(p peerRound) float64 { return p.rate }).in("%.0f"),
			mebibytes(r.peak), r.name)
	}
	return w.Flush()
}

func inUnits(d, unit time.Duration) float64 { return float64(d) / float64(unit) }
