package resolvers_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	answers "carrel/answer"
	"carrel/domain"
	"carrel/graph"
	"carrel/paste"
	"carrel/principal"
)

// TestLatestPastes_PlanWritesTheSameBytes compares planned pages of pastes with those of the
// generated code.
func TestLatestPastes_PlanWritesTheSameBytes(t *testing.T) {
	g := newGateway(t)
	create := func(title, body, rest string) {
		g.must(&principal.Viewer{}, `mutation($t: String, $b: String!) { createPaste(input: {title: $t, body: $b`+rest+
			`}) { userErrors { code } } }`, "t", title, "b", body)
	}
	create(`"quoted" \ back`, "tab\tline\nreturn\r\x1b", "")
	create("<script>&\u2028", "漢字", `, expiresAt: "2999-01-01T00:00:00Z"`)
	create("private", "x", ", isPrivate: true")
	g.must(&principal.Viewer{}, `mutation { createPaste(input: {body: "no title"}) { userErrors { code } } }`)
	compare := func(query string) {
		t.Helper()
		fast, slow := g.doWith(g.exec, &principal.Viewer{}, query), g.doWith(g.slow, &principal.Viewer{}, query)
		if diff := cmp.Diff(slow.raw, fast.raw); diff != "" || len(fast.errs)+len(slow.errs) > 0 {
			t.Errorf("errors %v and %v (-generated +planned):\n%s", slow.errs, fast.errs, diff)
		}
	}
	const all = `{ __typename id title body isPrivate createdAt modifiedAt expiresAt version ... on Node { id } a: title }`
	for _, query := range []string{
		`{ latestPastes { __typename edges { __typename cursor node ` + all + ` } nodes ` + all +
			` pageInfo { __typename hasNextPage hasPreviousPage startCursor endCursor } } }`,
		`{ a: latestPastes(first: 0) { edges { cursor } pageInfo { hasNextPage startCursor } } b: latestPastes(last: 1) { nodes { id @skip(if: true) title } } }`,
	} {
		compare(query)
	}
	create("long", strings.Repeat("long ", 2000), "")
	compare(`{ latestPastes(first: 2) { nodes ` + all + ` } }`)
	compare(`{ latestPastes(first: 2) { nodes { id } } }`)
}

// steeredBodies is a store that calls before ahead of each ReadBodies.
type steeredBodies struct {
	paste.Store
	before func()
}

func (s *steeredBodies) ReadBodies(ctx context.Context, refs []paste.BodyRef) ([]*string, error) {
	s.before()
	return s.Store.ReadBodies(ctx, refs)
}

// A paste that is deleted between the reads of its row and of its long body is left out. The page
// does not fail, and its long bodies are read at once. The paste itself is not found by the next read.
func TestLatestPastes_LeavesOutWhatEndsWhileItIsRead(t *testing.T) {
	store := &steeredBodies{}
	g := newGatewayOn(t, func(s *domain.Store) { store.Store, s.Pastes = s.Pastes, store })
	const create = `mutation($t: String, $b: String!) { createPaste(input: {title: $t, body: $b}) { paste { id } secret } }`
	for _, exec := range []graph.Executor{g.exec, g.slow} {
		store.before = func() {}
		long := strings.Repeat("long ", 2000)
		g.must(&principal.Viewer{}, create, "t", "kept", "b", long)
		made := g.must(&principal.Viewer{}, create, "t", "deleted", "b", long)
		reads := 0
		store.before = func() {
			if reads++; reads == 1 {
				g.must(&principal.Viewer{}, `mutation($id: ID!, $s: String!) { deletePaste(input: {id: $id, secret: $s}) { userErrors { code } } }`,
					"id", made.at("createPaste", "paste", "id"), "s", made.at("createPaste", "secret"))
			}
		}
		got := g.doWith(exec, &principal.Viewer{}, `{ latestPastes(first: 2) { nodes { title body } } }`)
		want := `{"latestPastes":{"nodes":[{"title":"kept","body":"` + long + `"}]}}`
		if got.raw != want || len(got.errs) > 0 {
			t.Errorf("the page is %.200s with errors %v", got.raw, got.errs)
		}
		if reads > 2 {
			t.Errorf("the bodies took %d reads", reads)
		}
		made, reads = g.must(&principal.Viewer{}, create, "t", "deleted", "b", long), 0
		got = g.doWith(exec, &principal.Viewer{}, `query($id: ID!) { paste(id: $id) { title body } }`,
			"id", made.at("createPaste", "paste", "id"))
		if got.raw != `{"paste":null}` || len(got.errs) != 1 || !isContention(got.errs[0]) {
			t.Errorf("the paste is %.200s with errors %v", got.raw, got.errs)
		}
	}
}

// The memory for long bodies is reserved before they are read: without it, none is.
func TestLatestPastes_ReserveMemoryBeforeTheyRead(t *testing.T) {
	reads := 0
	store := &steeredBodies{before: func() { reads++ }}
	g := newGatewayOn(t, func(s *domain.Store) { store.Store, s.Pastes = s.Pastes, store })
	for range 3 {
		g.must(&principal.Viewer{}, `mutation($b: String!) { createPaste(input: {body: $b}) { userErrors { code } } }`, "b",
			strings.Repeat("x", 400_000))
	}
	const query = `{ latestPastes { nodes { body } } }`
	for _, exec := range []graph.Executor{g.exec, g.slow} {
		if got, err := g.boundedIn(answers.NewMemory(1<<30, 1<<20), exec, &principal.Viewer{}, query, 2<<20); err != nil ||
			len(got) < 1_200_000 || reads != 1 {
			t.Errorf("with enough memory: %d bytes by %d reads, %v", len(got), reads, err)
		}
		reads = 0
		if _, err := g.boundedIn(answers.NewMemory(1_000_000, 1<<20), exec, &principal.Viewer{}, query, 2<<20); !errors.Is(err,
			answers.ErrNoMemory) || reads != 0 {
			t.Errorf("without enough memory: %v after %d reads", err, reads)
		}
	}
}
