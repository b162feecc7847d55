package resolvers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
	"go.uber.org/goleak"

	answers "carrel/answer"
	"carrel/core/journal"
	"carrel/core/naming"
	"carrel/core/sched"
	"carrel/dataloader"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/graph"
	"carrel/library"
	"carrel/library/listing"
	"carrel/observe"
	"carrel/pebblestore"
	"carrel/principal"
	"carrel/resolvers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gateway is the schema on the real domain and a real store, without HTTP.
type gateway struct {
	t   testing.TB
	spy *spy
	// schema is the schema of its answers.
	schema    *ast.Schema
	exec      graph.Executor
	slow      graph.Executor // the same without plans
	following followers
}

// followers counts the current followers of libraries.
type followers struct {
	*observe.Metrics
	more, fewer chan struct{}
}

// FanOut implements library.Watcher.
func (followers) FanOut(ctx context.Context, _ []context.Context) (context.Context, func(error)) {
	return ctx, func(error) {}
}

// Follows implements library.Watcher.
func (f followers) Follows(n int) {
	changed := f.more
	if n < 0 {
		changed = f.fewer
	}
	changed <- struct{}{}
}

// spy passes calls on to the Services and records them.
type spy struct {
	*domain.Services
	// denies replaces the permissions and counts by errors.
	denies      bool
	local       bool // begins no page before it is read
	mu          sync.Mutex
	pages       []requestedPage
	begun       []requestedPage // by Begin
	principals  [][]principal.ID
	permissions [][]library.ContentID
	contents    [][]library.ContentID
	nodes       [][]string
	counts      int
}

// spiedPeople, spiedItems and spiedListing are the Services whose calls a spy records.
type (
	spiedPeople struct {
		*principal.Service
		s *spy
	}
	spiedItems struct {
		*library.Service
		s *spy
	}
	spiedListing struct {
		*listing.Service
		s *spy
	}
)

// services returns the Services for the resolvers.
func (s *spy) services() resolvers.Services {
	return resolvers.Services{
		People: s.People, Library: s.Library, PeopleByID: spiedPeople{s.People, s}, ItemsByID: spiedItems{s.Library, s},
		Listing: spiedListing{s.Listing, s},
		Feed:    s.Feed, Repair: s.Repair, Notes: s.Notes, Pastes: s.Pastes, Leases: s.Leases,
	}
}

// requestedPage is a requested page.
type requestedPage struct {
	Owner principal.ID
	Query library.LibraryQuery
}

func (r spiedListing) Library(ctx context.Context, v *principal.Viewer, owner principal.ID,
	q library.LibraryQuery) (*library.LibraryConnection, error) {
	r.s.mu.Lock()
	r.s.pages = append(r.s.pages, requestedPage{owner, q})
	r.s.mu.Unlock()
	q.WithPermissions = q.WithPermissions && !r.s.denies // so that they are loaded
	return r.Service.Library(ctx, v, owner, q)
}

func (r spiedListing) Begin(ctx context.Context, v *principal.Viewer, owner principal.ID,
	q library.LibraryQuery) func(context.Context) (*library.LibraryConnection, error) {
	if r.s.local {
		return func(ctx context.Context) (*library.LibraryConnection, error) { return r.Library(ctx, v, owner, q) }
	}
	page := requestedPage{owner, q}
	r.s.mu.Lock()
	r.s.begun = append(r.s.begun, page)
	r.s.mu.Unlock()
	q.WithPermissions = q.WithPermissions && !r.s.denies // so that they are loaded
	read := r.Service.Begin(ctx, v, owner, q)
	return func(ctx context.Context) (*library.LibraryConnection, error) {
		r.s.mu.Lock()
		r.s.pages = append(r.s.pages, page)
		r.s.mu.Unlock()
		return read(ctx)
	}
}

func (r spiedPeople) Principals(ctx context.Context, v *principal.Viewer, ids []principal.ID) ([]principal.Principal, error) {
	r.s.mu.Lock()
	r.s.principals = append(r.s.principals, ids)
	r.s.mu.Unlock()
	return r.Service.Principals(ctx, v, ids)
}

func (r spiedItems) PermissionsOf(ctx context.Context, v *principal.Viewer, ids []library.ContentID) ([]*library.Permissions, error) {
	r.s.mu.Lock()
	r.s.permissions = append(r.s.permissions, ids)
	r.s.mu.Unlock()
	if r.s.denies {
		return nil, errDown
	}
	return r.Service.PermissionsOf(ctx, v, ids)
}

func (r spiedItems) Contents(ctx context.Context, v *principal.Viewer, ids []library.ContentID) ([]*library.Content, error) {
	r.s.mu.Lock()
	r.s.contents = append(r.s.contents, ids)
	r.s.mu.Unlock()
	return r.Service.Contents(ctx, v, ids)
}

func (r spiedItems) Nodes(ctx context.Context, v *principal.Viewer, ids []string) ([]library.Node, error) {
	r.s.mu.Lock()
	r.s.nodes = append(r.s.nodes, ids)
	r.s.mu.Unlock()
	return r.Service.Nodes(ctx, v, ids)
}

func (r spiedListing) LibraryCount(ctx context.Context, c *library.LibraryConnection) (library.Count, error) {
	r.s.mu.Lock()
	r.s.counts++
	r.s.mu.Unlock()
	if r.s.denies {
		return library.Count{}, errDown
	}
	return r.Service.LibraryCount(ctx, c)
}

// pagesBegun returns the number of pages that were begun.
func (s *spy) pagesBegun() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.begun)
}

func (s *spy) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages, s.begun, s.principals, s.permissions, s.contents, s.nodes, s.counts = nil, nil, nil, nil, nil, nil, 0
}

func newGateway(t testing.TB) *gateway {
	t.Helper()
	return newGatewayOn(t, func(*domain.Store) {})
}

// newGatewayOn returns a gateway whose Service uses a store of which wrap replaces parts.
func newGatewayOn(t testing.TB, wrap func(*domain.Store)) *gateway {
	t.Helper()
	store, err := pebblestore.Open("gateway", pebblestore.Options{FS: vfs.NewMem(), FreeReserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	rt := sched.NewReal()
	t.Cleanup(func() {
		rt.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	names, err := naming.New(store, "test", 100)
	if err != nil {
		t.Fatal(err)
	}
	between := store.Store
	wrap(&between)
	following := followers{observe.NewMetrics(), make(chan struct{}, 100), make(chan struct{}, 100)}
	services := domaintest.Open(t, domain.Config{
		Store: between, Runtime: rt, Names: names, Remote: true, Watch: following,
		Journal: journal.New(t.Context(), between.Journal, rt, nil),
	})
	subgraph, err := graph.NewSubgraph()
	if err != nil {
		t.Fatal(err)
	}
	watched := &spy{Services: services}
	root := &resolvers.Root{Services: watched.services(), Schema: subgraph, Limits: graph.Limits{DefaultPageSize: 20,
		MaxPageSize: 100, MaxDepth: 12, MaxCost: 5000, MaxShareTargets: 100, MaxBodyBytes: 1 << 20}}
	schema := resolvers.NewSchema(root)
	return &gateway{t: t, spy: watched, schema: schema.Schema(), exec: schema, slow: unplanned{graph.NewGenerated(root), root},
		following: following}
}

// unplanned executes operations by the generated code, without plans of pages.
type unplanned struct {
	graph.Generated
	root *resolvers.Root
}

// Execute implements graph.Executor.
func (u unplanned) Execute(ctx context.Context, e *graph.Execution) gqlerror.List {
	e.Loaders = dataloader.New(u.root.PeopleByID, u.root.ItemsByID, u.root.Notes, e.Viewer, nil)
	return u.Generated.Execute(ctx, e)
}

// executed executes no operation by its plan.
type executed struct{ graph.Executor }

// Execute implements graph.Executor.
func (x executed) Execute(ctx context.Context, e *graph.Execution) gqlerror.List {
	e.Plans = nil
	return x.Executor.Execute(ctx, e)
}

// answer is a response.
type answer struct {
	data map[string]any
	raw  string
	errs []error
}

// do runs an operation with variables as pairs of name and value.
func (g *gateway) do(v *principal.Viewer, query string, variables ...any) answer {
	g.t.Helper()
	return g.doWith(g.exec, v, query, variables...)
}

func (g *gateway) doWith(exec graph.Executor, v *principal.Viewer, query string, variables ...any) answer {
	g.t.Helper()
	given := map[string]any{}
	for i := 0; i < len(variables); i += 2 {
		given[variables[i].(string)] = variables[i+1]
	}
	e := g.execution(v, query, given)
	errs := exec.Execute(g.t.Context(), e)
	a := answer{raw: written(e)}
	for _, err := range errs {
		a.errs = append(a.errs, err)
	}
	if err := json.Unmarshal([]byte(a.raw), &a.data); err != nil {
		g.t.Fatalf("%v in %s", err, a.raw)
	}
	return a
}

// execution returns the execution of an operation, without plans and with a Body without limits.
func (g *gateway) execution(v *principal.Viewer, query string, variables map[string]any) *graph.Execution {
	g.t.Helper()
	doc, errs := gqlparser.LoadQueryWithRules(g.schema, query, rules.NewDefaultRules())
	if errs != nil {
		g.t.Fatalf("the query is refused: %v\n%s", errs, query)
	}
	values, err := validator.VariableValues(g.schema, doc.Operations[0], variables)
	if err != nil {
		g.t.Fatalf("the variables are refused: %v\n%s", err, query)
	}
	return &graph.Execution{
		OperationContext: &graphql.OperationContext{
			RawQuery: query, Doc: doc, Operation: doc.Operations[0], Variables: values, RecoverFunc: graphql.DefaultRecover,
			ResolverMiddleware:     func(ctx context.Context, next graphql.Resolver) (any, error) { return next(ctx) },
			RootResolverMiddleware: func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler { return next(ctx) },
		},
		Viewer: v, Present: graphql.DefaultErrorPresenter, Body: unlimited(),
	}
}

func unlimited() *answers.Body { return answers.New(1<<30, answers.NewMemory(1<<30, 1<<30), "", nil) }

// written returns the data of an execution.
func written(e *graph.Execution) string { return string(bytes.Join(e.Body.Chunks(), nil)) }

// must runs an operation that must succeed, without userErrors.
func (g *gateway) must(v *principal.Viewer, query string, variables ...any) answer {
	g.t.Helper()
	a := g.do(v, query, variables...)
	if len(a.errs) > 0 {
		g.t.Fatalf("errors %v from\n%s", a.errs, query)
	}
	for field, payload := range a.data {
		if p, ok := payload.(map[string]any); ok {
			if faults, _ := p["userErrors"].([]any); len(faults) > 0 {
				g.t.Fatalf("%s: userErrors %v from\n%s", field, faults, query)
			}
		}
	}
	return a
}

// at returns the value at a path of names and list indexes.
func (a answer) at(path ...any) any {
	var v any = a.data
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func as(id string) *principal.Viewer { return &principal.Viewer{User: principal.ID(id)} }

func admin() *principal.Viewer {
	return &principal.Viewer{User: "u:acme:root", Admin: true}
}

// people creates users with those names in acme. ghost is PRIVATE.
func (g *gateway) people(names ...string) {
	g.t.Helper()
	for _, name := range names {
		visibility := "PUBLIC"
		if name == "ghost" {
			visibility = "PRIVATE"
		}
		g.must(admin(), `mutation($n: String!, $e: String!, $v: LibraryVisibility) { createUser(input: {tenant: "acme", name: $n, displayName: $n, email: $e, visibility: $v}) { userErrors { message } } }`,
			"n", name, "e", name+"@example.com", "v", visibility)
	}
}

// link creates an item with that name and shares it.
func (g *gateway) link(v *principal.Viewer, name string, with ...string) {
	g.t.Helper()
	members := make([]any, len(with))
	for i, p := range with {
		members[i] = map[string]any{"principalId": p, "role": "VIEWER"}
	}
	g.must(v, `mutation($n: String!, $m: [ContentMemberChange!]) { createContent(input: {name: $n, kind: LINK, visibility: PUBLIC, title: $n, link: "https://example.com/", members: $m}) { userErrors { field message } } }`,
		"n", name, "m", members)
}

// fillLibrary creates users, and shares n items by ann, bob and ghost with eve.
func (g *gateway) fillLibrary(n int) {
	g.t.Helper()
	g.people("root", "ann", "bob", "ghost", "eve")
	for i := range n {
		g.link(as([]string{"u:acme:ann", "u:acme:bob", "u:acme:ghost"}[i%3]), fmt.Sprintf("item%03d", i), "u:acme:eve")
	}
	g.spy.reset()
}
