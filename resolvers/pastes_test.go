package resolvers_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/principal"
)

// TestLatestPastes_PlanWritesTheSameBytes compares planned pages of pastes with those of the
// generated code.
func TestLatestPastes_PlanWritesTheSameBytes(t *testing.T) {
	g := newGateway(t)
	create := func(title, body, rest string) {
		g.must(&principal.Viewer{}, `mutation($t: String, $b: String!) { createPaste(input: {title: $t, body: $b`+rest+`}) { userErrors { code } } }`, "t", title, "b", body)
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
		`{ latestPastes { __typename edges { __typename cursor node ` + all + ` } nodes ` + all + ` pageInfo { __typename hasNextPage hasPreviousPage startCursor endCursor } } }`,
		`{ a: latestPastes(first: 0) { edges { cursor } pageInfo { hasNextPage startCursor } } b: latestPastes(last: 1) { nodes { id @skip(if: true) title } } }`,
	} {
		compare(query)
	}
	create("long", strings.Repeat("long ", 2000), "")
	compare(`{ latestPastes(first: 2) { nodes ` + all + ` } }`)
	compare(`{ latestPastes(first: 2) { nodes { id } } }`)
}
