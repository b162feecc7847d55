package resolvers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	answers "carrel/answer"
	"carrel/auth"
	"carrel/domain"
	"carrel/edge"
	"carrel/graph"
	"carrel/library"
	"carrel/principal"
)

var operations = flag.Int("operations", 25_000, "how many operations are compared with those of the executor")

// faulty is a store whose reads can be made to fail.
type faulty struct {
	principal.Store
	library.ContentStore
	library.LibraryStore

	mu    sync.Mutex
	left  int   // number of reads before the failing one; negative: none fails
	fails error // the error; with errPanic it panics
	// failing, if set, is called before a read fails.
	failing func()
}

// on returns s with the changes.
func (f *faulty) on(s domain.Store) domain.Store {
	f.Store, f.ContentStore, f.LibraryStore, s.Principals, s.Contents, s.Libraries = s.Principals, s.Contents, s.Libraries, f, f, f
	return s
}

var errPanic = errors.New("panic")

// set makes the n-th read from now on, and all later ones, fail.
func (f *faulty) set(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.fails = n, err
}

func (f *faulty) check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails == nil {
		return nil
	}
	if f.left--; f.left >= 0 {
		return nil
	}
	if f.failing != nil {
		f.failing()
	}
	if errors.Is(f.fails, errPanic) {
		panic("a store that panics")
	}
	return f.fails
}

func (f *faulty) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.ContentStore.ReadMany(ctx, ids, members)
}

func (f *faulty) OpenLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.LibraryStore.OpenLibrary(ctx, q, newest)
}

func (f *faulty) CountLibrary(ctx context.Context, owner principal.ID, b library.Bucket, limit int) (int, error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	return f.LibraryStore.CountLibrary(ctx, owner, b, limit)
}

func (f *faulty) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.Store.ReadPrincipals(ctx, ids)
}

// stacks matches the stack of a panic in a concurrent task, which contains addresses.
var stacks = regexp.MustCompile(` at goroutine \d+ [^"]*`)

// answering records how an operation is executed.
type answering struct {
	graph.Executor
	last   string // planned, or generated
	counts map[string]int
}

// Execute implements graph.Executor.
func (a *answering) Execute(ctx context.Context, e *graph.Execution) gqlerror.List {
	var generated atomic.Bool // if a field of Query goes through the generated code
	resolve := e.ResolverMiddleware
	e.ResolverMiddleware = func(ctx context.Context, next graphql.Resolver) (any, error) {
		if graphql.GetFieldContext(ctx).Object == "Query" {
			generated.Store(true)
		}
		return resolve(ctx, next)
	}
	errs := a.Executor.Execute(ctx, e)
	if a.last = "planned"; generated.Load() {
		a.last = "generated"
	}
	a.counts[a.last]++
	return errs
}

// compared is one of two ways to answer the same requests.
type compared struct {
	handler http.Handler
	log     bytes.Buffer
	points  float64
}

// answered is the part of an answer that is compared.
type answered struct {
	Status int
	Header http.Header
	Body   string
	Points float64
	Calls  []string
	Log    []string
}

// newCompared builds a complete edge for a schema. The Authorization header names the caller.
func newCompared(t *testing.T, schema graph.Executor, answerBytes int) *compared {
	t.Helper()
	c := &compared{}
	limits := edge.DefaultLimits()
	limits.ViewerPoints, limits.AddressPoints = 1_000_000_000, 1_000_000_000
	limits.Errors = 1000 // all errors are compared
	if answerBytes > 0 {
		limits.AnswerBytes = answerBytes
	}
	h, err := edge.New(edge.Config{
		Schema: schema, Limits: limits, Random: func(b []byte) { clear(b) },
		Authenticate: func(_ context.Context, authorization []string) (auth.Caller, error) {
			who := authorization[0]
			return auth.Caller{User: principal.ID(who), Admin: strings.HasSuffix(who, ":root"), GlobalAdmin: strings.HasSuffix(who, ":over")}, nil
		},
		Spent: func(_ bool, points float64) { c.points += points },
		Log: slog.New(slog.NewJSONHandler(&c.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "stack" {
				return slog.Attr{}
			}
			return a
		}})),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.handler = h
	return c
}

// request is a request for an operation.
type request struct {
	query     string
	variables map[string]any
	viewer    string
	accept    string
	language  string
	fails     error
	after     int // reads
}

func (r *request) String() string {
	b, _ := json.Marshal(r.variables) // they consist of JSON values
	return fmt.Sprintf("%s\nvariables %s of %q, accepting %q in %q; failing with %v after %d", r.query, b, r.viewer,
		r.accept, r.language, r.fails, r.after)
}

// do sends the request.
func (c *compared) do(t *testing.T, r *request, store *faulty, calls *recorder) answered {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": r.query, "variables": r.variables, "extensions": map[string]any{"cost": true}})
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, "/graphql", bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", r.viewer)
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if r.language != "" {
		req.Header.Set("Accept-Language", r.language)
	}
	w := httptest.NewRecorder()
	c.points = 0
	c.log.Reset()
	store.set(r.after, r.fails)
	c.handler.ServeHTTP(w, req)
	store.set(0, nil)
	text := w.Body.String()
	if before, after, found := strings.Cut(text, `,"pointsLeft":`); found { // points are refilled every second
		text = before + after[strings.IndexByte(after, '}'):]
		w.Header().Del("Content-Length")
	}
	w.Header().Del("RateLimit")
	log := strings.Split(stacks.ReplaceAllString(c.log.String(), ""), "\n")
	// At most one panic a second is logged, so which ones are depends on the time.
	log = slices.DeleteFunc(log, func(line string) bool { return strings.Contains(line, "panic: ") })
	slices.Sort(log)
	return answered{w.Code, w.Header(), inOrder(t, text), c.points, calls.take(), log}
}

// data returns the part that does not depend on which of the concurrently resolved fields comes
// first: they share calls and prices at random.
func (a answered) data() answered {
	text, _, _ := strings.Cut(a.Body, `,"extensions"`)
	return answered{Status: a.Status, Body: text}
}

// inOrder sorts several errors of an answer: fields of a page that the generated code resolves
// concurrently fail in any order.
func inOrder(t *testing.T, text string) string {
	t.Helper()
	var parts struct{ Errors []json.RawMessage }
	if err := json.Unmarshal([]byte(text), &parts); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if len(parts.Errors) < 2 {
		return text
	}
	lines := make([]string, len(parts.Errors))
	for i, e := range parts.Errors {
		lines[i] = string(e)
	}
	list := strings.Join(lines, ",")
	slices.Sort(lines)
	return strings.Replace(text, list, strings.Join(lines, ","), 1)
}

// worldOfOperations creates the data that operations read.
func worldOfOperations(g *gateway) {
	g.fillLibrary(14)
	g.people("zoe")
	visibility := []string{"PRIVATE", "LOGGEDIN", "PUBLIC"}
	for i := range 12 {
		by := as([]string{"u:acme:ann", "u:acme:bob", "u:acme:ghost"}[i%3])
		g.must(by, `mutation($id: ID!, $v: LibraryVisibility, $d: String) { updateContent(input: {id: $id, visibility: $v, description: $d}) { userErrors { message } } }`,
			"id", fmt.Sprintf("c:acme:item%03d", i), "v", visibility[i%3], "d", []string{`"quoted" \ <b>`, "tab\tline\n", "ünï"}[i/3%3])
	}
	g.must(as("u:acme:ann"),
		`mutation { createGroup(input: {tenant: "acme", name: "crew", displayName: "Crew", visibility: PRIVATE}) { userErrors { message } } }`)
	g.must(as("u:acme:ann"),
		`mutation { setGroupMembers(input: {groupId: "g:acme:crew", members: [{principalId: "u:acme:bob", role: MEMBER}]}) { userErrors { message } } }`)
	for i := range 5 {
		g.must(as("u:acme:ann"),
			`mutation($id: ID!) { setContentMembers(input: {contentId: $id, members: [{principalId: "g:acme:crew", role: EDITOR}]}) { userErrors { message } } }`,
			"id", fmt.Sprintf("c:acme:item%03d", 3*(i%4)))
	}
	for i := range 3 { // notes in two languages
		g.must(as("u:acme:ann"),
			`mutation($n: String!) { createContent(input: {name: $n, kind: NOTE, visibility: PUBLIC, title: "note", body: "text", locale: "en", members: [{principalId: "u:acme:eve", role: EDITOR}]}) { userErrors { field message } } }`,
			"n", fmt.Sprintf("note%d", i))
		g.must(as("u:acme:ann"),
			`mutation($id: ID!) { saveRevision(input: {contentId: $id, locale: "de", title: "Notiz", body: "Text"}) { userErrors { field message } } }`,
			"id", fmt.Sprintf("c:acme:note%d", i))
	}
	for i, path := range []string{"eins", "zwei", "drei"} {
		moved := g.must(as([]string{"u:acme:ann", "u:acme:bob", "u:acme:ghost"}[i]),
			`mutation($id: ID!, $url: String) { moveContent(input: {id: $id, url: $url}) { content { url } userErrors { message } } }`,
			"id", fmt.Sprintf("c:acme:item%03d", i), "url", "https://acme.example/"+path)
		if moved.at("moveContent", "content", "url") != "https://acme.example/"+path {
			g.t.Fatalf("no item has the url %s: %v", path, moved)
		}
	}
	g.must(as("u:acme:ann"),
		`mutation { updateContent(input: {id: "c:acme:item000", expiresAt: "2999-01-01T00:00:00Z"}) { userErrors { message } } }`)
}

// pair is both ways to answer a request.
type pair struct{ planned, plain *compared }

// TestOperation_TheUsualPageIsAnsweredByItsPlan: it takes 3 calls of the domain and no resolver.
func TestOperation_TheUsualPageIsAnsweredByItsPlan(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(20)
	plans := &answering{Executor: g.exec, counts: map[string]int{}}
	c := newCompared(t, plans, 0)
	for range 3 {
		g.spy.reset()
		r := &request{query: pageQuery, variables: map[string]any{"id": "u:acme:eve"}, viewer: "u:acme:eve"}
		a := c.do(t, r, &faulty{}, &recorder{})
		if a.Status != http.StatusOK || strings.Count(a.Body, `"cursor"`) != 20 {
			t.Fatalf("%d: %s", a.Status, a.Body)
		}
		if n := len(g.spy.principals); n != 2 || len(g.spy.pages) != 1 {
			t.Errorf("%d calls for principals, %d for pages", n, len(g.spy.pages))
		}
	}
	if plans.counts["planned"] != 3 {
		t.Errorf("the results: %v", plans.counts)
	}
}

// TestOperation_ThatEndsWhileItReadsHasNoErrors: like an operation of which no more fields are resolved, its
// answer has failed.
func TestOperation_ThatEndsWhileItReadsHasNoErrors(t *testing.T) {
	store := &faulty{}
	g := newGatewayOn(t, func(s *domain.Store) { *s = store.on(*s) })
	g.fillLibrary(2)
	for reads := range 3 { // of the user, the page, and its items
		ctx, end := context.WithCancel(t.Context())
		store.set(reads, context.Canceled)
		store.failing = end
		e := g.execution(as("u:acme:eve"), pageQuery, map[string]any{"id": "u:acme:eve"})
		e.Plans = graph.NewPlanCache(pageQuery)
		plans := &answering{Executor: g.exec, counts: map[string]int{}}
		errs := plans.Execute(ctx, e)
		store.set(0, nil)
		if plans.last != "planned" || len(errs) > 0 || !errors.Is(e.Body.Err(), answers.ErrEnded) {
			t.Errorf("after %d reads: %s, %v, %v", reads, plans.last, errs, e.Body.Err())
		}
	}
}

// TestOperation_AFailedPageIsReadInBatches: the generated code resolves it, whose loaders know its items.
func TestOperation_AFailedPageIsReadInBatches(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(9)
	g.spy.denies = true
	const query = `{ user(id: "u:acme:eve") { library { nodes { createdBy { id } } count { value } } } }`
	e := g.execution(as("u:acme:eve"), query, nil)
	e.Plans = graph.NewPlanCache(query)
	errs := g.exec.Execute(t.Context(), e)
	if got := written(e); got != `{"user":null}` || len(errs) != 1 || errs[0].Path.String() != "user.library.count" {
		t.Errorf("got %s with %v", got, errs)
	}
	if n := len(g.spy.principals); n != 3 || len(g.spy.pages) != 1 { // the owner; the creators, twice
		t.Errorf("%d calls for principals, %d for pages", n, len(g.spy.pages))
	}
}

// TestOperation_UnknownValueIsAnErrorOfItsObject: a value that is not in the schema is not written.
func TestOperation_UnknownValueIsAnErrorOfItsObject(t *testing.T) {
	g := newGatewayOn(t, func(s *domain.Store) { s.Principals = oddPrincipals{s.Principals} })
	g.fillLibrary(0)
	e := g.execution(as("u:acme:eve"), `{ me: viewer { id visibility } t: __typename }`, nil)
	e.Plans = graph.NewPlanCache(e.RawQuery)
	errs := g.exec.Execute(t.Context(), e)
	if got := written(e); got != `{"me":null,"t":"Query"}` || len(errs) != 1 || errs[0].Path.String() != "me" || len(errs[0].Locations) != 1 {
		t.Errorf("got %s with %v", got, errs)
	}
}

// oddPrincipals is a store whose eve has a visibility that is not in the schema.
type oddPrincipals struct{ principal.Store }

func (s oddPrincipals) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	found, err := s.Store.ReadPrincipals(ctx, ids)
	for i := range found {
		if found[i].ID == "u:acme:eve" {
			found[i].Visibility = 99
		}
	}
	return found, err
}

// compare answers the request both ways within the same minute, which is part of cursors.
func (p *pair) compare(t *testing.T, r *request, store *faulty, calls *recorder) (plain, planned answered) {
	t.Helper()
	for range 3 {
		minute := time.Now().Truncate(time.Minute)
		plain, planned = p.plain.do(t, r, store, calls), p.planned.do(t, r, store, calls)
		if time.Now().Truncate(time.Minute).Equal(minute) {
			break
		}
	}
	return plain, planned
}

// outcomeOf returns the code of the first error of an answer, NULL or DATA.
func outcomeOf(body string) string {
	if _, after, found := strings.Cut(body, `"code":"`); found {
		code, _, _ := strings.Cut(after, `"`)
		return code
	}
	if strings.Contains(body, `"data":{"r":null}`) {
		return "NULL"
	}
	return "DATA"
}
