package scenario

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metricsapi "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traceapi "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives traces and metrics by OTLP over HTTP and keeps them.
type collector struct {
	t   *testing.T
	url string

	mu       sync.Mutex
	raw      bytes.Buffer // all bodies, as they were sent
	headers  []http.Header
	resource map[string]string // the resource attributes of the sender
	spans    []*trace.Span
	figures  map[string]*metrics.Metric // as they were sent last
}

func collect(t *testing.T) *collector {
	c := &collector{t: t, figures: map[string]*metrics.Metric{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		var in traceapi.ExportTraceServiceRequest
		c.take(r, &in, func() {
			for _, of := range in.ResourceSpans {
				c.resource = attributes(of.Resource.Attributes)
				for _, scope := range of.ScopeSpans {
					c.spans = append(c.spans, scope.Spans...)
				}
			}
		})
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		var in metricsapi.ExportMetricsServiceRequest
		c.take(r, &in, func() {
			for _, of := range in.ResourceMetrics {
				for _, scope := range of.ScopeMetrics {
					for _, m := range scope.Metrics {
						c.figures[m.Name] = m
					}
				}
			}
		})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// take reads one message and stores it.
func (c *collector) take(r *http.Request, in proto.Message, keep func()) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			c.t.Errorf("decompressing a message: %v", err)
			return
		}
		body = unzipped
	}
	b, err := io.ReadAll(body)
	if err == nil {
		err = proto.Unmarshal(b, in)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.t.Errorf("decoding a message: %v", err)
		return
	}
	c.raw.Write(b)
	c.headers = append(c.headers, r.Header)
	keep()
}

func attributes(list []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			all[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			all[a.Key] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_BoolValue:
			all[a.Key] = fmt.Sprint(v.BoolValue)
		default:
			all[a.Key] = fmt.Sprintf("%T", v)
		}
	}
	return all
}

// operation returns the span of the operation with that name.
func (c *collector) operation(name string) *trace.Span {
	c.t.Helper()
	var found []*trace.Span
	for _, s := range c.spans {
		if attributes(s.Attributes)["graphql.operation.name"] == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		c.t.Fatalf("got %d spans of the operation %s, want 1", len(found), name)
	}
	return found[0]
}

// below returns the names of the descendants of a span, sorted and without duplicates.
func (c *collector) below(of *trace.Span) []string {
	var names []string
	for _, s := range c.spans {
		if bytes.Equal(s.ParentSpanId, of.SpanId) && bytes.Equal(s.TraceId, of.TraceId) {
			names = append(append(names, s.Name), c.below(s)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// send posts an operation with additional headers.
func (w *traced) send(method string, op vars, headers map[string]string) {
	w.g.t.Helper()
	var body io.Reader
	address := w.g.url + "/graphql"
	if method == http.MethodGet {
		variables, err := json.Marshal(op["variables"])
		if err != nil {
			w.g.t.Fatal(err)
		}
		address += "?" + url.Values{"query": {op["query"].(string)}, "variables": {string(variables)}}.Encode()
	} else {
		body = bytes.NewReader(mustJSON(op))
	}
	r, err := http.NewRequestWithContext(w.g.t.Context(), method, address, body)
	if err != nil {
		w.g.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+w.ann)
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	res, err := w.g.client.Do(r)
	if err != nil {
		w.g.t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		w.g.t.Fatal(err)
	}
}

// traced is a gateway that sends to a collector, and has received one request of each
// kind.
type traced struct {
	g   *gateway
	c   *collector
	ann string
}

// Parts of the trace of a federation gateway.
const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
)

func requestOneOfEach(t *testing.T) *traced {
	t.Helper()
	c := collect(t)
	headers := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(headers, []byte("Authorization: Bearer of-the-collector\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &traced{c: c, g: serveWith(t, "--otlp-endpoint", c.url, "--otlp-headers-file", headers, "--trace-ratio", "1",
		"--otlp-metrics-every", "1h")}
	w.ann = w.g.user("acme", "ann", "PUBLIC")
	w.g.user("acme", "ben", "PUBLIC")
	for name, subscribe := range follows() {
		w.g.must(w.ann, createItem, vars{"in": vars{"kind": "NOTE", "title": "title-of-secret " + name}})
		// With a cursor it is delivered however late the subscription starts.
		page := pageOf(w.g.must(w.ann, pageItems, vars{"id": "u:acme:ann"}))
		stream := subscribe(w.g, w.ann, "u:acme:ann", page.End)
		if _, ok := stream.next(); !ok {
			t.Fatalf("%s: the subscription delivered nothing", name)
		}
	}
	w.send("POST", vars{"query": `query Page($id: ID!) { user(id: $id) { library { nodes { title createdBy { id } } } } }`,
		"variables": vars{"id": "u:acme:ann"}},
		map[string]string{"Traceparent": "00-" + callerTrace + "-" + callerSpan + "-01", "Tracestate": "vendor=state-of-secret",
			"Baggage": "user=baggage-of-secret"})
	w.send("POST", vars{"query": `mutation Make($in: CreateContentInput!) { createContent(input: $in) { content { id } } }`,
		"variables": vars{"in": vars{"name": "name-of-secret", "kind": "NOTE", "title": "T",
			"members": []vars{{"principalId": "u:acme:ben", "role": "VIEWER"}}}}}, nil)
	w.send("GET", vars{"query": `query ByGet($id: ID!) { content(id: $id) { title } }`, "variables": vars{"id": "c:acme:address-of-secret"}},
		nil)
	w.send("POST", vars{"query": `query Wrong { fieldOfSecret }`}, nil)
	w.send("POST", vars{"query": `query Unsampled { viewer { id } }`},
		map[string]string{"Traceparent": "00-" + callerTrace + "-" + callerSpan + "-00"})
	w.send("PUT", vars{"query": `query Put { viewer { id } }`}, nil)
	w.g.stop()
	return w
}

func TestTelemetry_ReachesACollector(t *testing.T) {
	w := requestOneOfEach(t)
	t.Run("an operation is in the trace of its caller", func(t *testing.T) {
		page := w.c.operation("Page")
		if got := hex.EncodeToString(page.TraceId) + " " + hex.EncodeToString(page.ParentSpanId); got != callerTrace+" "+callerSpan {
			t.Errorf("it is in the trace and below the span %s", got)
		}
		if page.Name != "query" || page.Kind != trace.Span_SPAN_KIND_SERVER || page.TraceState != "" {
			t.Errorf("the span is %s of kind %s with the state %q", page.Name, page.Kind, page.TraceState)
		}
		if got := w.c.below(page); !slices.Contains(got, "page a library") {
			t.Errorf("below it are %v, want calls of the store, \"page a library\" among them", got)
		}
	})
	t.Run("attributes of spans of operations", func(t *testing.T) {
		for name, want := range map[string]map[string]string{
			"Page": {"carrel.code": "OK", "carrel.transport": "http", "graphql.operation.type": "query", "graphql.operation.name": "Page",
				"http.request.method": "POST", "http.response.status_code": "200"},
			"Make": {"carrel.code": "OK", "carrel.transport": "http", "graphql.operation.type": "mutation", "graphql.operation.name": "Make",
				"http.request.method": "POST", "http.response.status_code": "200"},
			"ByGet": {"carrel.code": "OK", "carrel.transport": "http", "graphql.operation.type": "query", "graphql.operation.name": "ByGet",
				"http.request.method": "GET", "http.response.status_code": "200"},
		} {
			got := attributes(w.c.operation(name).Attributes)
			for _, number := range []string{"carrel.cost", "carrel.store_calls"} {
				if got[number] == "" || got[number] == "0" {
					t.Errorf("%s: %s is %q", name, number, got[number])
				}
				delete(got, number)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
	t.Run("a refused request has a span too", func(t *testing.T) {
		var got []string
		for _, s := range w.c.spans {
			if s.Name == "request" {
				a := attributes(s.Attributes)
				got = append(got, a["http.request.method"]+" "+a["carrel.code"])
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"POST GRAPHQL_VALIDATION_FAILED", "_OTHER METHOD_NOT_ALLOWED"}, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a fan-out is in the trace of its mutation", func(t *testing.T) {
		made := w.c.below(w.c.operation("Make"))
		for _, want := range []string{"commit", "fan-out", "update index"} {
			if !slices.Contains(made, want) {
				t.Errorf("below the mutation are %v, want %s among them", made, want)
			}
		}
	})
	t.Run("a subscription is one span", func(t *testing.T) {
		var got []string
		for _, s := range w.c.spans {
			if s.Name == "subscription" {
				a := attributes(s.Attributes)
				got = append(got, fmt.Sprint(a["carrel.transport"], " ", a["carrel.code"], " ", a["http.response.status_code"], " ", w.c.below(s)))
				if events, err := strconv.Atoi(a["carrel.events"]); err != nil || events < 1 {
					t.Errorf("by %s it received %q events", a["carrel.transport"], a["carrel.events"])
				}
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"events OK 200 []", "socket OK  []"}, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a trace that the caller has not sampled is not sent", func(t *testing.T) {
		for _, s := range w.c.spans {
			if attributes(s.Attributes)["graphql.operation.name"] == "Unsampled" {
				t.Error("it was sent")
			}
		}
	})
	t.Run("resource attributes", func(t *testing.T) {
		if w.c.resource["service.name"] != "carrel" || w.c.resource["host.name"] != "test" ||
			!strings.HasPrefix(w.c.resource["service.instance.id"], "test-") {
			t.Errorf("the resource attributes are %v", w.c.resource)
		}
		for _, head := range w.c.headers {
			if got := head.Get("Authorization"); got != "Bearer of-the-collector" {
				t.Errorf("the collector received the header %q", got)
			}
		}
	})
	t.Run("metrics", func(t *testing.T) { wantFigures(t, w.c) })
	t.Run("nothing secret is sent", func(t *testing.T) { wantNoSecrets(t, w) })
}

// wantFigures compares the metrics at the end with the requests of the test.
func wantFigures(t *testing.T, c *collector) {
	for _, name := range []string{"carrel_changes_in_flight", "carrel_fanout_lag_seconds", "carrel_points_total",
		"carrel_store_call_seconds", "carrel_loader_ids", "go_goroutines"} {
		if c.figures[name] == nil {
			t.Errorf("%s was not sent", name)
		}
	}
	requests := c.figures["carrel_request_seconds"]
	if requests == nil {
		t.Fatal("carrel_request_seconds was not sent")
	}
	got := map[string]uint64{}
	for _, point := range requests.GetHistogram().GetDataPoints() {
		a := attributes(point.Attributes)
		got[a["operation"]+" "+a["code"]] = point.Count
	}
	want := map[string]uint64{"mutation OK": 5, "query OK": 5, "subscription OK": 2, "none GRAPHQL_VALIDATION_FAILED": 1,
		"none METHOD_NOT_ALLOWED": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// wantNoSecrets searches everything that the collector received for the input of clients,
// and the log for the collector's secret.
func wantNoSecrets(t *testing.T, w *traced) {
	if w.c.raw.Len() < 1000 || len(w.c.spans) < 20 {
		t.Fatalf("the collector got %d spans in %d bytes: there is nothing to search", len(w.c.spans), w.c.raw.Len())
	}
	sent := strings.ToLower(w.c.raw.String())
	for _, secret := range []string{"secret", "u:acme", "c:acme", "acme", "bearer", "127.0.0.1", w.ann, string(w.g.secret),
		"createContent", "displayName", "of-the-collector"} {
		if strings.Contains(sent, strings.ToLower(secret)) {
			t.Errorf("%q was sent to the collector", secret)
		}
	}
	if log := w.g.log.String() + w.g.output.String(); strings.Contains(log, "of-the-collector") {
		t.Errorf("the collector's secret is in the log:\n%s", log)
	}
}

// TestTelemetry_OpenTelemetryVariablesNeedNoFlags checks that the environment variables of
// OpenTelemetry work without flags.
func TestTelemetry_OpenTelemetryVariablesNeedNoFlags(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.url)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=of%20the%20environment")
	t.Setenv("OTEL_SERVICE_NAME", "shelves")
	g := serveWith(t, "--trace-ratio", "1")
	g.must("", `query Named { viewer { id } }`, nil)
	g.stop()
	if name := c.operation("Named").Name; name != "query" {
		t.Errorf("the span is called %s", name)
	}
	if c.figures["carrel_request_seconds"] == nil {
		t.Error("no metrics were sent")
	}
	if c.resource["service.name"] != "shelves" {
		t.Errorf("the resource attributes are %v", c.resource)
	}
	for _, head := range c.headers {
		if got := head.Get("X-Key"); got != "of the environment" {
			t.Errorf("the collector received %q", got)
		}
	}
}

// TestTelemetry_UnavailableCollectorAffectsNothing checks that an unavailable collector affects no
// request, no change and no shutdown, and does not fill the log.
func TestTelemetry_UnavailableCollectorAffectsNothing(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release); hangs.Close() })
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no room",
			http.StatusForbidden)
	}))
	t.Cleanup(refuses.Close)
	// The requests here create more spans than this.
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "16")
	for name, address := range map[string]string{"nobody listens": "http://" + nobody.Addr().String(),
		"it does not answer": hangs.URL, "it refuses": refuses.URL} {
		t.Run(name, func(t *testing.T) {
			g := serveWith(t, "--rate-limit", "0", "--otlp-endpoint", address, "--trace-ratio", "1")
			ann := g.user("acme", "ann", "PUBLIC")
			for n := range 20 {
				g.must(ann, createItem, vars{"in": vars{"kind": "NOTE", "title": fmt.Sprint(n)}})
			}
			g.stop() // requires exit code 0
			// Traces, metrics, the messages of OpenTelemetry's own library, and the end.
			reported := map[string]int{}
			for line := range strings.Lines(g.log.String()) {
				var e struct{ Msg, Signal string }
				if strings.Contains(line, "telemetry") && json.Unmarshal([]byte(line), &e) == nil {
					reported[e.Msg+" "+e.Signal]++
				}
			}
			for what, n := range reported {
				if n > 1 {
					t.Errorf("the log says %d times: %s", n, what)
				}
			}
			if len(reported) == 0 || len(reported) > 4 {
				t.Errorf("the log has %d kinds of lines about it, want one for each kind and one for the end:\n%s", len(reported), g.log)
			}
			g.audit()
		})
	}
}
