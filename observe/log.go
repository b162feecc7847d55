// Package observe provides what operators see of a process: its log, its metrics and its traces.
//
// It determines the format and the order of log lines, the names, labels and buckets of metrics,
// the content of spans, and how metrics and spans are sent to a collector. Metrics and spans
// identify nobody. It does not check what log lines contain: callers must not log secrets.
package observe

import (
	"context"
	"io"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/trace"
)

// Output is a writer of log lines. It buffers them until it is opened, so that the first line is
// the one with the address, which scripts read.
type Output struct {
	mu   sync.Mutex
	w    io.Writer
	held []byte
	open bool
}

// NewOutput returns an Output to w that buffers its lines.
func NewOutput(w io.Writer) *Output { return &Output{w: w} }

// Write writes or buffers whole lines.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		return o.w.Write(p)
	}
	o.held = append(o.held, p...)
	return len(p), nil
}

// Open calls say, which may be nil, to write the first line, and then writes the buffered lines.
// Later lines are written at once. Opening an Output again does nothing.
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

// NewLogger returns a logger that writes JSON lines to w. Lines within a trace contain its id.
func NewLogger(w io.Writer) *slog.Logger {
	return slog.New(traceHandler{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo})})
}

// traceHandler adds the trace of a line's context.
type traceHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if of := trace.SpanContextFromContext(ctx); of.IsValid() {
		r = r.Clone() // other handlers may use it too
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
