package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// warningEdge is an edge whose limits only warn, with what it counts.
type warningEdge struct {
	*edgeUnderTest
	mu      sync.Mutex
	lines   bytes.Buffer
	counted map[string]int
}

func (w *warningEdge) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines.Write(line)
}

func newWarningEdge(t *testing.T) *warningEdge {
	w := &warningEdge{counted: map[string]int{}}
	w.edgeUnderTest = newEdge(t, func(c *Config) {
		c.WarnOnly, c.Limits.Cost, c.Limits.Depth = true, 21, 3
		c.Log = slog.New(slog.NewJSONHandler(w, nil))
		c.Exceeded = func(code string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.counted[code]++
		}
	})
	return w
}

// reported returns the log lines since the last call, and the counts.
func (w *warningEdge) reported(t *testing.T) (lines []map[string]any, counted map[string]int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(w.lines.String()) {
		var reported map[string]any
		if err := json.Unmarshal([]byte(line), &reported); err != nil {
			t.Fatal(err)
		}
		delete(reported, "time")
		lines = append(lines, reported)
	}
	w.lines.Reset()
	counted, w.counted = maps.Clone(w.counted), map[string]int{}
	return lines, counted
}

// TestWarnings_ReportWhatLimitsWouldRefuse: each use is counted, and one log line per minute names
// the operation and the viewer, whether the document was just compiled or cached.
func TestWarnings_ReportWhatLimitsWouldRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newWarningEdge(t)
		const query = `query Shelf($n:Int){user(id:"x"){library(first:$n){nodes{id}}}}`
		ask := func(n int, header ...string) {
			t.Helper()
			if a := e.query(t, query, map[string]any{"n": n}, header...); a.Code != 200 {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		}
		line := func(signedIn bool, codes, why []any) map[string]any {
			return map[string]any{"level": "WARN", "msg": "a document exceeds limits and is run, because limits only warn", "codes": codes, "why": why,
				"type": "query", "operation": "Shelf", "signed_in": signedIn}
		}
		const deep, costly = "The operation is 4 fields deep; at most 3 are allowed.", "The operation costs 42; at most 21 are allowed: ask for smaller pages or fewer levels."
		check := func(want []map[string]any, counts map[string]int) {
			t.Helper()
			lines, counted := e.reported(t)
			if diff := cmp.Diff(want, lines); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(counts, counted); diff != "" {
				t.Error(diff)
			}
		}
		for range 3 {
			ask(5)
		}
		check([]map[string]any{line(false, []any{"DEPTH_LIMIT"}, []any{deep})}, map[string]int{"DEPTH_LIMIT": 3})
		sleep(warnEvery)
		for range 2 {
			ask(40, "Authorization: Bearer ann")
		}
		check([]map[string]any{line(true, []any{"DEPTH_LIMIT", "COST_LIMIT"}, []any{deep, costly})}, map[string]int{"DEPTH_LIMIT": 2, "COST_LIMIT": 2})
		sleep(warnEvery - time.Second)
		ask(5)
		check(nil, map[string]int{"DEPTH_LIMIT": 1})
		if a := e.query(t, `{viewer{id}}`, nil); a.code() != "" {
			t.Error(a.Body)
		}
		check(nil, map[string]int{})
	})
}

func TestWarnings_OperationsOverSocketsAreReported(t *testing.T) {
	e := newWarningEdge(t)
	c := opened(t, start(t, e.handler, DefaultLimits()), `{"authorization":"ann"}`)
	long := strings.Repeat("x", 2*maxLoggedName)
	for n := range 2 {
		c.send(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":{"query":"query %s{user(id:\"x\"){library{nodes{id}}}}"}}`, n, long))
		c.next()
		c.next()
	}
	lines, counted := e.reported(t)
	if len(lines) != 1 || lines[0]["operation"] != long[:maxLoggedName] || lines[0]["signed_in"] != true || counted["DEPTH_LIMIT"] != 2 {
		t.Errorf("reported %v, counted %v", lines, counted)
	}
}
