package resolvers_test

import (
	"bytes"
	"strings"
	"testing"

	answers "carrel/answer"
	"carrel/graph"
	"carrel/principal"
)

// bounded runs a query whose answer may have at most limit bytes.
func (g *gateway) bounded(exec graph.Executor, v *principal.Viewer, query string, limit int) (string, error) {
	g.t.Helper()
	return g.boundedIn(answers.NewMemory(1<<30, 1<<20), exec, v, query, limit)
}

// boundedIn is bounded with the memory for answers.
func (g *gateway) boundedIn(memory *answers.Memory, exec graph.Executor, v *principal.Viewer, query string, limit int) (string, error) {
	g.t.Helper()
	e, body := g.execution(v, query, nil), answers.New(limit, memory, "", nil)
	e.Body = body
	if errs := exec.Execute(g.t.Context(), e); body.Err() == nil && len(errs) > 0 {
		g.t.Fatal(errs)
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
			for way, exec := range map[string]graph.Executor{"planned": g.exec, "unplanned": g.slow} {
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
