package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"carrel/core/commit"
)

// tracingOf returns a Tracing that records the traces chosen by the sampler, and the recorder of
// its spans.
func tracingOf(t *testing.T, sampler sdk.Sampler) (*Tracing, *tracetest.SpanRecorder) {
	kept := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(kept), sdk.WithSampler(sampler))
	t.Cleanup(func() {
		if err := provider.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return newTracing(provider.Tracer("test")), kept
}

// names returns the names of the ended spans, in the order in which they ended.
func names(kept *tracetest.SpanRecorder) (all []string) {
	for _, s := range kept.Ended() {
		all = append(all, s.Name())
	}
	return all
}

// attributeOf returns the value of an attribute of a span.
func attributeOf(s sdk.ReadOnlySpan, key string) string {
	for _, a := range s.Attributes() {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

func request(head ...string) *http.Request {
	r := httptest.NewRequest("POST", "/graphql", nil)
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	return r
}

// callerTrace is the trace and the span of a caller, as in a traceparent header.
const callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"

func TestSampling_FollowsRatioAndCallers(t *testing.T) {
	asked := []string{"Traceparent", "00-" + callerTrace + "-01"}
	for _, tc := range []struct {
		name   string
		ratio  float64
		bound  int // of the traces that callers may request
		head   []string
		times  int
		traces int
	}{
		{"all", 1, 0, nil, 5, 5},
		{"none", 0, 9, nil, 5, 0},
		{"what a caller has sampled", 0, 9, asked, 5, 5},
		{"what a caller has sampled, within bounds", 0, 3, asked, 5, 3},
		{"beyond the bounds the ratio does not count: the trace's id is the caller's", 1, 3, asked, 5, 3},
		{"not what a caller has left out", 1, 9, []string{"Traceparent", "00-" + callerTrace + "-00"}, 5, 0},
		{"what is no traceparent begins a trace", 1, 0, []string{"Traceparent", "01-xyz"}, 5, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tracing, kept := tracingOf(t, sampling(tc.ratio, rate.NewLimiter(0, tc.bound)))
			for range tc.times {
				_, op := tracing.Request(t.Context(), request(tc.head...))
				op.End(Outcome{Type: "query", Code: "OK"})
			}
			if got := len(kept.Ended()); got != tc.traces {
				t.Errorf("%d of %d were sampled, want %d", got, tc.times, tc.traces)
			}
		})
	}
}

func TestMessage_HasATraceOfItsOwn(t *testing.T) {
	tracing, kept := tracingOf(t, sdk.AlwaysSample())
	for range 2 {
		_, op := tracing.Message(t.Context(), OriginOf(t.Context(), request("Traceparent", "00-"+callerTrace+"-01").Header))
		op.End(Outcome{Type: "query", Transport: TransportSocket, Code: "OK"})
	}
	spans := kept.Ended()
	if len(spans) != 2 || spans[0].SpanContext().TraceID() == spans[1].SpanContext().TraceID() {
		t.Fatalf("%d spans, in one trace or none", len(spans))
	}
	for _, s := range spans {
		if links := s.Links(); s.Parent().IsValid() || len(links) != 1 || links[0].SpanContext.TraceID().String() != callerTrace[:32] {
			t.Errorf("the span is below %v and refers to %v", s.Parent(), links)
		}
	}
}

func TestSpans_ServiceFailuresAreErrors(t *testing.T) {
	tracing, kept := tracingOf(t, sdk.AlwaysSample())
	for _, code := range []string{"OK", "BAD_USER_INPUT", "RATE_LIMITED", "UNAVAILABLE", "INTERNAL_SERVER_ERROR", "OUTCOME_UNKNOWN"} {
		_, op := tracing.Request(t.Context(), request())
		op.End(Outcome{Type: "query", Name: strings.Repeat("n", 2*maxName), Code: code})
	}
	var got []string
	for _, s := range kept.Ended() {
		got = append(got, attributeOf(s, "carrel.code")+" "+s.Status().Code.String()+s.Status().Description)
		if n := len(attributeOf(s, "graphql.operation.name")); n != maxName {
			t.Errorf("the name has %d bytes", n)
		}
	}
	want := []string{"OK Unset", "BAD_USER_INPUT Unset", "RATE_LIMITED Unset", "UNAVAILABLE Error", "INTERNAL_SERVER_ERROR Error",
		"OUTCOME_UNKNOWN Error"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSpans_CallsAreBelowTheirOperation: the spans of calls are below the span of their operation, and
// without an operation there are none.
func TestSpans_CallsAreBelowTheirOperation(t *testing.T) {
	tracing, kept := tracingOf(t, sdk.AlwaysSample())
	call := Call{System: "pebble", Operation: "read a library", Outcome: "unavailable", Took: time.Second}
	tracing.Call(t.Context(), call)
	if n := len(kept.Ended()); n > 0 {
		t.Errorf("%d spans of calls without an operation", n)
	}
	ctx, op := tracing.Request(t.Context(), request())
	tracing.Call(ctx, call)
	tracing.Call(WithoutCallSpans(ctx), call)
	call.Outcome = "refused"
	tracing.Call(ctx, call)
	op.End(Outcome{Type: "query", Code: "OK"})
	spans := kept.Ended()
	if diff := cmp.Diff([]string{"read a library", "read a library", "query"}, names(kept)); diff != "" {
		t.Fatal(diff)
	}
	for i, want := range []string{"unavailable Error", "refused Unset"} {
		if got := attributeOf(spans[i], "carrel.outcome") + " " + spans[i].Status().Code.String(); got != want {
			t.Errorf("%s: %s, want %s", spans[i].Name(), got, want)
		}
		if spans[i].Parent().SpanID() != spans[2].SpanContext().SpanID() {
			t.Errorf("%s is not below the operation", spans[i].Name())
		}
		if got := attributeOf(spans[i], "db.system.name"); got != "pebble" {
			t.Errorf("the store is %q", got)
		}
	}
	if got := spans[0].EndTime().Sub(spans[0].StartTime()); got != time.Second {
		t.Errorf("a call of a second took %s", got)
	}
	if got := attributeOf(spans[2], "carrel.store_calls"); got != "2" {
		t.Errorf("%s calls, want 2", got)
	}
}

func TestSpans_OfALargeOperationAreLimited(t *testing.T) {
	tracing, kept := tracingOf(t, sdk.AlwaysSample())
	ctx, op := tracing.Request(t.Context(), request())
	ctx, ended := tracing.FanOut(ctx, nil)
	for range maxCalls + 50 {
		tracing.Call(ctx, Call{Operation: "read a library", Outcome: "ok"})
	}
	ended(nil)
	op.End(Outcome{Type: "mutation", Code: "OK"})
	spans := kept.Ended()
	if len(spans) != maxCalls+2 {
		t.Errorf("%d spans, want %d and two", len(spans), maxCalls)
	}
	if got := attributeOf(spans[maxCalls], "carrel.store_calls"); got != fmt.Sprint(maxCalls+50) {
		t.Errorf("the fan-out reports %s calls", got)
	}
}

// TestFanOut_LinksToItsMutations: it links to all of them, even if one is not sampled.
func TestFanOut_LinksToItsMutations(t *testing.T) {
	tracing, kept := tracingOf(t, sdk.AlwaysSample())
	first, one := tracing.Request(t.Context(), request())
	second, two := tracing.Request(t.Context(), request())
	_, ended := tracing.FanOut(first, []context.Context{second, t.Context()})
	one.End(Outcome{Type: "mutation", Code: "OK"})
	two.End(Outcome{Type: "mutation", Code: "OK"})
	ended(errors.New("x"))
	walk := kept.Ended()[2]
	if walk.Name() != "fan-out" || walk.Parent().SpanID() != trace.SpanContextFromContext(first).SpanID() ||
		attributeOf(walk, "carrel.outcome") != "failed" {
		t.Errorf("%s below %v: %s", walk.Name(), walk.Parent(), attributeOf(walk, "carrel.outcome"))
	}
	if links := walk.Links(); len(links) != 1 || links[0].SpanContext.SpanID() != trace.SpanContextFromContext(second).SpanID() {
		t.Errorf("it refers to %v", links)
	}
}

// resuming is a journal.Service that finishes every change.
type resuming struct{ err error }

func (r resuming) Resume(context.Context, commit.Entry) (bool, error)    { return true, r.err }
func (r resuming) RunDue(context.Context, commit.Entry) (bool, error)    { return true, r.err }
func (r resuming) Expire(context.Context, commit.Reminder) (bool, error) { return true, r.err }
func (r resuming) Repair(context.Context, commit.Repair) error           { return r.err }
func (r resuming) Scrub(ctx context.Context, rest func(commit.ScrubStep) (context.Context, error)) error {
	spans := []trace.SpanID{trace.SpanContextFromContext(ctx).SpanID()}
	for _, step := range []commit.ScrubStep{{Finished: 3}, {Mismatches: 4, Err: r.err}} {
		next, err := rest(step)
		if err != nil {
			return err
		}
		spans = append(spans, trace.SpanContextFromContext(next).SpanID())
	}
	if spans[0] == spans[1] || spans[1] == spans[2] {
		return fmt.Errorf("steps share the spans %v", spans)
	}
	return nil
}

func TestSpans_BackgroundWorkLinksToItsMutation(t *testing.T) {
	tracing, kept := tracingOf(t, sdk.AlwaysSample())
	changes := tracing.Journal(beginning{})
	ctx, op := tracing.Request(t.Context(), request())
	change := commit.EntryID{1}
	if err := changes.Begin(ctx, commit.Entry{ID: change}); err != nil {
		t.Fatal(err)
	}
	op.End(Outcome{Type: "mutation", Code: "OUTCOME_UNKNOWN"})

	gone := errors.New("x")
	s := tracing.Background(resuming{gone})
	if fenced, err := s.Resume(t.Context(), commit.Entry{ID: change}); !fenced || !errors.Is(err, gone) {
		t.Errorf("Resume: %v, %v", fenced, err)
	}
	if _, err := s.Resume(t.Context(), commit.Entry{ID: commit.EntryID{2}}); !errors.Is(err, gone) {
		t.Error(err)
	}
	if moved, err := s.RunDue(t.Context(), commit.Entry{Key: "c:acme:x"}); !moved || !errors.Is(err, gone) {
		t.Errorf("RunDue: %v, %v", moved, err)
	}
	if done, err := s.Expire(t.Context(), commit.Reminder{}); !done || !errors.Is(err, gone) {
		t.Errorf("Expire: %v, %v", done, err)
	}
	if err := s.Repair(t.Context(), commit.Repair{}); !errors.Is(err, gone) {
		t.Error(err)
	}
	var steps []commit.ScrubStep
	rest := func(step commit.ScrubStep) (context.Context, error) {
		steps = append(steps, step)
		return t.Context(), nil
	}
	if err := s.Scrub(t.Context(), rest); err != nil || len(steps) != 2 || steps[0].Finished != 3 || !errors.Is(steps[1].Err, gone) {
		t.Errorf("Scrub: %v, %v", steps, err)
	}
	if diff := cmp.Diff([]string{"mutation", "resume", "resume", "move", "expire", "repair", "scrub", "scrub"}, names(kept)); diff != "" {
		t.Fatal(diff)
	}
	spans := kept.Ended()
	if links := spans[1].Links(); len(links) != 1 || links[0].SpanContext.SpanID() != spans[0].SpanContext().SpanID() {
		t.Errorf("the span that finishes a change has the links %v", links)
	}
	if links := spans[2].Links(); len(links) != 0 {
		t.Errorf("a change without a mutation links to %v", links)
	}
}

// beginning is a journal that begins every change.
type beginning struct{ commit.Journal }

func (beginning) Begin(context.Context, commit.Entry) error { return nil }

func TestTracing_NilDoesNothing(t *testing.T) {
	var none *Tracing
	ctx := t.Context()
	if got, op := none.Request(ctx, request()); got != ctx || op != nil {
		t.Error("a request has another context")
	}
	if got, op := none.Message(ctx, Origin{}); got != ctx || op != nil {
		t.Error("a message has another context")
	}
	if got, ended := none.FanOut(ctx, nil); got != ctx {
		t.Error("a fan-out has another context")
	} else {
		ended(nil)
	}
	var op *Operation
	op.End(Outcome{})
	none.Call(ctx, Call{})
	if j := (beginning{}); none.Journal(j) != commit.Journal(j) {
		t.Error("the journal is traced")
	}
	if s := (resuming{}); none.Background(s) != s {
		t.Error("the background work is traced")
	}
	var export *Export
	if export.Tracing() != nil {
		t.Error("spans are created although none is sent")
	}
	export.Close(ctx)
}

func TestLogger_LinesContainTheirTrace(t *testing.T) {
	tracing, _ := tracingOf(t, sdk.NeverSample())
	var b bytes.Buffer
	log := NewLogger(&b).With("a", 1)
	log.InfoContext(t.Context(), "without")
	ctx, _ := tracing.Request(t.Context(), request("Traceparent", "00-"+callerTrace+"-00"))
	log.InfoContext(ctx, "within")
	var lines []string
	for line := range strings.Lines(b.String()) {
		var l struct {
			Msg     string
			A       int
			TraceID string `json:"trace_id"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(l.Msg, " ", l.A, " ", l.TraceID))
	}
	if diff := cmp.Diff([]string{"without 1 ", "within 1 " + callerTrace[:32]}, lines); diff != "" {
		t.Error(diff)
	}
}

// TestExportLog_LogsFailuresOccasionally: a collector that is down does not fill the log, and no
// line contains a secret.
func TestExportLog_LogsFailuresOccasionally(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	counted := map[string]int{}
	l := &exportLog{log: slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
		now:     func() time.Time { return now },
		secrets: []string{"of the collector"}, count: func(signal, outcome string) { counted[signal+" "+outcome]++ },
		failing: map[string]*outage{}}
	away := errors.New("Bearer of the collector: " + strings.Repeat("x", maxReason))
	for range 5 {
		l.ended("traces", away)
	}
	l.ended("metrics", nil)
	now = now.Add(remindEvery)
	l.ended("traces", away)
	l.ended("traces", nil)
	l.ended("traces", nil)
	l.ended("traces", away)
	reason := strings.Repeat("x", maxReason-len("Bearer ...: "))
	want := `level=WARN msg="telemetry could not be sent and is lost; later telemetry will be sent" signal=traces error="Bearer ...: ` +
		reason + `..."
level=WARN msg="telemetry still cannot be sent" signal=traces failures=6 error="Bearer ...: ` + reason + `..."
level=INFO msg="telemetry is sent again" signal=traces failures=6
level=WARN msg="telemetry could not be sent and is lost; later telemetry will be sent" signal=traces error="Bearer ...: ` + reason + `..."
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"traces failed": 7, "traces ok": 2, "metrics ok": 1}, counted); diff != "" {
		t.Error(diff)
	}
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func TestSecretsOf_OnlyLongValuesCount(t *testing.T) {
	got := secretsOf(map[string]string{"X-Scope-Orgid": "1", "Authorization": "Bearer key"},
		map[string]string{"X-Key": "12345678", "Empty": ""})
	slices.Sort(got)
	if diff := cmp.Diff([]string{"12345678", "Bearer key"}, got); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}
