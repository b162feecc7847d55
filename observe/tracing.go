package observe

import (
	"context"
	"net/http"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"carrel/core/commit"
	"carrel/core/lru"
)

// maxCalls limits the spans for calls of the store in one operation: nobody could
// read the trace of a fan-out to ten thousand libraries. The span of the operation has the total
// number.
const maxCalls = 200

// maxName limits the name of an operation in bytes. It is the only text in a span that a client
// chooses.
const maxName = 100

// maxChangeSpans limits the changes whose spans are kept. A process may have as many undecided
// changes.
const maxChangeSpans = 1000

// Tracing creates the spans of a process. They contain no text of a request except for the name of
// the operation, no ids, and no messages of errors. A nil *Tracing creates none.
type Tracing struct {
	tracer trace.Tracer
	// changes has the spans of the mutations that began the latest changes. Most changes are finished by
	// their mutation and never looked up.
	changes *lru.Cache[commit.EntryID, trace.SpanContext]
}

// newTracing returns a Tracing that uses the tracer.
func newTracing(tracer trace.Tracer) *Tracing {
	each := func(trace.SpanContext) int { return 1 }
	return &Tracing{tracer: tracer, changes: lru.New[commit.EntryID](maxChangeSpans, maxChangeSpans, each, nil)}
}

// recorded is a span that will be sent, with the number of calls below it. Calls of the store have
// spans only below a recorded span.
type recorded struct {
	trace.Span
	calls *atomic.Int64
}

// recordedIn returns the span of ctx if it will be sent.
func recordedIn(ctx context.Context) (*recorded, bool) {
	r, ok := trace.SpanFromContext(ctx).(*recorded)
	return r, ok
}

// begin starts a span, and returns the context for the work within it.
func (t *Tracing) begin(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	ctx, span := t.tracer.Start(ctx, name, options...)
	if !span.IsRecording() {
		return ctx, span
	}
	r := &recorded{Span: span, calls: new(atomic.Int64)}
	return trace.ContextWithSpan(ctx, r), r
}

// Transports of an operation, as recorded in spans.
const (
	TransportHTTP   = "http"
	TransportEvents = "events"
	TransportSocket = "socket"
)

// Operation is the span of an operation. A nil *Operation records nothing.
type Operation struct {
	span   trace.Span
	method string
}

// Outcome is the outcome of an operation.
type Outcome struct {
	// Type is query, mutation or subscription, and Name the name of the operation. Both are
	// empty if unknown.
	Type, Name string
	Transport  string
	Code       string // OK, or the API's code of the first error
	Status     int    // of the HTTP answer; 0 if it has none of its own
	Cost       int    // of the document, with its variables
	Events     int    // that a subscription has delivered
}

// Request begins the span of an operation of an HTTP request, and continues the trace of its caller.
// The caller's tracestate and baggage are ignored, because anybody may write any text into them.
func (t *Tracing) Request(ctx context.Context, r *http.Request) (context.Context, *Operation) {
	if t == nil {
		return ctx, nil
	}
	ctx = propagation.TraceContext{}.Extract(ctx, traceparentOnly(r.Header))
	ctx, span := t.begin(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	return ctx, &Operation{span: span, method: r.Method}
}

// Origin is the trace in which a socket was opened, if there was one.
type Origin struct{ span trace.SpanContext }

// OriginOf returns the origin of a socket, from the header of the request that opens it.
func OriginOf(ctx context.Context, opening http.Header) Origin {
	return Origin{trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, traceparentOnly(opening)))}
}

// Message begins the span of an operation on a socket. A socket may stay open for long, so each
// operation begins a trace, which links to the trace in which the socket was opened.
func (t *Tracing) Message(ctx context.Context, from Origin) (context.Context, *Operation) {
	if t == nil {
		return ctx, nil
	}
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer)}
	if from.span.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: from.span}))
	}
	ctx, span := t.begin(ctx, "request", options...)
	return ctx, &Operation{span: span}
}

// WithoutCallSpans returns a context in which calls of the store create no spans. It is for
// subscriptions, which may last for long. Log lines still contain the trace.
func WithoutCallSpans(ctx context.Context) context.Context {
	if r, ok := recordedIn(ctx); ok {
		return trace.ContextWithSpanContext(ctx, r.SpanContext())
	}
	return ctx
}

// End ends the span and records the outcome of the operation.
func (o *Operation) End(out Outcome) {
	if o == nil {
		return
	}
	defer o.span.End()
	r, ok := o.span.(*recorded)
	if !ok {
		return
	}
	attrs := append(make([]attribute.KeyValue, 0, 9), attribute.String("carrel.code", out.Code),
		attribute.String("carrel.transport", out.Transport))
	if out.Type != "" {
		o.span.SetName(out.Type)
		attrs = append(attrs, attribute.String("graphql.operation.type", out.Type), attribute.Int("carrel.cost", out.Cost))
	}
	if out.Name != "" {
		attrs = append(attrs, attribute.String("graphql.operation.name", out.Name[:min(len(out.Name), maxName)]))
	}
	if o.method != "" {
		attrs = append(attrs, attribute.String("http.request.method", knownMethod(o.method)))
	}
	if out.Status != 0 {
		attrs = append(attrs, attribute.Int("http.response.status_code", out.Status))
	}
	if out.Type == "subscription" {
		attrs = append(attrs, attribute.Int("carrel.events", out.Events))
	}
	if calls := r.calls.Load(); calls > 0 {
		attrs = append(attrs, attribute.Int64("carrel.store_calls", calls))
	}
	o.span.SetAttributes(attrs...)
	if failures[out.Code] {
		o.span.SetStatus(codes.Error, "")
	}
}

// failures are the codes of errors that the service has caused, not the client.
var failures = map[string]bool{
	"INTERNAL_SERVER_ERROR": true, "UNAVAILABLE": true, "TIMEOUT": true, "CONTENTION": true, "OUTCOME_UNKNOWN": true,
}

// knownMethod returns the method as spans may record it. Clients may send any text as a method.
func knownMethod(method string) string {
	if method == http.MethodGet || method == http.MethodPost {
		return method
	}
	return "_OTHER"
}

// FanOut begins the span of a fan-out that may outlive the mutation of ctx. It links to the other
// mutations whose changes it includes.
func (t *Tracing) FanOut(ctx context.Context, others []context.Context) (during context.Context, ended func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	var links []trace.Link
	for _, other := range others {
		if from := trace.SpanContextFromContext(other); from.IsValid() {
			links = append(links, trace.Link{SpanContext: from})
		}
	}
	during, span := t.begin(ctx, "fan-out", trace.WithLinks(links...))
	return during, func(err error) { endWork(span, err) }
}

// endWork ends the span of background work.
func endWork(span trace.Span, err error) {
	if r, ok := span.(*recorded); ok {
		span.SetAttributes(attribute.Int64("carrel.store_calls", r.calls.Load()))
		setOutcome(span, OutcomeOf(err))
	}
	span.End()
}

// traceparentOnly is a header of which only the traceparent is read.
type traceparentOnly http.Header

// Get implements propagation.TextMapCarrier.
func (p traceparentOnly) Get(key string) string {
	if key != "traceparent" {
		return ""
	}
	return http.Header(p).Get(key)
}

// Set implements propagation.TextMapCarrier. It does nothing, because no header is sent.
func (traceparentOnly) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (traceparentOnly) Keys() []string { return []string{"traceparent"} }
