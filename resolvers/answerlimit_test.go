package resolvers_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"

	answers "carrel/answer"
	"carrel/auth"
	"carrel/graph"
	"carrel/principal"
)

// bounded runs a query whose answer may have at most limit bytes.
func (g *gateway) bounded(exec *executor.Executor, v *principal.Viewer, query string, limit int) (string, error) {
	g.t.Helper()
	return g.boundedIn(answers.NewMemory(1<<30, 1<<20), exec, v, query, limit)
}

// boundedIn is bounded with the memory for answers.
func (g *gateway) boundedIn(memory *answers.Memory, exec *executor.Executor, v *principal.Viewer, query string, limit int) (string, error) {
	g.t.Helper()
	ctx := graphql.StartOperationTrace(auth.WithViewer(g.t.Context(), v))
	op, errs := exec.CreateOperationContext(ctx, &graphql.RawParams{Query: query})
	if errs != nil {
		g.t.Fatalf("the query is refused: %v\n%s", errs, query)
	}
	body := answers.New(limit, memory, "", nil)
	graph.SetBody(op, body)
	respond, ctx := exec.DispatchOperation(ctx, op)
	if resp := respond(ctx); body.Err() == nil && (len(resp.Data) > 0 || len(resp.Errors) > 0) {
		g.t.Fatalf("%v: %s", resp.Errors, resp.Data)
	}
	text := string(bytes.Join(body.Chunks(), nil))
	body.Release()
	if memory.Used() != 0 {
		g.t.Errorf("%d bytes are still reserved", memory.Used())
	}
	return text, body.Err()
}

// TestAnswerLimit_PlannedAndUnplannedPagesCountTheSame: the limit accepts and refuses the same
// answers, whether or not they are planned.
func TestAnswerLimit_PlannedAndUnplannedPagesCountTheSame(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(20)
	text := strings.Repeat(`long "quoted" text, `, 490)
	for _, name := range []string{"000", "001", "003"} {
		g.must(admin(), `mutation($id: ID!, $d: String) { updateContent(input: {id: $id, description: $d}) { userErrors { code } } }`,
			"id", "c:acme:item"+name, "d", text)
	}
	for name, query := range map[string]string{
		"a page":            `{ user(id: "u:acme:eve") { library { bucket edges { cursor role node { id title description createdBy { displayName } } } pageInfo { endCursor } } } }`,
		"many aliases":      `{ user(id: "u:acme:eve") { library { nodes { a: description b: description c: description d: description e: description } } } }`,
		"pages below pages": `{ user(id: "u:acme:eve") { library(first: 5) { nodes { id createdBy { library(first: 9) { nodes { description a: description } } } } } } }`,
		"never planned":     `{ user(id: "u:acme:eve") { library { nodes { description createdBy { id email } } } } }`,
		"several roots":     `{ a: user(id: "u:acme:eve") { library { nodes { description } } } b: user(id: "u:acme:ann") { id library { nodes { description } } } }`,
	} {
		t.Run(name, func(t *testing.T) {
			want := g.must(as("u:acme:eve"), query).raw
			for way, exec := range map[string]*executor.Executor{"planned": g.exec, "unplanned": g.slow} {
				if got, err := g.bounded(exec, as("u:acme:eve"), query, len(want)); err != nil || got != want {
					t.Errorf("%s: %v, %d bytes of %d", way, err, len(got), len(want))
				}
				if got, err := g.bounded(exec, as("u:acme:eve"), query, len(want)-1); err != answers.ErrTooLarge || got != "" {
					t.Errorf("%s, one byte less: %v, %d bytes", way, err, len(got))
				}
			}
		})
	}
}
