package edge

import (
	"bytes"
	"encoding/json"
	"testing"

	"carrel/observe"
)

// TestLog_InternalErrorsHaveTheirTraceID: log lines have the caller's trace id, even if the trace
// is not recorded, so that the error that a client sees leads to the trace.
func TestLog_InternalErrorsHaveTheirTraceID(t *testing.T) {
	var log bytes.Buffer
	lines := observe.NewLogger(&log)
	// Nothing is recorded, so nothing is exported.
	export, err := observe.OpenExport(t.Context(), observe.ExportConfig{Traces: observe.Collector{URL: "http://127.0.0.1:1/v1/traces"},
		Log: lines}, observe.NewMetrics())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { export.Close(t.Context()) })
	e := newEdge(t, func(c *Config) { c.Log, c.Tracing = lines, export.Tracing() })
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	a := e.send(t, `{"query":"{__typename}"}`, "Authorization: Bearer broken", "Traceparent: 00-"+trace+"-00f067aa0ba902b7-00")
	if a.code() != "INTERNAL_SERVER_ERROR" {
		t.Fatalf("got %s", a.Body)
	}
	var line struct {
		Msg     string
		TraceID string `json:"trace_id"`
		ErrorID string `json:"error_id"`
	}
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, &log)
	}
	if line.Msg != "internal error" || line.TraceID != trace || line.ErrorID != a.Errors[0].Extensions["errorId"] {
		t.Errorf("the log has %s for the answer %s", &log, a.Body)
	}
}
