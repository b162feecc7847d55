package resolvers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"carrel/auth"
	"carrel/edge"
)

// served is the gateway over HTTP, with eve as the viewer. Its documents are cached. If spent is
// not nil, it is called with the points that she pays.
func (g *gateway) served(spent func(signedIn bool, points float64)) http.Handler {
	g.t.Helper()
	h, err := edge.New(edge.Config{
		Schema:       g.exec,
		Authenticate: func(context.Context, []string) (auth.Caller, error) { return auth.Caller{User: "u:acme:eve"}, nil },
		Limits:       edge.DefaultLimits(),
		Log:          slog.New(slog.DiscardHandler),
		Random:       func([]byte) {},
		Spent:        spent,
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return h
}

// post returns the answer of a handler to a query.
func post(t *testing.T, h http.Handler, query string, variables map[string]any) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/graphql", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Body.String()
}

type given = map[string]any

// documents are queries with the variables of several requests, whose answers are all different.
var documents = map[string]struct {
	query    string
	requests []given
}{
	"page sizes":      {`query($n: Int) { viewer { library(first: $n) { nodes { id } } } }`, []given{{"n": 1}, {"n": 3}, {}}},
	"both directions": {`query($f: Int, $l: Int) { viewer { library(first: $f, last: $l) { nodes { id } pageInfo { hasPreviousPage hasNextPage } } } }`, []given{{"f": 2}, {"l": 2}}},
	"the order": {`query($o: LibraryOrder) { viewer { library(first: 2, orderBy: $o) { nodes { id } } } }`,
		[]given{{}, {"o": given{"field": "LAST_MODIFIED", "direction": "DESC"}}}},
	"a skipped field": {`query($x: Boolean!) { viewer { library(first: 2) { nodes { id title @skip(if: $x) } } } }`,
		[]given{{"x": true}, {"x": false}}},
	"an included fragment": {`query($x: Boolean!) { viewer { library(first: 2) { nodes { id ...f @include(if: $x) } } } } fragment f on Content { viewerRole }`,
		[]given{{"x": false}, {"x": true}}},
	"an included inline fragment": {`query($x: Boolean!) { viewer { library(first: 2) { bucket ... @include(if: $x) { nodes { createdBy { id } } } } } }`,
		[]given{{"x": false}, {"x": true}}},
	"a condition in a fragment": {`query($x: Boolean!) { viewer { library(first: 2) { ...f } } } fragment f on LibraryConnection { bucket count @include(if: $x) { value } }`,
		[]given{{"x": true}, {"x": false}}},
	"a condition elsewhere": {`query($x: Boolean!) { viewer { id @include(if: $x) library(first: 2) { nodes { id } } } }`,
		[]given{{"x": true}, {"x": false}}},
	"a page in two parts": {`query($n: Int) { viewer { library(first: $n) { nodes { id } } ...f } } fragment f on User { library(first: $n) { nodes { title } } }`, []given{{"n": 1}, {"n": 2}}},
	"what is not planned": {`query($n: Int) { viewer { library(first: $n) { nodes { id createdBy { email } viewerCanShare } } } }`,
		[]given{{"n": 1}, {"n": 2}}},
	"a page below a page": {`query($n: Int) { viewer { library(first: 1) { nodes { createdBy { library(first: $n) { nodes { id } } } } } } }`,
		[]given{{"n": 1}, {"n": 2}}},
}

// TestCachedDocument_AnswersAsOneThatIsNew: what is cached of a document depends on nothing that
// differs between its requests.
func TestCachedDocument_AnswersAsOneThatIsNew(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(7)
	for name, c := range documents {
		t.Run(name, func(t *testing.T) {
			warm, seen := g.served(nil), map[string]bool{}
			for range 2 {
				for _, variables := range c.requests {
					want, got := post(t, g.served(nil), c.query, variables), post(t, warm, c.query, variables)
					if got != want {
						t.Errorf("%v: got %s, want %s", variables, got, want)
					}
					seen[want] = true
				}
			}
			if len(seen) != len(c.requests) {
				t.Errorf("only %d of %d answers differ: the case checks nothing", len(seen), len(c.requests))
			}
		})
	}
}

// TestCachedDocument_IsSharedByRequests runs concurrent requests with one document.
func TestCachedDocument_IsSharedByRequests(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(7)
	h := g.served(nil)
	for _, c := range documents {
		var all sync.WaitGroup
		for _, variables := range c.requests {
			want := post(t, g.served(nil), c.query, variables)
			for range 4 {
				all.Go(func() {
					if got := post(t, h, c.query, variables); got != want {
						t.Errorf("got %s, want %s", got, want)
					}
				})
			}
		}
		all.Wait()
	}
}
