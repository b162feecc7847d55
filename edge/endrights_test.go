package edge

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"carrel/core/fault"
	"carrel/principal"
)

// TestEndRights_OfEachOperation: the next operation of a viewer that lost rights runs without them, over a
// socket, and in the next event. Without the store that knows, nothing is answered.
func TestEndRights_OfEachOperation(t *testing.T) {
	var lost, failing atomic.Bool
	var calls atomic.Int64
	s, e := newTickingEdge(t, func(c *Config) {
		c.EndRights = func(_ context.Context, v *principal.Viewer) error {
			if calls.Add(1); lost.Load() {
				v.User = "u:acme:lost"
			}
			if failing.Load() {
				return &fault.Error{Code: fault.Unavailable, Msg: "no store", RetryAfter: 3}
			}
			return nil
		}
	})
	so := opened(t, start(t, e.handler, DefaultLimits()), `{"authorization":"ann"}`)
	so.send(`{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`)
	s.events <- 1
	so.next()
	lost.Store(true)
	s.events <- 2
	so.next()
	s.mu.Lock()
	if got := strings.Join(s.viewers, " "); got != "u:acme:ann u:acme:lost" {
		t.Errorf("the viewers of the events are %s", got)
	}
	s.mu.Unlock()
	before := calls.Load()
	so.send(`{"id":"2","type":"subscribe","payload":{"query":"{now}"}}`)
	if got := so.next(); !strings.Contains(got, `"now":7`) || calls.Load() != before+1 {
		t.Errorf("got %s after %d calls", got, calls.Load()-before)
	}
	so.next() // complete
	failing.Store(true)
	so.send(`{"id":"3","type":"subscribe","payload":{"query":"{now}"}}`)
	if got := so.next(); !strings.Contains(got, `"code":"UNAVAILABLE"`) {
		t.Errorf("a query: %s", got)
	}
	so.send(`{"id":"4","type":"subscribe","payload":{"query":"subscription{ticks}"}}`)
	if got := so.next(); !strings.Contains(got, `"code":"UNAVAILABLE"`) {
		t.Errorf("a subscription: %s", got)
	}
	so.next() // complete
	s.events <- 3
	if got := so.next(); !strings.Contains(got, `"code":"UNAVAILABLE","cursor":"resume"`) {
		t.Errorf("an event: %s", got)
	}
	if a := e.send(t, `{"query":"{now}"}`, "Authorization: Bearer ann"); a.Code != 503 || a.code() != "UNAVAILABLE" ||
		a.Header().Get("Retry-After") != "3" {
		t.Errorf("by POST: %d %s", a.Code, a.Body)
	}
}
