// Package observe is what operators see of a process: its log and its figures.
//
// It answers for the form of the lines and their order, and for names, labels
// and bounds of the figures, none of which tells who is there. It must not know
// what may be told in a line: whoever logs sees to it that no secret is in it.
package observe

import (
	"io"
	"log/slog"
	"sync"
)

// Output passes lines on. Until it is opened it holds them back, so that the
// line by which scripts learn the address is the first one, whatever the start
// had to say before.
type Output struct {
	mu   sync.Mutex
	w    io.Writer
	held []byte
	open bool
}

// NewOutput is an output to w that holds its lines back.
func NewOutput(w io.Writer) *Output { return &Output{w: w} }

// Write takes whole lines.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		return o.w.Write(p)
	}
	o.held = append(o.held, p...)
	return len(p), nil
}

// Open lets say write, which may be nil, and then passes on what was held back
// and all that follows. Opening it again does nothing.
func (o *Output) Open(say func(log *slog.Logger)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		return nil
	}
	o.open = true
	if say != nil {
		say(NewLogger(o.w))
	}
	held := o.held
	o.held = nil
	_, err := o.w.Write(held)
	return err
}

// NewLogger writes JSON lines to w.
func NewLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo}))
}
