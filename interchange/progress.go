package interchange

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// The pace of progress: a terminal is redrawn ten times a second, a log file
// gets a line every ten seconds.
const (
	redraw    = 100 * time.Millisecond
	plainEach = 10 * time.Second
)

// Bar draws progress on a terminal: a bar of the bytes done, with the lines a
// second. finish ends its last line.
func Bar(terminal io.Writer, now func() time.Time) (report func(Progress), finish func()) {
	b := &bar{terminal: terminal, now: now}
	return b.report, b.finish
}

type bar struct {
	terminal io.Writer
	now      func() time.Time
	drawn    *progressbar.ProgressBar
	last     Progress
	pace     pace
}

// report costs nothing but a look at the clock between two drawings: it is
// called for every line.
func (b *bar) report(p Progress) {
	if b.drawn == nil || b.last.Checking != p.Checking {
		b.finish()
		b.begin(p)
	}
	b.last = p
	if lines, ok := b.pace.since(b.now(), p.Lines, redraw); ok {
		b.draw(lines)
	}
}

// draw draws what was reported last. What cannot be drawn is no reason to stop
// an import.
func (b *bar) draw(linesPerSecond float64) {
	b.drawn.Describe(fmt.Sprintf("%s %d lines, %.0f lines/s", passName(b.last.Checking), b.last.Lines, linesPerSecond))
	_ = b.drawn.Set64(b.last.Bytes)
}

func (b *bar) begin(p Progress) {
	size := p.Size
	if size <= 0 {
		size = -1 // a spinner instead of a bar
	}
	now := b.now()
	b.pace = pace{begun: now, last: now}
	b.drawn = progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(b.terminal),
		progressbar.OptionSetDescription(passName(p.Checking)),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(20),
	)
}

func (b *bar) finish() {
	if b.drawn == nil {
		return
	}
	if lines, ok := b.pace.since(b.now(), b.last.Lines, 0); ok {
		b.draw(lines)
	}
	_ = b.drawn.Exit()
	fmt.Fprintln(b.terminal)
	b.drawn = nil
}

// Plain writes a line of progress now and then, for logs.
func Plain(w io.Writer, now func() time.Time) func(Progress) {
	var told pace
	checking := false
	return func(p Progress) {
		if told.begun.IsZero() || checking != p.Checking {
			checking, told = p.Checking, pace{begun: now(), last: now()}
		}
		lines, ok := told.since(now(), p.Lines, plainEach)
		if !ok {
			return
		}
		share := ""
		if p.Size > 0 {
			share = fmt.Sprintf(" (%d %%)", 100*p.Bytes/p.Size)
		}
		fmt.Fprintf(w, "%s: %d lines%s, %.0f lines/s\n", passName(p.Checking), p.Lines, share, lines)
	}
}

func passName(checking bool) string {
	if checking {
		return "checking"
	}
	return "importing"
}

// pace is when progress was told last, and how fast it has been since it began.
type pace struct{ begun, last time.Time }

// since is lines a second; ok is false until every has passed since it was ok.
func (p *pace) since(now time.Time, lines int, every time.Duration) (perSecond float64, ok bool) {
	if now.Sub(p.last) < every {
		return 0, false
	}
	p.last = now
	passed := now.Sub(p.begun).Seconds()
	if passed <= 0 {
		return 0, false
	}
	return float64(lines) / passed, true
}
