package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"carrel/core/cursor"
	"carrel/library"
	"carrel/principal"
)

// pageQuery is the page that most sections measure: 20 edges with creator.
const pageQuery = `query Page($owner: ID!, $after: Cursor, $order: LibraryOrder) { user(id: $owner) { library(first: 20, after: $after, orderBy: $order) {
	edges { cursor node { id title link visibility lastModified createdBy { id displayName } } }
	pageInfo { hasNextPage endCursor } } } }`

// A pageSpec says which page of which library to read.
type pageSpec struct {
	query      string // pageQuery by default
	owner      principal.ID
	after      string // a cursor; empty for the first page
	descending bool
	order      string // LAST_MODIFIED by default
}

// The highest cost of a page, in pages of the floor: in one process, and over HTTP, where
// both include the cost of HTTP.
const (
	wantedOfFloor = 1.5
	wantedOverNet = 1.35
)

// orderNames are the orders in the API.
var orderNames = [...]string{library.ByChange: "LAST_MODIFIED", library.ByTitle: "TITLE"}

const (
	// wantedFlat is the highest cost of a page deep in a large library, in first pages of a smaller one.
	wantedFlat = 1.2
	deepPage   = 5000
	// wantedByTitle is the highest cost of a page by title, in the same pages by last change.
	wantedByTitle = 1.1
)

// measurePages compares a page of a handler written by hand with one of the whole gateway, in one
// process and without a network; then over HTTP, with another process as the client.
func measurePages(ctx context.Context, o *options, t *table) error {
	if err := seedLarge(ctx, o); err != nil {
		return err
	}
	g, err := open(ctx, storeIn(o.largeDir()), library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	whole, err := g.viaEdge(ctx, pageSpec{owner: mediumOwner})
	if err != nil {
		return err
	}
	changes, err := g.viaEdge(ctx, pageSpec{owner: mediumOwner, order: "LAST_MODIFIED"})
	if err != nil {
		return err
	}
	titles, err := g.viaEdge(ctx, pageSpec{owner: mediumOwner, order: "TITLE"})
	if err != nil {
		return err
	}
	var deep [2]func() error
	for i, order := range library.AllOrders {
		at, err := g.cursorBefore(ctx, largeOwner, order, min(deepPage, o.entries/pageSize-2))
		if err != nil {
			return err
		}
		if deep[i], err = g.viaEdge(ctx, pageSpec{owner: largeOwner, after: at, order: orderNames[order]}); err != nil {
			return err
		}
	}
	all, err := compare(
		subject{"floor", g.viaFloor(ctx, mediumOwner)},
		subject{"edge", whole},
		subject{"deep", deep[0]},
		subject{"changes", changes},
		subject{"titles", titles},
		subject{"deepTitles", deep[1]},
	)
	if err != nil {
		return err
	}
	printPages(t, all, o.entries)
	if err := g.close(); err != nil {
		return err
	}
	return measureOverHTTP(ctx, o, t)
}

// printPages prints the costs of a page of the floor, of the gateway, and of one deep in a library.
func printPages(t *table, all []series, entries int) {
	t.title("A page of 20 edges with creator, in one process (CPU a page, median of %d rounds in turns)", rounds)
	floor, edge, deep, changes, titles, deepTitles := all[0], all[1], all[2], all[3], all[4], all[5]
	text := func(s series) string { return s.micros(cpu).in("%.1f us") }
	t.figure("floor: a handler written by hand for this page", text(floor))
	t.ratio("the package edge, with authentication", text(edge), edge.times(floor, cpu), wantedOfFloor)
	t.ratio(fmt.Sprintf("page %d of a library of %d, compared with page 1 of %d", deepPage, entries, mediumSize),
		text(deep), deep.times(edge, cpu), wantedFlat)
	t.ratio("the same page 1 by title, compared with that by last change", text(titles), titles.times(changes, cpu), wantedByTitle)
	t.ratio(fmt.Sprintf("page %d by title, compared with that by last change", deepPage), text(deepTitles), deepTitles.times(deep, cpu),
		wantedByTitle)
	t.figure("allocations of the package edge", edge[0].allocated())
}

// allocated formats how often memory is allocated, and how much.
func (c cost) allocated() string { return fmt.Sprintf("%d, %.1f KB", c.allocs, float64(c.bytes)/1000) }

// A sink is a ResponseWriter that keeps the response, and is reused.
type sink struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newSink() *sink { return &sink{header: http.Header{}} }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { return s.body.Write(b) }

func (s *sink) reset() {
	clear(s.header)
	s.status = http.StatusOK
	s.body.Reset()
}

// viaFloor reads a page from the floor.
func (g *gateway) viaFloor(ctx context.Context, owner principal.ID) func() error {
	f, w := newFloor(g.store), newSink()
	return func() error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://gateway/?owner="+string(owner), nil)
		if err != nil {
			return err
		}
		w.reset()
		f.ServeHTTP(w, r)
		return whole(w.status, w.body.Bytes())
	}
}

// viaEdge posts the query through the package edge.
func (g *gateway) viaEdge(ctx context.Context, p pageSpec) (func() error, error) {
	return g.via(ctx, p.owner, pageBody(p), whole)
}

// viaQuery sends a query through the package edge as the viewer; the response must contain want.
func (g *gateway) viaQuery(ctx context.Context, viewer principal.ID, query, want string) (func() error, error) {
	return g.via(ctx, viewer, string(body(query, nil)), func(status int, got []byte) error {
		if status != http.StatusOK || !bytes.Contains(got, []byte(want)) || bytes.Contains(got, []byte(`"errors"`)) {
			return fmt.Errorf("status %d, not %s: %.300s", status, want, got)
		}
		return nil
	})
}

// via returns a function that posts a body through the package edge as the viewer, and checks the response.
func (g *gateway) via(ctx context.Context, viewer principal.ID, body string, check func(int, []byte) error) (func() error, error) {
	h, token, err := g.handler(viewer)
	if err != nil {
		return nil, err
	}
	w := newSink()
	return func() error {
		r, err := newPageRequest(ctx, "http://gateway/graphql", token, body)
		if err != nil {
			return err
		}
		w.reset()
		h.ServeHTTP(w, r)
		return check(w.status, w.body.Bytes())
	}, nil
}

// cursorBefore returns the cursor after which the n-th page starts.
func (g *gateway) cursorBefore(ctx context.Context, owner principal.ID, order library.Order, n int) (string, error) {
	size := cursor.MaxPageSize
	q := library.LibraryQuery{PageArgs: cursor.PageArgs{First: &size}, Order: order}
	for left := (n - 1) * pageSize; left > 0; left -= size {
		size = min(cursor.MaxPageSize, left)
		page, err := g.service.Listing.Library(ctx, &principal.Viewer{User: owner}, owner, q)
		if err != nil {
			return "", err
		}
		q.After = page.PageInfo.EndCursor()
	}
	if q.After == nil {
		return "", nil
	}
	return *q.After, nil
}

// body returns a request with a query and variables, as JSON.
func body(query string, variables any) []byte {
	b, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		panic(err) // strings are always encoded
	}
	return b
}

// pageBody returns the request for a page.
func pageBody(p pageSpec) string {
	variables := map[string]any{"owner": p.owner}
	if p.after != "" {
		variables["after"] = p.after
	}
	if p.descending || p.order != "" {
		direction := "ASC"
		if p.descending {
			direction = "DESC"
		}
		variables["order"] = map[string]string{"field": cmp.Or(p.order, orderNames[0]), "direction": direction}
	}
	return string(body(cmp.Or(p.query, pageQuery), variables))
}

func newPageRequest(ctx context.Context, url, token, body string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, io.NopCloser(strings.NewReader(body)))
	if err != nil {
		return nil, err
	}
	r.ContentLength = int64(len(body))
	r.Header.Set("Authorization", "Bearer "+token)
	// Go's client would accept a compressed page.
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Set("Content-Type", "application/json")
	return r, nil
}

// whole checks that a response is a full page without an error, so that a fast failure does
// not count as a fast page.
func whole(status int, body []byte) error {
	if n := bytes.Count(body, []byte(`"displayName"`)); status != http.StatusOK || n != pageSize || bytes.Contains(body, []byte(`"errors"`)) {
		return fmt.Errorf("not a page of %d: status %d, %d creators: %.300s", pageSize, status, n, body)
	}
	return nil
}
