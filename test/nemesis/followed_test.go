package nemesis

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// deliveredWithin is how soon another gateway delivers a change, counted from the answer to
// the change.
const deliveredWithin = 2 * time.Second

const (
	readCursor = `query($id: ID!) { principal(id: $id) { library(first: 1) { edges { cursor node { id } } } } }`
	follow     = `subscription($id: ID!, $after: Cursor) { libraryChanged(principalId: $id, after: $after) {
		... on LibraryEntryPlaced { edge { node { id title } } } ... on LibraryEntryRemoved { contentId } } }`
)

// itemEvent is the state of an item in an event, and when the event arrived.
type itemEvent struct {
	ID, Title string
	at        time.Time
}

// follow subscribes to a library from a cursor on, and passes on its events until the
// test ends.
func (p *process) follow(t *testing.T, token string, in vars) <-chan itemEvent {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": follow, "variables": in})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.address()+"/graphql", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := new(http.Transport).RoundTrip(req) // it outlives the client's timeout
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	events := make(chan itemEvent, 100)
	go func() {
		defer close(events)
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			data, is := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !is {
				continue
			}
			var event struct {
				Data struct {
					LibraryChanged struct{ Edge struct{ Node itemEvent } }
				}
			}
			if err := json.Unmarshal(data, &event); err != nil || bytes.Contains(data, []byte(`"errors"`)) {
				t.Errorf("the subscription received %s (%v)", data, err)
				return
			}
			received := event.Data.LibraryChanged.Edge.Node
			received.at = time.Now()
			events <- received
		}
	}()
	return events
}

// TestFollow_DeliversChangesOfAnotherGateway follows a library through one gateway and changes it
// through another one, whose clock is 2 s ahead. The limit is extended where other work slows the
// machine down, as it is for refusals. No other test uses the cluster at the same time, so the
// statements do not wait for those of other tests.
func TestFollow_DeliversChangesOfAnotherGateway(t *testing.T) {
	s := newSite(t, node.Hosts(t), node.Keyspace(t), 1)
	a, b := s.serveAhead("a"), s.serve("b")
	ann := a.user(t, "ann")
	a.must(t, ann, createItem, vars{"in": vars{"name": "x", "kind": "NOTE", "title": "new"}})
	edges, _ := b.must(t, ann, readCursor, vars{"id": "u:acme:ann"}).at("principal.library.edges").([]any)
	if len(edges) != 1 {
		t.Fatalf("the library contains %v", edges)
	}
	events := b.follow(t, ann, vars{"id": "u:acme:ann", "after": edges[0].(map[string]any)["cursor"]})
	strained := sync.OnceValue((&nemesis{t: t, gateways: []*process{a, b}}).strain())
	defer strained()
	slowest := time.Duration(0)
	for n := range 20 {
		title := fmt.Sprintf("title %d", n)
		a.must(t, ann, updateItem, vars{"in": vars{"id": "c:acme:x", "title": title}})
		answered := time.Now()
		limit := time.NewTimer(answerWithin)
		received := itemEvent{}
		for received.Title != title {
			select {
			case received = <-events: // earlier states may be delivered again
				if received.ID != "c:acme:x" {
					t.Fatalf("unexpected event: %+v", received)
				}
			case <-limit.C:
				t.Fatalf("%q was not delivered within %s", title, answerWithin)
			}
		}
		limit.Stop()
		slowest = max(slowest, received.at.Sub(answered))
	}
	strain := strained()
	t.Logf("the slowest of 20 changes was delivered %s after its answer, while an answer that needs no store takes %s", slowest, strain)
	if slowest > deliveredWithin+latency+strainSteps*strain {
		t.Errorf("a change was delivered %s after its answer, while answers that need no store take %s", slowest, strain)
	}
}
