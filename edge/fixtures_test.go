package edge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"go.uber.org/goleak"

	"carrel/auth"
	"carrel/core/fault"
	"carrel/graph"
	"carrel/library"
	"carrel/principal"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// A refused connection is closed half a second later.
		goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// root resolves the few fields that the tests of the edge need, and counts the calls. A test can
// replace what it does. All other fields of the contract panic, because no test should call them.
type root struct {
	graph.ResolverRoot
	calls  atomic.Int64
	onUser func(ctx context.Context, id string) (*principal.User, error)
	onMany func(ctx context.Context, ids []string) ([]library.Node, error)
	onURL  func()
	onMake func(ctx context.Context, in graph.CreateUserInput) (*graph.CreateUserPayload, error)
}

type queries struct {
	graph.QueryResolver
	*root
}

type mutations struct {
	graph.MutationResolver
	*root
}

type users struct {
	graph.UserResolver
	*root
}

func (r *root) Query() graph.QueryResolver       { return queries{root: r} }
func (r *root) Mutation() graph.MutationResolver { return mutations{root: r} }
func (r *root) User() graph.UserResolver         { return users{root: r} }

func (q queries) Viewer(ctx context.Context) (*principal.User, error) {
	q.calls.Add(1)
	v := graph.ExecutionOf(ctx).Viewer
	if !v.SignedIn() {
		return nil, nil
	}
	return user(string(v.User)), nil
}

func (q queries) User(ctx context.Context, id string) (*principal.User, error) {
	q.calls.Add(1)
	if q.onUser != nil {
		return q.onUser(ctx, id)
	}
	return user(id), nil
}

// Nodes is a non-null field, so an error of it leaves no data.
func (q queries) Nodes(ctx context.Context, ids []string) ([]library.Node, error) {
	q.calls.Add(1)
	return q.onMany(ctx, ids)
}

func (q queries) CanonicalURL(context.Context, string) (string, error) {
	q.calls.Add(1)
	if q.onURL != nil {
		q.onURL()
	}
	return "https://x.example/", nil
}

func (m mutations) CreateUser(ctx context.Context, in graph.CreateUserInput) (*graph.CreateUserPayload, error) {
	m.calls.Add(1)
	if m.onMake != nil {
		return m.onMake(ctx, in)
	}
	return &graph.CreateUserPayload{User: user("u:" + in.Tenant + ":" + in.Name)}, nil
}

func (m mutations) UpdatePaste(context.Context, graph.UpdatePasteInput) (*graph.UpdatePastePayload, error) {
	m.calls.Add(1)
	return &graph.UpdatePastePayload{}, nil
}

func (m mutations) CreatePaste(context.Context, graph.CreatePasteInput) (*graph.CreatePastePayload, error) {
	m.calls.Add(1)
	return &graph.CreatePastePayload{}, nil
}

func (u users) Library(_ context.Context, _ *principal.User, _ *int, _ *string, _ *int, _ *string, _ *graph.LibraryOrder,
	_ *bool, _ *library.LibraryFilter) (*library.LibraryConnection, error) {
	u.calls.Add(1)
	return &library.LibraryConnection{Bucket: principal.Public}, nil
}

func (u users) Email(context.Context, *principal.User) (*string, error) {
	u.calls.Add(1)
	return nil, nil
}

// Entities resolves users only.
func (r *root) Entities(_ context.Context, representations []graph.Representation) ([]library.Node, error) {
	r.calls.Add(1)
	entities := make([]library.Node, len(representations))
	for i, ref := range representations {
		if ref.ID != "" {
			entities[i] = user(ref.ID)
		}
	}
	return entities, nil
}

func (r *root) Subgraph(context.Context) (*graph.Subgraph, error) {
	r.calls.Add(1)
	return graph.NewSubgraph()
}

func user(id string) *principal.User {
	u := &principal.User{}
	u.ID, u.DisplayName = principal.ID(id), "Ann"
	return u
}

// edgeUnderTest is a handler with its resolvers and its log.
type edgeUnderTest struct {
	*root
	log     bytes.Buffer
	handler *Handler
}

func newEdge(t testing.TB, change func(*Config)) *edgeUnderTest {
	t.Helper()
	e := &edgeUnderTest{root: &root{}}
	c := Config{
		Schema:       graph.NewGenerated(e.root),
		Authenticate: authenticate,
		Limits:       DefaultLimits(),
		Log:          slog.New(slog.NewJSONHandler(&e.log, nil)),
		Random:       func(b []byte) { _, _ = rand.Read(b) },
	}
	if change != nil {
		change(&c)
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	e.handler = h
	return e
}

// authenticate accepts "Bearer ann". All other tokens fail.
func authenticate(_ context.Context, authorization []string) (auth.Caller, error) {
	if len(authorization) == 0 {
		return auth.Caller{}, nil
	}
	switch authorization[0] {
	case "Bearer ann":
		return auth.Caller{User: "u:acme:ann"}, nil
	case "Bearer later":
		return auth.Caller{}, &fault.Error{Code: fault.Unavailable, Msg: "no keys", RetryAfter: 30}
	case "Bearer broken":
		return auth.Caller{}, errors.New("SELECT secret")
	}
	return auth.Caller{}, &fault.Error{Code: fault.Unauthenticated, Msg: "the token is bad"}
}

// authenticateFor is authenticate for tokens with a lifetime.
func authenticateFor(life time.Duration) Authenticate {
	return func(ctx context.Context, authorization []string) (auth.Caller, error) {
		caller, err := authenticate(ctx, authorization)
		if caller.SignedIn() {
			caller.Until = time.Now().Add(life)
		}
		return caller, err
	}
}

// eventually waits until a condition holds, or fails the test.
func eventually(t testing.TB, holds func() bool) {
	t.Helper()
	for range 1000 {
		if holds() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatal("the condition did not become true in time")
}

// answerUnderTest is a parsed response.
type answerUnderTest struct {
	*httptest.ResponseRecorder
	Errors []errorUnderTest
	Data   json.RawMessage
	keys   map[string]json.RawMessage
}

// errorUnderTest is an error of a response.
type errorUnderTest struct {
	Message    string
	Locations  []struct{ Line, Column int }
	Path       []any
	Extensions map[string]any
}

// at returns the first location as line:column.
func (e errorUnderTest) at() string {
	return fmt.Sprintf("%d:%d", e.Locations[0].Line, e.Locations[0].Column)
}

// code returns the code of the first error, or "" if there is none.
func (a *answerUnderTest) code() string {
	if len(a.Errors) == 0 {
		return ""
	}
	code, _ := a.Errors[0].Extensions["code"].(string)
	return code
}

// send posts a body with header lines "Name: value".
func (e *edgeUnderTest) send(t testing.TB, body string, header ...string) *answerUnderTest {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return e.do(t, r)
}

func (e *edgeUnderTest) do(t testing.TB, r *http.Request) *answerUnderTest {
	t.Helper()
	a := &answerUnderTest{ResponseRecorder: httptest.NewRecorder()}
	e.handler.ServeHTTP(a.ResponseRecorder, r)
	if err := json.Unmarshal(a.Body.Bytes(), a); err != nil {
		t.Fatalf("the answer is not JSON: %v: %s", err, a.Body)
	}
	if err := json.Unmarshal(a.Body.Bytes(), &a.keys); err != nil {
		t.Fatal(err)
	}
	return a
}

// query posts a query with variables.
func (e *edgeUnderTest) query(t testing.TB, query string, variables map[string]any, header ...string) *answerUnderTest {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	return e.send(t, string(body), header...)
}

// asDecoded returns variables as an operation gets them from a request body.
func asDecoded(t testing.TB, schema *ast.Schema, op *ast.OperationDefinition, variables map[string]any) map[string]any {
	t.Helper()
	object, err := json.Marshal(variables)
	if err != nil {
		t.Fatal(err)
	}
	if variables == nil {
		object = nil
	}
	given, r := readVariables(schema, op, object)
	if r != nil {
		t.Fatal(r.errs)
	}
	return given
}
