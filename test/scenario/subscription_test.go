package scenario

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

const libraryChanged = `subscription($id: ID!, $after: Cursor) { libraryChanged(principalId: $id, after: $after) {
	... on LibraryEntryPlaced { edge { cursor role node { id title viewerRole createdBy { id } } } }
	... on LibraryEntryRemoved { contentId } } }`

// change is an event of libraryChanged.
type change struct {
	Data struct {
		LibraryChanged *struct {
			Edge *struct {
				Cursor, Role string
				Node         struct {
					ID, Title, ViewerRole string
					CreatedBy             *struct{ ID string }
				}
			}
			ContentID string
		}
	}
	Errors []struct{ Extensions struct{ Code string } }
}

// String returns "+id title ROLE" for an item that was placed, "-id" for one that was
// removed, and "!CODE" for an error.
func (c *change) String() string {
	switch changed := c.Data.LibraryChanged; {
	case len(c.Errors) > 0:
		return "!" + c.Errors[0].Extensions.Code
	case changed == nil:
		return "nothing"
	case changed.Edge != nil:
		return fmt.Sprintf("+%s %s %s", changed.Edge.Node.ID, changed.Edge.Node.Title, changed.Edge.Role)
	default:
		return "-" + changed.ContentID
	}
}

// subscription is an open subscription on any transport. next returns the next event, and
// false at the end.
type subscription struct {
	t      *testing.T
	next   func() ([]byte, bool)
	leave  func()            // closes its connection
	cursor string            // of the last delivered edge
	last   map[string]string // the last event of each item
}

// wants checks the next events. Before each of them, it skips one event that is delivered again:
// that may happen to recent changes.
func (s *subscription) wants(want ...string) {
	s.t.Helper()
	for _, w := range want {
		got, again := s.receive()
		if again && got != w {
			got, _ = s.receive()
		}
		if got != w {
			s.t.Fatalf("got %q, want %q", got, w)
		}
	}
}

// receive returns the next event, and whether it is equal to the previous one of its item.
func (s *subscription) receive() (got string, again bool) {
	s.t.Helper()
	event, ok := s.next()
	if !ok {
		return "the end", false
	}
	var c change
	if err := json.Unmarshal(event, &c); err != nil {
		s.t.Fatalf("%v in %s", err, event)
	}
	got = c.String()
	changed := c.Data.LibraryChanged
	if changed == nil {
		return got, false
	}
	id := changed.ContentID
	if changed.Edge != nil {
		id, s.cursor = changed.Edge.Node.ID, changed.Edge.Cursor
	}
	again = s.last[id] == got
	if s.last == nil {
		s.last = map[string]string{}
	}
	s.last[id] = got
	return got, again
}

// wantsEnd checks that no further event is delivered.
func (s *subscription) wantsEnd() {
	s.t.Helper()
	if event, ok := s.next(); ok {
		s.t.Errorf("got %s, want the end", event)
	}
}

func subscriptionVars(owner, after string) vars {
	v := vars{"id": owner}
	if after != "" {
		v["after"] = after
	}
	return v
}

// followByEvents follows a library by server-sent events.
func (g *gateway) followByEvents(token, owner, after string) *subscription {
	g.t.Helper()
	return g.subscribeByEvents(token, libraryChanged, subscriptionVars(owner, after))
}

// subscribeByEvents subscribes by server-sent events.
func (g *gateway) subscribeByEvents(token, document string, variables vars) *subscription {
	g.t.Helper()
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { cancel(); _ = res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	return &subscription{t: g.t, leave: cancel, next: func() ([]byte, bool) {
		for lines.Scan() {
			if res.StatusCode != http.StatusOK { // the request was refused before the first event
				return bytes.Clone(lines.Bytes()), true
			}
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if ok {
				return []byte(data), true
			}
			if lines.Text() == "event: complete" {
				return nil, false
			}
		}
		return nil, false
	}}
}

// followBySocket follows a library over a websocket.
func (g *gateway) followBySocket(token, owner, after string) *subscription {
	g.t.Helper()
	return g.subscribeBySocket(token, libraryChanged, subscriptionVars(owner, after))
}

// subscribeBySocket subscribes over a websocket, in the protocol graphql-transport-ws.
func (g *gateway) subscribeBySocket(token, document string, variables vars) *subscription {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	conn, _, err := websocket.Dial(ctx, g.url+"/graphql", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	if err != nil {
		g.t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	g.t.Cleanup(func() { _ = conn.CloseNow(); cancel() })
	send := func(message any) {
		text, err := json.Marshal(message)
		if err == nil {
			err = conn.Write(ctx, websocket.MessageText, text)
		}
		if err != nil {
			g.t.Fatal(err)
		}
	}
	type frame struct {
		Type    string
		Payload json.RawMessage
	}
	read := func() (f frame) {
		_, text, err := conn.Read(ctx)
		if err == nil {
			err = json.Unmarshal(text, &f)
		}
		if err != nil {
			f.Type = err.Error()
		}
		return f
	}
	init := map[string]any{"type": "connection_init"}
	if token != "" {
		init["payload"] = vars{"authorization": "Bearer " + token}
	}
	send(init)
	if f := read(); f.Type != "connection_ack" {
		g.t.Fatalf("the socket answered %+v", f)
	}
	send(map[string]any{"type": "subscribe", "id": "1", "payload": map[string]any{"query": document, "variables": variables}})
	return &subscription{t: g.t, next: func() ([]byte, bool) {
		switch f := read(); f.Type {
		case "next":
			return f.Payload, true
		case "error": // of an operation that never started
			return append(append([]byte(`{"errors":`), f.Payload...), '}'), true
		default:
			g.t.Logf("the subscription ended with %s %s", f.Type, f.Payload)
			return nil, false
		}
	}, leave: func() { _ = conn.CloseNow() }}
}

// follows returns the functions that follow a library, by transport.
func follows() map[string]func(g *gateway, token, owner, after string) *subscription {
	return map[string]func(g *gateway, token, owner, after string) *subscription{
		"by events": (*gateway).followByEvents, "over a socket": (*gateway).followBySocket,
	}
}

// TestFollow_ReceivesChangesAfterTheCursor reads a page, subscribes from its last cursor, and
// receives what happens in the part of the library that it has read.
func TestFollow_ReceivesChangesAfterTheCursor(t *testing.T) {
	whole := serve(t)
	ann := whole.user("acme", "ann", "PUBLIC")
	for name, subscribe := range follows() {
		t.Run(name, func(t *testing.T) {
			g := whole.in(t)
			suffix := strings.ReplaceAll(name, " ", "-")
			ben, owner := g.user("acme", "ben-"+suffix, "PUBLIC"), "u:acme:ben-"+suffix
			create := func(name, visibility string) (id string) {
				g.must(ann, createItem, vars{"in": vars{"name": name + suffix, "kind": "NOTE", "title": name, "visibility": visibility,
					"members": []vars{{"principalId": owner, "role": "EDITOR"}}}})
				return "c:acme:" + name + suffix
			}
			first := create("first", "PUBLIC")
			id := create("one", "PRIVATE")
			own := subscribe(g, ben, owner, pageOf(g.must(ben, pageItems, vars{"id": owner})).End)
			own.wants("+"+first+" first EDITOR", "+"+id+" one EDITOR")
			public := subscribe(g, "", owner, pageOf(g.must("", pageItems, vars{"id": owner})).End)
			public.wants("+" + first + " first EDITOR")
			update := func(title, visibility string) {
				g.must(ann, updateItem, vars{"in": vars{"id": id, "title": title, "visibility": visibility}})
			}
			update("two", "PUBLIC")
			own.wants("+" + id + " two EDITOR")
			public.wants("+" + id + " two EDITOR")
			update("three", "PRIVATE")
			own.wants("+" + id + " three EDITOR")
			public.wants("-" + id)
			g.must(ben, removeItem, vars{"in": vars{"principalId": owner, "contentId": id}})
			own.wants("-" + id)
			g.must(ann, deleteItem, vars{"in": vars{"id": first}})
			own.wants("-" + first)
			public.wants("-" + first)

			bad := subscribe(g, ann, owner, own.cursor)
			bad.wants("!BAD_CURSOR")
			bad.wantsEnd()
			nobody := subscribe(g, ann, "u:acme:none", "")
			nobody.wants("!NOT_FOUND")
			nobody.wantsEnd()
		})
	}
}

// TestFollow_CrashLosesNoChange checks that a client that resumes receives the changes that a
// gateway made before it was killed, and those that the next process makes.
func TestFollow_CrashLosesNoChange(t *testing.T) {
	g := serve(t)
	ann, ben := g.user("acme", "ann", "PUBLIC"), g.user("acme", "ben", "PUBLIC")
	owner := "u:acme:ben"
	create := func(name string) {
		g.must(ann, createItem, vars{"in": vars{"name": name, "kind": "NOTE", "title": name, "visibility": "PUBLIC",
			"members": []vars{{"principalId": owner, "role": "VIEWER"}}}})
	}
	create("a")
	s := g.followByEvents(ben, owner, pageOf(g.must(ben, pageItems, vars{"id": owner})).End)
	s.wants("+c:acme:a a VIEWER")
	create("b")
	s.wants("+c:acme:b b VIEWER")
	create("c")
	g.must(ann, deleteItem, vars{"in": vars{"id": "c:acme:a"}})
	g.kill()
	g.start()
	create("d")
	again := g.followByEvents(ben, owner, s.cursor)
	again.wants("+c:acme:b b VIEWER", "+c:acme:c c VIEWER", "-c:acme:a", "+c:acme:d d VIEWER")
	create("e")
	again.wants("+c:acme:e e VIEWER")
	g.stop()
	again.wantsEnd()
}

// TestChanges_NameTheirActor checks that a change names its author to viewers who may see that
// user. Only the owner gets the author of a removal.
func TestChanges_NameTheirActor(t *testing.T) {
	g := serve(t)
	ann, ben, hid := g.user("acme", "ann", "PUBLIC"), g.user("acme", "ben", "PUBLIC"), g.user("acme", "hid", "PRIVATE")
	const document = `subscription($after: Cursor) { libraryChanged(principalId: "u:acme:ben", after: $after) {
		... on LibraryEntryPlaced { by { id } reason } ... on LibraryEntryRemoved { by { id } reason } } }`
	g.must(ann, createItem, vars{"in": vars{"name": "y", "kind": "NOTE", "title": "y", "visibility": "PUBLIC"}})
	g.must(ann, createItem, vars{"in": vars{"name": "w", "kind": "NOTE", "title": "w", "visibility": "PUBLIC",
		"members": []vars{{"principalId": "u:acme:ben", "role": "VIEWER"}}}})
	// A stream is open a moment before it follows the library. With a cursor it misses no change
	// in that moment.
	follow := func(token string) *subscription {
		return g.subscribeByEvents(token, document, vars{"after": pageOf(g.must(token, pageItems, vars{"id": "u:acme:ben"})).End})
	}
	owner, stranger := follow(ben), follow("")
	for _, s := range []*subscription{owner, stranger} { // the change at the cursor is delivered again
		if event, ok := s.next(); !ok || !bytes.Contains(event, []byte("SHARED")) {
			t.Fatalf("got %s, want the item that was shared before", event)
		}
	}
	want := func(s *subscription, want string) {
		t.Helper()
		event, ok := s.next()
		if !ok || string(event) != `{"data":{"libraryChanged":`+want+`}}` {
			t.Fatalf("got %s, want %s", event, want)
		}
	}
	g.must(ann, createItem, vars{"in": vars{"name": "x", "kind": "NOTE", "title": "x", "visibility": "PUBLIC",
		"members": []vars{{"principalId": "u:acme:ben", "role": "VIEWER"}}}})
	want(owner, `{"by":{"id":"u:acme:ann"},"reason":"SHARED"}`)
	want(stranger, `{"by":{"id":"u:acme:ann"},"reason":"SHARED"}`)
	g.must(hid, shareItem, vars{"in": vars{"contentId": "c:acme:y", "principalIds": []string{"u:acme:ben"}}})
	want(owner, `{"by":null,"reason":"SHARED"}`)
	want(stranger, `{"by":null,"reason":"SHARED"}`)
	g.must(ann, `mutation { deleteContent(input: {id: "c:acme:x"}) { userErrors { code } } }`, nil)
	want(owner, `{"by":{"id":"u:acme:ann"},"reason":"DELETED"}`)
	want(stranger, `{"by":null,"reason":null}`)
}
