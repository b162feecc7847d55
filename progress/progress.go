// Package progress shows how far a long command has got: by a bar on a
// terminal, by a line now and then in a log, and with whatever else is written
// to the same terminal kept apart from the bar.
//
// It answers for the drawing and its pace. It must not know what the command
// does.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
)

// The pace of progress: a terminal is redrawn ten times a second, a log file
// gets a line every ten seconds.
const (
	redraw    = 100 * time.Millisecond
	plainEach = 10 * time.Second
)

// Report is how far a command has got.
type Report struct {
	Doing string // what is done; another word begins another bar
	Done  int    // of Units
	Units string // what is counted, such as lines
	// At and Of are what a bar measures; Of is 0 where the end is not known.
	At, Of int64
	Bytes  bool // At and Of are bytes
}

// IsTerminal tells whether w is one, so that a bar can be drawn on it.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// To reports to w: by a bar where it is a terminal, by lines elsewhere. finish
// ends what is drawn.
func To(w io.Writer, now func() time.Time) (report func(Report), finish func()) {
	if IsTerminal(w) {
		return Bar(w, now)
	}
	return Plain(w, now), func() {}
}

// eraseLine takes away what stands on a terminal's line, a bar as a rule.
const eraseLine = "\r\x1b[K"

// Beside is w for lines that are written while a bar may stand on it: each
// takes the bar's place, and the bar is drawn again below them.
func Beside(w io.Writer) io.Writer {
	if !IsTerminal(w) {
		return w
	}
	return beside{w}
}

type beside struct{ terminal io.Writer }

// Write takes whole lines. What erases goes with them in one piece, so that
// nothing is drawn in between.
func (b beside) Write(p []byte) (int, error) {
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

// report costs nothing but a look at the clock between two drawings: it is
// called for every line.
func (b *bar) report(r Report) {
	if b.drawn == nil || b.last.Doing != r.Doing {
		b.finish()
		b.begin(r)
	}
	b.last = r
	if perSecond, ok := b.pace.since(b.now(), r.Done, redraw); ok {
		b.draw(perSecond)
	}
}

// draw draws what was reported last. What cannot be drawn is no reason to stop
// the command.
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
		// A spinner of its own would go on turning when the command does
		// something else: this one turns when it is drawn.
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

// Plain writes a line of progress now and then, for logs.
func Plain(w io.Writer, now func() time.Time) func(Report) {
	var told pace
	doing := ""
	return func(r Report) {
		if told.begun.IsZero() || doing != r.Doing {
			doing, told = r.Doing, pace{begun: now(), last: now()}
		}
		perSecond, ok := told.since(now(), r.Done, plainEach)
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

// pace is when progress was told last, and how fast it has been since it began.
type pace struct{ begun, last time.Time }

// since is units a second; ok is false until every has passed since it was ok.
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
