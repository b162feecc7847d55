package nemesis

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Times of a fault in which a node hangs.
const (
	// steady is how long the load is measured before the node hangs.
	steady = 2 * time.Second
	// noticed is how long after that mutations are counted again. A gateway may wait so long for
	// the node.
	noticed = time.Second
)

// span is a period of a run.
type span struct{ from, to time.Time }

func (s span) has(at time.Time) bool { return !at.Before(s.from) && at.Before(s.to) }
func (s span) overlaps(o span) bool  { return s.from.Before(o.to) && o.from.Before(s.to) }
func (s span) took() time.Duration   { return s.to.Sub(s.from) }

// answered is a mutation of the load, from its request to its answer.
type answered struct {
	span
	verdict verdict
}

// hang is a fault in which a node hangs, and the time before it.
type hang struct{ before, during span }

// hangFigures are what clients met in one hang, or in several.
type hangFigures struct {
	hangs int
	// before and during are the numbers of mutations that were acknowledged in these times: in the
	// time before the node hung, and while it hung, from noticed on.
	before, during       int
	beforeFor, duringFor time.Duration
	// slowest is how long the slowest mutation took of those that began while the node hung.
	slowest time.Duration
	// alone: there was no other fault at any of these times.
	alone bool
}

// figures returns what clients met. It must be called after all mutations that began while the node
// hung were answered. faults are the times of all faults, this one among them.
func (h hang) figures(mutations []answered, faults []span) hangFigures {
	counted := span{h.during.from.Add(noticed), h.during.to}
	f := hangFigures{hangs: 1, beforeFor: h.before.took(), duringFor: counted.took()}
	all := span{h.before.from, h.during.to} // and until the slowest mutation was answered
	for _, m := range mutations {
		if m.verdict == done && h.before.has(m.to) {
			f.before++
		}
		if m.verdict == done && counted.has(m.to) {
			f.during++
		}
		if h.during.has(m.from) && m.took() > f.slowest {
			f.slowest = m.took()
			if m.to.After(all.to) {
				all.to = m.to
			}
		}
	}
	meanwhile := 0
	for _, o := range faults {
		if o.overlaps(all) {
			meanwhile++
		}
	}
	f.alone = meanwhile == 1
	return f
}

// add adds the figures of another hang.
func (f *hangFigures) add(o hangFigures) {
	f.hangs += o.hangs
	f.before, f.beforeFor = f.before+o.before, f.beforeFor+o.beforeFor
	f.during, f.duringFor = f.during+o.during, f.duringFor+o.duringFor
	f.slowest = max(f.slowest, o.slowest)
}

func (f hangFigures) String() string {
	rate := func(n int, d time.Duration) float64 { return float64(n) / max(d, time.Second).Seconds() }
	return fmt.Sprintf("%d mutations acknowledged in %.1f s, %.1f a second; %.1f a second in the %.1f s before; the "+
		"slowest that began meanwhile took %.1f s",
		f.during, f.duringFor.Seconds(), rate(f.during, f.duringFor), rate(f.before, f.beforeFor), f.beforeFor.Seconds(), f.slowest.Seconds())
}

// pauseNode makes a node hang.
func (n *nemesis) pauseNode() error {
	i, d := n.random.IntN(3), time.Duration(1+n.random.IntN(3))*time.Second
	var h hang
	h.before.from = time.Now()
	n.wait(steady)
	if err := n.cluster.Pause(i); err != nil {
		return err
	}
	h.before.to = time.Now()
	h.during.from = h.before.to
	n.wait(noticed + d)
	h.during.to = time.Now()
	n.hangs = append(n.hangs, h)
	return n.cluster.Resume(i)
}

// printHangs prints what clients met while nodes hung, and returns the figures of all hangs. It must
// be called after the load has ended.
func (n *nemesis) printHangs() (all hangFigures) {
	mutations := n.load.figures.mutations()
	var alone hangFigures
	var b strings.Builder
	for _, h := range n.hangs {
		f := h.figures(mutations, n.times)
		all.add(f)
		beside := ", beside another fault"
		if f.alone {
			alone.add(f)
			beside = ""
		}
		fmt.Fprintf(&b, "a node hung for %.1f s, counted from a second on: %s%s\n", h.during.took().Seconds(), f, beside)
	}
	fmt.Fprintf(&b, "all %d together: %s\nthe %d beside no other fault: %s\n", all.hangs, all, alone.hangs, alone)
	fmt.Print(b.String())
	return all
}

// TestHang_MeasuresWhatBeganAndWhatWasAcknowledged measures a node that hung from 10 s to 14 s.
func TestHang_MeasuresWhatBeganAndWhatWasAcknowledged(t *testing.T) {
	start := time.Now()
	at := func(tenths int) time.Time { return start.Add(time.Duration(tenths) * 100 * time.Millisecond) }
	during := func(from, to int) span { return span{at(from), at(to)} }
	h := hang{before: during(80, 100), during: during(100, 140)}
	mutations := []answered{
		{during(10, 79), done}, {during(70, 80), done}, {during(85, 90), refused}, {during(60, 99), done},
		{during(99, 100), done}, {during(98, 110), done}, {during(10, 139), done}, {during(138, 140), done},
		{during(100, 109), done}, {during(120, 145), unknown}, {during(139, 141), done}, {during(140, 190), done},
	}
	want := hangFigures{hangs: 1, before: 2, beforeFor: 2 * time.Second, during: 2, duringFor: 3 * time.Second,
		slowest: 2500 * time.Millisecond, alone: true}
	own := during(79, 141)
	for name, c := range map[string]struct {
		faults []span
		alone  bool
	}{
		"no other fault":                          {[]span{own}, true},
		"faults before and after":                 {[]span{during(10, 80), own, during(145, 150)}, true},
		"a fault before the node hung":            {[]span{during(10, 81), own}, false},
		"a fault during it":                       {[]span{own, during(120, 130)}, false},
		"a fault all the time":                    {[]span{own, during(10, 190)}, false},
		"a fault while the slowest was under way": {[]span{own, during(144, 150)}, false},
	} {
		want.alone = c.alone
		if got := h.figures(mutations, c.faults); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	all := hangFigures{hangs: 1, before: 3, beforeFor: time.Second, during: 4, duringFor: time.Second, slowest: 3 * time.Second}
	all.add(want)
	if want := (hangFigures{hangs: 2, before: 5, beforeFor: 3 * time.Second, during: 6, duringFor: 4 * time.Second,
		slowest: 3 * time.Second}); all != want {
		t.Errorf("together: %+v, want %+v", all, want)
	}
}
