// Package observe is what operators see of a process: its log, its figures and
// its traces.
//
// It answers for the form of the lines and their order, for names, labels and
// bounds of the figures, for what stands in a span, and for how figures and
// spans are sent to a collector; none of them tells who is there. It must not
// know what may be told in a line: whoever logs sees to it that no secret is in
// it.
package observe

import (
	"context"
	"io"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/trace"
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

// NewLogger writes JSON lines to w. A line of what belongs to a trace names it.
func NewLogger(w io.Writer) *slog.Logger {
	return slog.New(traceHandler{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo})})
}

// traceHandler adds the trace of a line's context.
type traceHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if of := trace.SpanContextFromContext(ctx); of.IsValid() {
		r = r.Clone() // others may have it too
		r.AddAttrs(slog.String("trace_id", of.TraceID().String()), slog.String("span_id", of.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}
