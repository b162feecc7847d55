package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"

	"carrel/answer"
	"carrel/auth"
	"carrel/core/cursor"
	"carrel/edge"
	"carrel/graph"
	"carrel/library"
	"carrel/principal"
	"carrel/resolvers"
)

// pageQuery is the page that most sections measure: 20 edges with creator.
const pageQuery = `query Page($owner: ID!, $after: Cursor, $order: LibraryOrder) { user(id: $owner) { library(first: 20, after: $after, orderBy: $order) {
	edges { cursor node { id title link visibility lastModified createdBy { id displayName } } }
	pageInfo { hasNextPage endCursor } } } }`

// A pageSpec says which page of which library to read.
type pageSpec struct {
	owner      principal.ID
	after      string // a cursor; empty for the first page
	descending bool
}

// The highest cost of a page, in pages of the floor: in one process, and over HTTP, where
// both include the cost of HTTP.
const (
	wantedOfFloor = 1.5
	wantedOverNet = 1.35
)

const (
	// wantedFlat is the highest cost of a page deep in a large library, in first pages of a smaller one.
	wantedFlat = 1.2
	deepPage   = 5000
)

// measurePages compares the ways to read a page, from the bare store to the whole
// gateway, in one process and without a network; then the first and the last of them over
// HTTP, with another process as the client.
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
	inside, err := g.viaExecutor(ctx, mediumOwner)
	if err != nil {
		return err
	}
	planned, err := g.viaPlan(ctx, mediumOwner)
	if err != nil {
		return err
	}
	at, err := g.cursorBefore(ctx, largeOwner, min(deepPage, o.entries/pageSize-2))
	if err != nil {
		return err
	}
	deep, err := g.viaEdge(ctx, pageSpec{owner: largeOwner, after: at})
	if err != nil {
		return err
	}
	all, err := compare(
		subject{"floor", g.viaFloor(ctx, mediumOwner)},
		subject{"service", g.viaService(ctx, pageSpec{owner: mediumOwner})},
		subject{"executor", inside},
		subject{"plan", planned},
		subject{"edge", whole},
		subject{"deep", deep},
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

// printPages prints the costs of the ways to read a page, of which the first is the floor.
func printPages(t *table, all []series, entries int) {
	t.title("A page of 20 edges with creator, in one process (CPU a page, median of %d rounds in turns)", rounds)
	floor, edge, deep := all[0], all[4], all[5]
	text := func(s series) string { return s.micros(cpu).in("%.1f us") }
	t.figure("floor: a handler written by hand for this page", text(floor))
	for i, name := range []string{"the Service alone", "the Service under gqlgen's executor", "the Service under the plan of the operation"} {
		t.ratio(name, text(all[i+1]), all[i+1].times(floor, cpu), 0)
	}
	t.ratio("the package edge, with authentication", text(edge), edge.times(floor, cpu), wantedOfFloor)
	t.ratio(fmt.Sprintf("page %d of a library of %d, compared with page 1 of %d", deepPage, entries, mediumSize),
		text(deep), deep.times(edge, cpu), wantedFlat)
	t.figure("allocations: the floor", floor[0].allocated())
	t.figure("allocations: the package edge", edge[0].allocated())
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

// viaService reads a page from the domain, and seals the cursors of its response.
func (g *gateway) viaService(ctx context.Context, p pageSpec) func() error {
	first, owner := pageSize, p.owner
	q := library.LibraryQuery{PageArgs: cursor.PageArgs{First: &first}, Descending: p.descending}
	if p.after != "" {
		q.After = &p.after
	}
	return func() error {
		v := &principal.Viewer{User: owner}
		if _, err := g.service.People.Principals(ctx, v, []principal.ID{owner}); err != nil {
			return err
		}
		page, err := g.service.Listing.Library(ctx, v, owner, q)
		if err != nil {
			return err
		}
		authors := make([]principal.ID, 0, pageSize)
		for _, e := range page.Edges {
			authors = append(authors, e.Node.Creator)
			_ = e.Cursor()
		}
		_ = page.PageInfo.EndCursor()
		people, err := g.service.People.Principals(ctx, v, authors)
		if err == nil && (len(people) != pageSize || people[0] == nil) {
			err = fmt.Errorf("a page of %d edges with %d creators", len(page.Edges), len(people))
		}
		return err
	}
}

// viaExecutor executes a parsed document with gqlgen, as the edge does for documents
// without a plan.
func (g *gateway) viaExecutor(ctx context.Context, owner principal.ID) (func() error, error) {
	exec := executor.New(g.schema())
	operation, err := parsedPage(ctx, exec, owner)
	if err != nil {
		return nil, err
	}
	return func() error {
		respond, ctx := exec.DispatchOperation(auth.WithViewer(ctx, &principal.Viewer{User: owner}), operation())
		resp := respond(ctx)
		if len(resp.Errors) > 0 {
			return resp.Errors
		}
		return whole(http.StatusOK, resp.Data)
	}, nil
}

// viaPlan answers a parsed document by its plan, as the edge does.
func (g *gateway) viaPlan(ctx context.Context, owner principal.ID) (func() error, error) {
	schema := g.schema()
	operation, err := parsedPage(ctx, executor.New(schema), owner)
	if err != nil {
		return nil, err
	}
	limits := edge.DefaultLimits()
	pages, memory := graph.NewPages(pageQuery), answer.NewMemory(limits.AnswerMemory, limits.AnswerBytes)
	return func() error {
		body := answer.New(limits.AnswerBytes, memory, string(owner), nil)
		defer body.Release()
		r := &graph.Request{Op: operation(), Pages: pages, Body: body}
		if answered, _ := schema.Answer(auth.WithViewer(ctx, &principal.Viewer{User: owner}), r); !answered || len(body.Chunks()) != 1 {
			return fmt.Errorf("the plan did not answer the page: %v", body.Err())
		}
		return whole(http.StatusOK, body.Chunks()[0])
	}, nil
}

// schema returns the API on the gateway's Services, ready to execute.
func (g *gateway) schema() graph.ExecutableSchema {
	return resolvers.NewSchema(&resolvers.Root{Services: resolvers.Services{People: g.service.People, Library: g.service.Library, Listing: g.service.Listing, Pages: g.service.Pages, Pastes: g.pastes}})
}

// parsedPage parses the query of the page once, and returns operations of it.
func parsedPage(ctx context.Context, exec *executor.Executor, owner principal.ID) (func() *graphql.OperationContext, error) {
	params := &graphql.RawParams{Query: pageQuery, Variables: map[string]any{"owner": string(owner)}}
	parsed, errs := exec.CreateOperationContext(graphql.StartOperationTrace(ctx), params)
	if errs != nil {
		return nil, errs
	}
	return func() *graphql.OperationContext {
		return &graphql.OperationContext{
			RawQuery: pageQuery, Variables: parsed.Variables, Doc: parsed.Doc, Operation: parsed.Operation,
			RecoverFunc:            graphql.DefaultRecover,
			ResolverMiddleware:     func(ctx context.Context, next graphql.Resolver) (any, error) { return next(ctx) },
			RootResolverMiddleware: func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler { return next(ctx) },
		}
	}, nil
}

// viaEdge posts the query through the package edge.
func (g *gateway) viaEdge(ctx context.Context, p pageSpec) (func() error, error) {
	h, token, err := g.handler(p.owner)
	if err != nil {
		return nil, err
	}
	body := pageBody(p)
	w := newSink()
	return func() error {
		r, err := newPageRequest(ctx, "http://gateway/graphql", token, body)
		if err != nil {
			return err
		}
		w.reset()
		h.ServeHTTP(w, r)
		return whole(w.status, w.body.Bytes())
	}, nil
}

// viaQuery sends a query through the package edge as the viewer; the response must contain want.
func (g *gateway) viaQuery(ctx context.Context, viewer principal.ID, query, want string) (func() error, error) {
	h, token, err := g.handler(viewer)
	if err != nil {
		return nil, err
	}
	text, w := string(body(query, nil)), newSink()
	return func() error {
		r, err := newPageRequest(ctx, "http://gateway/graphql", token, text)
		if err != nil {
			return err
		}
		w.reset()
		h.ServeHTTP(w, r)
		if got := w.body.Bytes(); w.status != http.StatusOK || !bytes.Contains(got, []byte(want)) || bytes.Contains(got, []byte(`"errors"`)) {
			return fmt.Errorf("status %d, not %s: %.300s", w.status, want, got)
		}
		return nil
	}, nil
}

// cursorBefore returns the cursor after which the n-th page starts.
func (g *gateway) cursorBefore(ctx context.Context, owner principal.ID, n int) (string, error) {
	size := cursor.MaxPageSize
	q := library.LibraryQuery{PageArgs: cursor.PageArgs{First: &size}}
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

// pageBody returns the request for a page.
func pageBody(p pageSpec) string {
	variables := map[string]any{"owner": p.owner}
	if p.after != "" {
		variables["after"] = p.after
	}
	if p.descending {
		variables["order"] = map[string]string{"field": "LAST_MODIFIED", "direction": "DESC"}
	}
	return string(body(pageQuery, variables))
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
