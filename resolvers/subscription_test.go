package resolvers_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/auth"
	"carrel/core/fault"
	"carrel/edge"
	"carrel/graph"
	"carrel/principal"
)

const followQuery = `subscription($id: ID!) { libraryChanged(principalId: $id) {
	... on LibraryEntryPlaced { edge { node { id createdBy { id } } } } ... on LibraryEntryRemoved { contentId } } }`

// paid pays for an event.
func paid() bool { return true }

// following is a subscription of a viewer.
type following struct {
	graph.Source
	g         *gateway
	execution *graph.Execution
}

// next returns the next event as it is answered to the viewer; "" at the end.
func (f *following) next(ctx context.Context, pay func() bool) (string, error) {
	event, err := f.Next(ctx, pay)
	if event == nil || err != nil {
		return "", err
	}
	f.execution.Event, f.execution.Body = event, unlimited()
	if errs := f.g.exec.Execute(ctx, f.execution); len(errs) > 0 {
		f.g.t.Error(errs)
	}
	return written(f.execution), nil
}

// follow starts a subscription of v to the library of owner, until ctx ends.
func (g *gateway) follow(ctx context.Context, v *principal.Viewer, owner string) (*following, gqlerror.List) {
	g.t.Helper()
	e := g.execution(v, followQuery, map[string]any{"id": owner})
	source, errs := g.exec.Subscribe(ctx, e)
	return &following{source, g, e}, errs
}

// stream follows the library of owner over HTTP until ctx ends. The caller closes the returned
// body.
func (g *gateway) stream(ctx context.Context, server *httptest.Server, owner string) io.ReadCloser {
	g.t.Helper()
	body, err := json.Marshal(map[string]any{"query": followQuery, "variables": map[string]any{"id": owner}})
	if err != nil {
		g.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, bytes.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	resp, err := server.Client().Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.Body
}

func TestSubscription_ReturnsEachEventOnce(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	ctx, cancel := context.WithCancel(t.Context())
	sub, errs := g.follow(ctx, as("u:acme:eve"), "u:acme:eve")
	if errs != nil {
		t.Fatal(errs)
	}
	middleware := reflect.ValueOf(sub.execution.ResolverMiddleware).Pointer()
	for _, item := range []string{"one", "two"} {
		g.link(as("u:acme:ann"), item, "u:acme:eve")
		sub.Await(ctx)
		got, err := sub.next(ctx, paid)
		want := `{"libraryChanged":{"edge":{"node":{"id":"c:acme:` + item + `","createdBy":{"id":"u:acme:ann"}}}}}`
		if got != want || err != nil {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	if n := len(g.spy.contents); n != 0 {
		t.Errorf("the item of an event was read %d more times", n)
	}
	if reflect.ValueOf(sub.execution.ResolverMiddleware).Pointer() != middleware {
		t.Error("each event adds a middleware")
	}
	cancel()
	sub.Await(ctx)
	if got, err := sub.next(ctx, paid); got != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("after its context has ended: %s, %v", got, err)
	}
}

// TestSubscription_AnErrorBelowMakesTheEventNull: its field is not nullable, nor is anything on the way to it.
func TestSubscription_AnErrorBelowMakesTheEventNull(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	e := g.execution(as("u:acme:eve"), `subscription { libraryChanged(principalId: "u:acme:eve") {
		... on LibraryEntryPlaced { edge { node { members(after: "bad") { totalCount } } } } } }`, nil)
	source, errs := g.exec.Subscribe(t.Context(), e)
	if errs != nil {
		t.Fatal(errs)
	}
	g.link(as("u:acme:ann"), "one", "u:acme:eve")
	source.Await(t.Context())
	event, err := source.Next(t.Context(), paid)
	if err != nil {
		t.Fatal(err)
	}
	e.Event, e.Body = event, unlimited()
	errs = g.exec.Execute(t.Context(), e)
	if got := written(e); got != "null" || len(errs) != 1 || errs[0].Path.String() != "libraryChanged.edge.node.members" {
		t.Errorf("got %s with %v", got, errs)
	}
}

// TestSubscription_AwaitReturnsWithTheEvent: Await only waits for an event, and Next still returns
// it.
func TestSubscription_AwaitReturnsWithTheEvent(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sub, errs := g.follow(ctx, as("u:acme:eve"), "u:acme:eve")
	if errs != nil {
		t.Fatal(errs)
	}
	awaited := make(chan struct{})
	go func() {
		defer close(awaited)
		sub.Await(ctx)
	}()
	select {
	case <-awaited:
		t.Error("Await has returned without an event")
	case <-time.After(50 * time.Millisecond):
	}
	g.link(as("u:acme:ann"), "one", "u:acme:eve")
	<-awaited
	if got, err := sub.next(ctx, paid); !strings.Contains(got, "c:acme:one") {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestSubscription_EndsItsFollower: a follower that is not closed would stay registered with its
// library and receive its changes as long as the process runs.
func TestSubscription_EndsItsFollower(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, errs := g.follow(ctx, as("u:acme:eve"), "u:acme:eve"); errs != nil {
		t.Fatal(errs)
	}
	await(t, g.following.more)
	cancel()
	await(t, g.following.fewer)
}

// TestSubscription_EndsWithItsRequest: after a client disconnects, its follower is gone.
func TestSubscription_EndsWithItsRequest(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	server := httptest.NewServer(g.served(nil))
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	stream := g.stream(ctx, server, "u:acme:eve")
	defer func() { _ = stream.Close() }()
	await(t, g.following.more)
	leave()
	await(t, g.following.fewer)
}

// await waits for an event that must happen, or fails the test.
func await(t *testing.T, happened <-chan struct{}) {
	t.Helper()
	select {
	case <-happened:
	case <-time.After(10 * time.Second):
		t.Fatal("the event did not happen in time")
	}
}

// TestSubscription_BillsItsViewer: resolving the groups of a follower is charged to the viewer of
// the event that required it.
func TestSubscription_BillsItsViewer(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	g.must(as("u:acme:eve"), `mutation { createGroup(input: {tenant: "acme", name: "all", displayName: "all"}) { userErrors { message } } }`)
	sub, errs := g.follow(t.Context(), as("u:acme:eve"), "g:acme:all")
	if errs != nil {
		t.Fatal(errs)
	}
	g.link(as("u:acme:eve"), "one", "g:acme:all")
	sub.execution.Viewer = as("u:acme:eve")
	if got, err := sub.next(t.Context(), paid); got == "" {
		t.Fatalf("there is no event: %v", err)
	}
	if resolutions, _ := sub.execution.Viewer.Resolved(); resolutions != 1 {
		t.Errorf("charged for resolving groups %d times", resolutions)
	}
}

// TestSubscription_BillsItsStart: the groups that are resolved to authorize the viewer are charged
// when the subscription starts, not with its first event.
func TestSubscription_BillsItsStart(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	g.must(as("u:acme:eve"), `mutation { createGroup(input: {tenant: "acme", name: "all", displayName: "all"}) { userErrors { message } } }`)
	paid := make(chan float64, 10)
	server := httptest.NewServer(g.served(func(_ bool, points float64) { paid <- points }))
	defer server.Close()
	stream := g.stream(t.Context(), server, "g:acme:all")
	defer func() { _ = stream.Close() }()
	for what, want := range []float64{1, 5} { // the request; the groups
		select {
		case points := <-paid:
			if points != want {
				t.Errorf("payment %d is %g points, want %g", what, points, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("payment %d was not made", what)
		}
	}
}

// TestSubscription_ErrorEndsIt: one that may not see the owner any more gets an error.
func TestSubscription_ErrorEndsIt(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	sub, errs := g.follow(t.Context(), as("u:acme:ann"), "u:acme:eve")
	if errs != nil {
		t.Fatal(errs)
	}
	g.must(admin(), `mutation { updateUser(input: {id: "u:acme:eve", visibility: PRIVATE}) { userErrors { message } } }`)
	g.link(as("u:acme:eve"), "one")
	sub.Await(t.Context())
	if got, err := sub.next(t.Context(), paid); got != "" || fault.CodeOf(err) != fault.NotFound {
		t.Errorf("got %s with %v, want an error", got, err)
	}
}

func TestSubscription_RefusedDoesNotStart(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	for _, owner := range []string{"u:acme:nobody", "u:acme:ghost", "eve"} {
		if sub, errs := g.follow(t.Context(), as("u:acme:ann"), owner); sub.Source != nil || len(errs) != 1 {
			t.Errorf("%s: got %v with %v, want one error", owner, sub.Source, errs)
		}
	}
}

// servedTo is the gateway over HTTP for anonymous callers, whose addresses have new accounts of so many
// points.
func (g *gateway) servedTo(points int) *httptest.Server {
	g.t.Helper()
	limits := edge.DefaultLimits()
	limits.AddressPoints = points
	h, err := edge.New(edge.Config{
		Schema:       g.exec,
		Authenticate: func(context.Context, []string) (auth.Caller, error) { return auth.Caller{}, nil },
		Limits:       limits,
		Log:          slog.New(slog.DiscardHandler),
		Random:       func([]byte) {},
	})
	if err != nil {
		g.t.Fatal(err)
	}
	server := httptest.NewServer(h)
	g.t.Cleanup(server.Close)
	return server
}

// outOfPoints subscribes after a cursor, with an account of so many points, until the account is empty. It returns
// the ids in the events, and the cursor of the end; "" if the last id has come before.
func (g *gateway) outOfPoints(points int, query, after, last string) (ids []string, cursor string) {
	g.t.Helper()
	server := g.servedTo(points)
	body, err := json.Marshal(map[string]any{"query": query, "variables": map[string]any{"after": after}})
	if err != nil {
		g.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, server.URL, bytes.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	resp, err := server.Client().Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	id := regexp.MustCompile(`"id":"([^"]*)"`)
	end := regexp.MustCompile(`"code":"RATE_LIMITED","cursor":"([^"]*)"`)
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if found := id.FindStringSubmatch(lines.Text()); found != nil {
			if ids = append(ids, found[1]); found[1] == last {
				return ids, ""
			}
		}
		if found := end.FindStringSubmatch(lines.Text()); found != nil {
			return ids, found[1]
		}
	}
	g.t.Fatalf("the stream ended after %v", ids)
	return nil, ""
}

// TestSubscription_ReplaysArePaid: what a subscription has missed costs as much as the same queries. An account
// that pays for some of it ends the subscription with a cursor, and others after that cursor get the rest.
func TestSubscription_ReplaysArePaid(t *testing.T) {
	const missed = 12
	paste := func(g *gateway, n int) string {
		a := g.must(&principal.Viewer{},
			`mutation($t: String!) { createPaste(input: {title: $t, body: "b"}) { paste { id } userErrors { message } } }`, "t", fmt.Sprint(n))
		return a.data["createPaste"].(map[string]any)["paste"].(map[string]any)["id"].(string)
	}
	item := func(g *gateway, n int) string {
		g.link(as("u:acme:ann"), fmt.Sprint("item", n), "u:acme:eve")
		return fmt.Sprint("c:acme:item", n)
	}
	for name, c := range map[string]struct {
		create       func(g *gateway, n int) string
		first, query string
	}{
		"pastes": {paste, `{ latestPastes(first: 1) { pageInfo { endCursor } } }`,
			`subscription($after: Cursor!) { pasteCreated(after: $after) { id body } }`},
		"libraries": {item, `{ latestPastes: user(id: "u:acme:eve") { library(first: 1) { pageInfo { endCursor } } } }`,
			`subscription($after: Cursor!) { libraryChanged(principalId: "u:acme:eve", after: $after) { ... on LibraryEntryPlaced { edge { node { id } } } } }`},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			g.fillLibrary(0)
			c.create(g, 0)
			page, _ := g.must(&principal.Viewer{}, c.first).data["latestPastes"].(map[string]any)
			if library, ok := page["library"].(map[string]any); ok {
				page = library
			}
			after, _ := page["pageInfo"].(map[string]any)["endCursor"].(string)
			var want []string
			for n := range missed {
				want = append(want, c.create(g, n+1))
			}
			last := want[missed-1]
			got, cursor := g.outOfPoints(16, c.query, after, last)
			if len(got) == 0 || len(got) > 6 || cursor == "" {
				t.Fatalf("got %v and the cursor %q for 16 points", got, cursor)
			}
			again, _ := g.outOfPoints(1000, c.query, cursor, last)
			for _, id := range want {
				if !slices.Contains(got, id) && !slices.Contains(again, id) {
					t.Errorf("%s is lost", id)
				}
			}
		})
	}
}

// TestSubscription_HiddenChangesCostNothing: what a viewer pays does not show how many items are in a library that it
// may not see.
func TestSubscription_HiddenChangesCostNothing(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	sub, errs := g.follow(t.Context(), as("u:acme:bob"), "u:acme:eve")
	if errs != nil {
		t.Fatal(errs)
	}
	for n := range 5 {
		g.must(as("u:acme:ann"),
			`mutation($n: String!) { createContent(input: {name: $n, kind: NOTE, visibility: PRIVATE, title: $n, members: [{principalId: "u:acme:eve", role: VIEWER}]}) { userErrors { message } } }`, "n", fmt.Sprint("hidden", n))
	}
	g.link(as("u:acme:ann"), "shown", "u:acme:eve")
	payments := 0
	got, err := sub.next(t.Context(), func() bool { payments++; return true })
	if !strings.Contains(got, "c:acme:shown") || payments != 1 {
		t.Errorf("got %s, %v for %d payments", got, err, payments)
	}
	// An event that is not paid for is not computed.
	g.link(as("u:acme:ann"), "unpaid", "u:acme:eve")
	if got, err := sub.next(t.Context(), func() bool { return false }); got != "" || err != nil || sub.Cursor() == "" {
		t.Errorf("without payment: %s, %v", got, err)
	}
}
