package observe

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"carrel/core/fault"
)

// Call is a call of a store that has ended: a statement of a cluster, or a call of the embedded store.
type Call struct {
	System    string // cassandra or pebble
	Operation string // what it was for, from a fixed set
	Outcome   string // as docs/observability.md lists them
	Took      time.Duration
	// Retries is how often it was sent again after a node had failed. Hedged reports that it was
	// also sent to a second node because the first was slow.
	Retries int
	Hedged  bool
}

// OutcomeOf returns the outcome of a call or of background work that ended with err.
func OutcomeOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case fault.MayHaveCommitted(err):
		return "unknown"
	case errors.Is(err, context.Canceled):
		return "ended"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case fault.CodeOf(err) == fault.Unavailable:
		return "unavailable"
	}
	return "failed"
}

// Call counts a call.
func (m *Metrics) Call(c Call) {
	m.calls.WithLabelValues(c.Operation, c.Outcome).Observe(c.Took.Seconds())
	if c.Retries > 0 {
		m.again.WithLabelValues(c.Operation, "retry").Add(float64(c.Retries))
	}
	if c.Hedged {
		m.again.WithLabelValues(c.Operation, "hedge").Inc()
	}
}

// Call records a call within the operation or background work of ctx, which has just ended.
func (t *Tracing) Call(ctx context.Context, c Call) {
	if t == nil {
		return
	}
	parent, ok := recordedIn(ctx)
	if !ok || parent.calls.Add(1) > maxCalls {
		return
	}
	ended := time.Now()
	_, span := t.tracer.Start(ctx, c.Operation, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(ended.Add(-c.Took)),
		trace.WithAttributes(
			attribute.String("db.system.name", c.System), attribute.Int("carrel.retries", c.Retries), attribute.Bool("carrel.hedged", c.Hedged)))
	setOutcome(span, c.Outcome)
	span.End(trace.WithTimestamp(ended))
}

// setOutcome records how the work of a span ended.
func setOutcome(span trace.Span, outcome string) {
	span.SetAttributes(attribute.String("carrel.outcome", outcome))
	switch outcome {
	case "unknown", "unavailable", "timeout", "failed", "busy":
		span.SetStatus(codes.Error, "")
	}
}
