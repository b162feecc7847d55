// Package progress shows the progress of a long command: as a bar on a terminal, and as a line
// now and then in a log. It keeps other output on the same terminal apart from the bar.
//
// It must not know what the command does.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
)

// How often progress is shown: a terminal is redrawn ten times a second, a log file gets a line
// every ten seconds.
const (
	redrawEvery = 100 * time.Millisecond
	logEvery    = 10 * time.Second
)

// Report is the progress of a command.
type Report struct {
	Doing string // the current activity; another text begins another bar
	Done  int    // of Units
	Units string // what is counted, such as lines
	// At and Of are the position and the end of a bar. Of is 0 if the end is not known.
	At, Of int64
	Bytes  bool // At and Of are bytes
}

// IsTerminal reports whether w is a terminal, so that a bar can be drawn on it.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// To returns a function that reports progress to w: with a bar if w is a terminal, otherwise with
// lines. finish ends the output.
func To(w io.Writer, now func() time.Time) (report func(Report), finish func()) {
	if IsTerminal(w) {
		return Bar(w, now)
	}
	return Plain(w, now), func() {}
}

// eraseLine erases the current line of a terminal, usually a bar.
const eraseLine = "\r\x1b[K"

// LineWriter returns a writer to w for whole lines that may be written while a bar is shown. A line
// replaces the bar, which is then drawn again below it.
func LineWriter(w io.Writer) io.Writer {
	if !IsTerminal(w) {
		return w
	}
	return lineWriter{w}
}

type lineWriter struct{ terminal io.Writer }

// Write writes whole lines. One call writes the erasing sequence and the lines, so that nothing is
// drawn in between.
func (b lineWriter) Write(p []byte) (int, error) {
	n, err := b.terminal.Write(append([]byte(eraseLine), p...))
	return max(0, n-len(eraseLine)), err
}

// Bar draws progress on a terminal: a bar, with the units a second. finish ends
// its last line.
func Bar(terminal io.Writer, now func() time.Time) (report func(Report), finish func()) {
	b := &bar{terminal: terminal, now: now}
	return b.report, b.finish
}

type bar struct {
	terminal io.Writer
	now      func() time.Time
	drawn    *progressbar.ProgressBar
	last     Report
	pace     pace
}

// report stores a report, and draws it if a redraw is due. It is called for every line, so
// otherwise it only reads the clock.
func (b *bar) report(r Report) {
	if b.drawn == nil || b.last.Doing != r.Doing {
		b.finish()
		b.begin(r)
	}
	b.last = r
	if perSecond, ok := b.pace.since(b.now(), r.Done, redrawEvery); ok {
		b.draw(perSecond)
	}
}

// draw draws the last report. Errors of drawing do not stop the command.
func (b *bar) draw(perSecond float64) {
	b.drawn.Describe(fmt.Sprintf("%s %d %s, %.0f %s/s", b.last.Doing, b.last.Done, b.last.Units, perSecond, b.last.Units))
	_ = b.drawn.Set64(b.last.At)
}

func (b *bar) begin(r Report) {
	size := r.Of
	if size <= 0 {
		size = -1 // a spinner instead of a bar
	}
	now := b.now()
	b.pace = pace{begun: now, last: now}
	b.drawn = progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(b.terminal),
		progressbar.OptionSetDescription(r.Doing),
		progressbar.OptionShowBytes(r.Bytes),
		progressbar.OptionSetWidth(20),
		// The spinner turns only when it is drawn. One that turns by itself would continue when the
		// command does something else.
		progressbar.OptionSetSpinnerChangeInterval(0),
	)
}

func (b *bar) finish() {
	if b.drawn == nil {
		return
	}
	if perSecond, ok := b.pace.since(b.now(), b.last.Done, 0); ok {
		b.draw(perSecond)
	}
	_ = b.drawn.Exit()
	fmt.Fprintln(b.terminal)
	b.drawn = nil
}

// Plain returns a function that writes a line of progress to w now and then, for logs.
func Plain(w io.Writer, now func() time.Time) func(Report) {
	var rate pace
	doing := ""
	return func(r Report) {
		if rate.begun.IsZero() || doing != r.Doing {
			doing, rate = r.Doing, pace{begun: now(), last: now()}
		}
		perSecond, ok := rate.since(now(), r.Done, logEvery)
		if !ok {
			return
		}
		share := ""
		if r.Of > 0 {
			share = fmt.Sprintf(" (%d %%)", 100*r.At/r.Of)
		}
		fmt.Fprintf(w, "%s: %d %s%s, %.0f %s/s\n", r.Doing, r.Done, r.Units, share, perSecond, r.Units)
	}
}

// pace measures the rate of progress since it began, and the time since the last line.
type pace struct{ begun, last time.Time }

// since returns the units per second. ok is false if less time than every has passed since the last
// call for which it was true.
func (p *pace) since(now time.Time, done int, every time.Duration) (perSecond float64, ok bool) {
	if now.Sub(p.last) < every {
		return 0, false
	}
	p.last = now
	passed := now.Sub(p.begun).Seconds()
	if passed <= 0 {
		return 0, false
	}
	return float64(done) / passed, true
}
