package resolvers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/auth"
	"carrel/graph"
	"carrel/principal"
)

const followQuery = `subscription($id: ID!) { libraryChanged(principalId: $id) {
	... on LibraryEntryPlaced { edge { node { id createdBy { id } } } } ... on LibraryEntryRemoved { contentId } } }`

// viewing returns the context for one answer to v, as the edge creates it.
func viewing(ctx context.Context, v *principal.Viewer) context.Context {
	return graphql.WithResponseContext(auth.WithViewer(ctx, v), graphql.DefaultErrorPresenter, graphql.DefaultRecover)
}

// follow starts a subscription of v to the library of owner, until ctx ends.
func (g *gateway) follow(ctx context.Context, v *principal.Viewer, owner string) (graph.Subscription, context.Context, gqlerror.List) {
	g.t.Helper()
	op, errs := g.exec.CreateOperationContext(graphql.StartOperationTrace(ctx), &graphql.RawParams{Query: followQuery, Variables: map[string]any{"id": owner}})
	if errs != nil {
		g.t.Fatal(errs)
	}
	ctx = graphql.WithOperationContext(ctx, op)
	sub, errs := g.executable.Subscribe(viewing(ctx, v))
	return sub, ctx, errs
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
	sub, ctx, errs := g.follow(ctx, as("u:acme:eve"), "u:acme:eve")
	if errs != nil {
		t.Fatal(errs)
	}
	for _, item := range []string{"one", "two"} {
		g.link(as("u:acme:ann"), item, "u:acme:eve")
		sub.Await(ctx)
		resp := sub.Next(viewing(ctx, as("u:acme:eve")))
		want := `{"libraryChanged":{"edge":{"node":{"id":"c:acme:` + item + `","createdBy":{"id":"u:acme:ann"}}}}}`
		if resp == nil || string(resp.Data) != want {
			t.Errorf("got %+v, want %s", resp, want)
		}
	}
	if n := len(g.spy.contents); n != 0 {
		t.Errorf("the item of an event was read %d more times", n)
	}
	cancel()
	sub.Await(ctx)
	if resp := sub.Next(viewing(ctx, as("u:acme:eve"))); resp != nil {
		t.Errorf("after its context has ended: %s", resp.Data)
	}
}

// TestSubscription_AwaitReturnsWithTheEvent: Await only waits for an event, and Next still returns
// it.
func TestSubscription_AwaitReturnsWithTheEvent(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sub, ctx, errs := g.follow(ctx, as("u:acme:eve"), "u:acme:eve")
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
	if resp := sub.Next(viewing(ctx, as("u:acme:eve"))); resp == nil || !strings.Contains(string(resp.Data), "c:acme:one") {
		t.Errorf("got %+v", resp)
	}
}

// TestSubscription_EndsItsFollower: a follower that is not closed would stay registered with its
// library and receive its changes as long as the process runs.
func TestSubscription_EndsItsFollower(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, _, errs := g.follow(ctx, as("u:acme:eve"), "u:acme:eve"); errs != nil {
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
	sub, ctx, errs := g.follow(t.Context(), as("u:acme:eve"), "g:acme:all")
	if errs != nil {
		t.Fatal(errs)
	}
	g.link(as("u:acme:eve"), "one", "g:acme:all")
	viewer := as("u:acme:eve")
	if resp := sub.Next(viewing(ctx, viewer)); resp == nil {
		t.Fatal("there is no event")
	}
	if rounds, groups := viewer.Resolved(); rounds == 0 || groups == 0 {
		t.Errorf("charged for %d rounds and %d groups", rounds, groups)
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
	for what, want := range []float64{1, 2.05} { // the request; two rounds, and one group
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

// TestSubscription_ErrorEndsIt: the error is the last event, and later calls of Next return at
// once.
func TestSubscription_ErrorEndsIt(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	sub, ctx, errs := g.follow(t.Context(), as("u:acme:ann"), "u:acme:eve")
	if errs != nil {
		t.Fatal(errs)
	}
	g.must(admin(), `mutation { updateUser(input: {id: "u:acme:eve", visibility: PRIVATE}) { userErrors { message } } }`)
	g.link(as("u:acme:eve"), "one")
	sub.Await(ctx)
	event := viewing(ctx, as("u:acme:ann"))
	if resp := sub.Next(event); resp == nil || string(resp.Data) != "null" || len(graphql.GetErrors(event)) != 1 {
		t.Errorf("got %+v with %v, want null and one error", resp, graphql.GetErrors(event))
	}
	sub.Await(ctx)
	if resp := sub.Next(viewing(ctx, as("u:acme:ann"))); resp != nil {
		t.Errorf("after the error: %s", resp.Data)
	}
}

func TestSubscription_RefusedDoesNotStart(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(0)
	for _, owner := range []string{"u:acme:nobody", "u:acme:ghost", "eve"} {
		if sub, _, errs := g.follow(t.Context(), as("u:acme:ann"), owner); sub != nil || len(errs) != 1 {
			t.Errorf("%s: got %v with %v, want one error", owner, sub, errs)
		}
	}
}

func TestExec_AnswersOnce(t *testing.T) {
	g := newGateway(t)
	op, errs := g.exec.CreateOperationContext(graphql.StartOperationTrace(t.Context()), &graphql.RawParams{Query: `{ viewer { id } }`})
	if errs != nil {
		t.Fatal(errs)
	}
	ctx := viewing(graphql.WithOperationContext(t.Context(), op), as("u:acme:eve"))
	respond := g.executable.Exec(ctx)
	if first, second := respond(ctx), respond(ctx); first == nil || second != nil {
		t.Errorf("got %+v, and then %+v", first, second)
	}
}

func TestExec_RefusesASubscription(t *testing.T) {
	g := newGateway(t)
	op, errs := g.exec.CreateOperationContext(graphql.StartOperationTrace(t.Context()), &graphql.RawParams{Query: followQuery, Variables: map[string]any{"id": "u:acme:eve"}})
	if errs != nil {
		t.Fatal(errs)
	}
	ctx := viewing(graphql.WithOperationContext(t.Context(), op), as("u:acme:eve"))
	if resp := g.executable.Exec(ctx)(ctx); len(resp.Errors) != 1 || resp.Data != nil {
		t.Errorf("got %+v, want one error", resp)
	}
}
