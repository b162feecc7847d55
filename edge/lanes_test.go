package edge

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLanes_LongWorkOfAnAccountTakesTurns: compiling a new document, decoding a long body, and resolving a field
// with a long text wait for other such work of the account. Neither short work nor that of others does.
func TestLanes_LongWorkOfAnAccountTakesTurns(t *testing.T) {
	const known = `{"query":"{viewer{id}}"}`
	e := newEdge(t, nil)
	e.send(t, known)
	goOn := make(chan struct{})
	var working, held sync.WaitGroup
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		held.Add(1)
		working.Go(func() { _ = e.handler.lanes.Run(t.Context(), "192.0.2.1", func() { held.Done(); <-goOn }) })
	}
	held.Wait()
	for n, c := range slices.Repeat([]struct {
		name, body, header string
		waits              bool
	}{
		{"a known document", known, "", false},
		{"a new document", `{"query":"{a%d:viewer{id}}"}`, "", true},
		{"an invalid document", `{"query":"{nothing}"}`, "", true},
		{"a long body", strings.Repeat(" ", laneBytes) + "{", "", true},
		{"a new document of another", `{"query":"{b%d:viewer{id}}"}`, "Bearer ann", false},
		{"a long body of another", known + strings.Repeat(" ", laneBytes), "Bearer ann", false},
	}, 10) {
		ctx, cancel := context.WithCancel(t.Context())
		if c.waits {
			cancel()
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(strings.Replace(c.body, "%d", fmt.Sprint(n), 1)))
		r.Header.Set("Content-Type", "application/json")
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		if a := e.do(t, r); c.waits != (a.code() == "TIMEOUT") || c.waits != (a.Code == 504) {
			t.Errorf("%s: %d %s", c.name, a.Code, a.Body)
		}
		cancel()
	}
	close(goOn)
	working.Wait()
}

// TestLanes_OfAnOperation: the fields of an operation that have long texts are resolved in turns, and its short
// ones at once.
func TestLanes_OfAnOperation(t *testing.T) {
	for text, want := range map[string]int{strings.Repeat("x", laneBytes+1): max(1, runtime.GOMAXPROCS(0)/2), "short": 10} {
		synctest.Test(t, func(t *testing.T) {
			e := newEdge(t, nil)
			var mu sync.Mutex
			var running, most int
			e.onURL = func() {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				<-time.After(time.Millisecond)
				mu.Lock()
				running--
				mu.Unlock()
			}
			var query strings.Builder
			for i := range 10 {
				fmt.Fprintf(&query, " a%d:canonicalUrl(url:$u)", i)
			}
			a := e.query(t, "query($u:String!){"+query.String()+"}", map[string]any{"u": text})
			if a.code() != "" || most != want {
				t.Errorf("%d are resolved at once, want %d: %.100s", most, want, a.Body)
			}
		})
	}
}
