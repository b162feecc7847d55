package scenario

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"time"
)

// subscribers returns a function for each transport. It sends a document that subscribes.
func subscribers() map[string]func(g *gateway, token, document string, variables vars) *subscription {
	return map[string]func(g *gateway, token, document string, variables vars) *subscription{
		"by events": (*gateway).subscribeByEvents, "over a socket": (*gateway).subscribeBySocket,
	}
}

// TestSlowReader_ReceivesSlowConsumer checks that a subscriber that does not read while much
// happens receives SLOW_CONSUMER after the events that were already in its connection, while other
// followers of the same library receive everything.
func TestSlowReader_ReceivesSlowConsumer(t *testing.T) {
	document := largeEvents()
	const items = 400 // more than fit into a follower's queue (256) and a connection
	whole := serveWith(t, "--rate-limit", "0", "--limit", "stream-write-time=10m")
	ann := whole.user("acme", "ann", "PUBLIC")
	for name, ask := range subscribers() {
		t.Run(name, func(t *testing.T) {
			g := whole.in(t)
			suffix := strings.ReplaceAll(name, " ", "-")
			ben, owner := g.user("acme", "ben-"+suffix, "PUBLIC"), "u:acme:ben-"+suffix
			slow := ask(g, ben, document, subscriptionVars(owner, ""))
			keen := ask(g, ben, libraryChanged, subscriptionVars(owner, ""))
			g.awaitFollowers(t, 2)
			for n := range items {
				id := fmt.Sprint(suffix, n)
				g.must(ann, createItem, vars{"in": vars{"name": id, "kind": "NOTE", "title": id, "description": strings.Repeat("d", 10_000),
					"members": []vars{{"principalId": owner, "role": "VIEWER"}}}})
				keen.wants("+c:acme:" + id + " " + id + " VIEWER")
			}
			received := 0
			for received < items {
				got, again := slow.receive()
				if got == "!SLOW_CONSUMER" {
					break
				}
				if again {
					continue
				}
				if id := fmt.Sprint(suffix, received); got != "+c:acme:"+id+" "+id+" VIEWER" {
					t.Fatalf("event %d of the slow subscriber is %s", received, got)
				}
				received++
			}
			if received == items {
				t.Error("the slow subscriber received everything")
			}
			slow.wantsEnd()
			keen.leave()
			g.awaitFollowers(t, 0)
		})
	}
}

// largeEvents requests 250 KB per event, so that a connection holds only a few.
func largeEvents() string {
	large := strings.Builder{}
	for n := range 25 {
		fmt.Fprintf(&large, "d%d: description ", n)
	}
	return strings.Replace(libraryChanged, "title", "title "+large.String(), 1)
}

// TestSlowReader_ThatNeverReadsIsDisconnected checks that a subscriber that never reads, and so
// cannot receive an error, is disconnected when one event has waited too long, and that a metric
// counts it.
func TestSlowReader_ThatNeverReadsIsDisconnected(t *testing.T) {
	const items = 100 // more than fit into a connection, but fewer than fit into a queue
	for name, ask := range subscribers() {
		t.Run(name, func(t *testing.T) {
			g := serveWith(t, "--rate-limit", "0", "--limit", "stream-write-time=500ms")
			ann, ben := g.user("acme", "ann", "PUBLIC"), g.user("acme", "ben", "PUBLIC")
			ask(g, ben, largeEvents(), subscriptionVars("u:acme:ben", ""))
			keen := ask(g, ben, libraryChanged, subscriptionVars("u:acme:ben", ""))
			g.awaitFollowers(t, 2)
			for n := range items {
				id := fmt.Sprint("n", n)
				g.must(ann, createItem, vars{"in": vars{"name": id, "kind": "NOTE", "title": id, "description": strings.Repeat("d", 10_000),
					"members": []vars{{"principalId": "u:acme:ben", "role": "VIEWER"}}}})
				keen.wants("+c:acme:" + id + " " + id + " VIEWER")
			}
			g.awaitFigure(t, `carrel_request_seconds_count{code="SLOW_CONSUMER",operation="subscription"}`, "1")
			g.awaitFollowers(t, 1)
			g.awaitFigure(t, "carrel_followers_cut_off_total", "0") // the queue was not the reason
			if name == "over a socket" {
				g.awaitFigure(t, `carrel_socket_closes_total{code="slow"}`, "1")
			}
			keen.leave()
			g.awaitFollowers(t, 0)
		})
	}
}

// awaitFollowers waits until the gateway has n followers.
func (g *gateway) awaitFollowers(t *testing.T, n int) {
	t.Helper()
	g.awaitFigure(t, "carrel_followers", fmt.Sprint(n))
}

// TestSubscription_CountOfAViewerIsBounded checks that one more than the limit is refused, and that
// another one is accepted when one has ended.
func TestSubscription_CountOfAViewerIsBounded(t *testing.T) {
	whole := serveWith(t, "--limit", "subscriptions=2")
	ann := whole.user("acme", "ann", "PUBLIC")
	for name, subscribe := range follows() {
		t.Run(name, func(t *testing.T) {
			g := whole.in(t)
			ben := g.user("acme", "ben-"+strings.ReplaceAll(name, " ", "-"), "PUBLIC")
			first := subscribe(g, ben, "u:acme:ann", "")
			second := subscribe(g, ben, "u:acme:ann", "")
			g.awaitFollowers(t, 2)
			subscribe(g, ben, "u:acme:ann", "").wants("!RATE_LIMITED")
			other := subscribe(g, ann, "u:acme:ann", "") // of another viewer
			g.awaitFollowers(t, 3)
			first.leave()
			g.awaitFollowers(t, 2)
			again := subscribe(g, ben, "u:acme:ann", "")
			g.awaitFollowers(t, 3)
			id := "bounded-" + strings.ReplaceAll(name, " ", "-")
			g.must(ann, createItem, vars{"in": vars{"name": id, "kind": "NOTE", "title": "x", "visibility": "PUBLIC"}})
			for _, s := range []*subscription{second, other, again} {
				event, ok := s.next()
				if !ok || !strings.Contains(string(event), id) {
					t.Errorf("received %s", event)
				}
				s.leave()
			}
			g.awaitFollowers(t, 0)
		})
	}
}

// awaitFigure waits until one of the gateway's metrics is value.
func (g *gateway) awaitFigure(t *testing.T, name, value string) {
	t.Helper()
	deadline := time.Now().Add(answerWithin)
	for {
		got := g.figure(name)
		if got == value {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %q, want %s", name, got, value)
		}
	}
}

// figure returns one of the gateway's metrics, named with its labels in their order, or
// "" if it does not exist yet.
func (g *gateway) figure(name string) string {
	g.t.Helper()
	res, err := g.client.Get(g.admin + "/metrics")
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return value
		}
	}
	return ""
}
