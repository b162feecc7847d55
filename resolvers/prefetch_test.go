package resolvers_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/cursor"
)

// TestPrefetch_MatchesTheLaterRequest: the prefetched page is the one that its field then requests,
// however it is written. Nothing is prefetched for fields that take no page, or below other fields.
func TestPrefetch_MatchesTheLaterRequest(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(9)
	const eve, all = "u:acme:eve", "g:acme:all"
	g.must(as(eve), `mutation { createGroup(input: {tenant: "acme", name: "all", displayName: "all"}) { userErrors { message } } }`)
	cursor, _ := g.must(as(eve), `{ viewer { library(first: 2) { pageInfo { endCursor } } } }`).at("viewer", "library",
		"pageInfo", "endCursor").(string)
	const page = `{ nodes { id } }`
	order := map[string]any{"field": "LAST_MODIFIED", "direction": "DESC"}
	for _, c := range []struct {
		name, query string
		variables   []any
		pages       int
	}{
		{"the viewer", `{ viewer { library ` + page + ` } }`, nil, 1},
		{"a user", `{ user(id: "u:acme:eve") { library(first: 3) ` + page + ` } }`, nil, 1},
		{"a group", `{ group(id: "g:acme:all") { library(last: 3) ` + page + ` } }`, nil, 1},
		{"a principal", `{ principal(id: "g:acme:all") { library(first: 0) ` + page + ` } }`, nil, 1},
		{"a node", `{ node(id: "u:acme:eve") { id ... on User { library ` + page + ` } ... on Group { library(first: 1) ` +
			page + ` } } }`, nil, 1},
		{"a principal by fragments", `query($g: ID!) { principal(id: $g) { ...f ... on User { library(first: 9) ` + page +
			` } } } fragment f on Group { l: library(first: 4) ` + page + ` }`, []any{"g", all}, 1},
		{"capital letters", `{ user(id: "U:Acme:EVE") { library ` + page + ` } }`, nil, 1},
		{"everything given", `{ user(id: "u:acme:eve") { library(first: 3, after: "` + cursor +
			`", orderBy: {field: LAST_MODIFIED, direction: ASC}, includeShared: false) ` + page + ` } }`, nil, 1},
		{"what is shared too", `{ user(id: "u:acme:eve") { library(includeShared: true) ` + page + ` } }`, nil, 1},
		{"by variables", `query($n: Int, $c: Cursor, $o: LibraryOrder, $s: Boolean) { user(id: "u:acme:eve") { library(first: $n, after: $c, orderBy: $o, includeShared: $s) ` + page + ` } }`,
			[]any{"n", json.Number("3"), "c", cursor, "o", map[string]any{"field": "LAST_MODIFIED", "direction": "ASC"}, "s", false}, 1},
		{"by variables, backwards", `query($n: Int, $o: LibraryOrder) { user(id: "u:acme:eve") { library(last: $n, orderBy: $o) ` + page + ` } }`,
			[]any{"n", int64(3), "o", order}, 1},
		{"variables left out",
			`query($n: Int, $c: Cursor, $o: LibraryOrder, $s: Boolean) { user(id: "u:acme:eve") { library(first: $n, after: $c, orderBy: $o, includeShared: $s) ` + page + ` } }`, nil, 1},
		{"the direction as a variable",
			`query($d: OrderDirection!) { user(id: "u:acme:eve") { library(orderBy: {field: LAST_MODIFIED, direction: $d}) ` + page + ` } }`,
			[]any{"d", "DESC"}, 1},
		{"two pages", `{ user(id: "u:acme:eve") { a: library(first: 1) ` + page + ` b: library(first: 2) ` + page + ` } }`, nil, 2},
		{"all that costs", `{ user(id: "u:acme:eve") { library { nodes { viewerRole } pageInfo { hasPreviousPage } } } }`, nil, 1},
		{"no entries", `{ user(id: "u:acme:eve") { library { bucket } } }`, nil, 1},
		{"left out", `query($x: Boolean = false) { user(id: "u:acme:eve") { id library @include(if: $x) ` + page + ` } }`, nil, 0},
		{"several nodes", `{ nodes(ids: ["u:acme:eve", "c:acme:item000", "g:acme:all", "none"]) { ... on User { library(first: 1) ` +
			page + ` } ... on Group { library(first: 2) ` + page + ` } } }`, nil, 2},
		{"an entity", `{ _entities(representations: [{__typename: "User", id: "u:acme:eve"}]) { ... on User { library ` + page + ` } } }`,
			nil, 1},
		{"the same page twice", `{ user(id: "u:acme:eve") { a: library ` + page + ` b: library ` + page + ` } }`, nil, 2},
		{"no page", `{ user(id: "u:acme:eve") { displayName } }`, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g.spy.reset()
			g.must(as(eve), c.query, c.variables...)
			if len(g.spy.pages) != c.pages {
				t.Fatalf("%d pages were requested, want %d", len(g.spy.pages), c.pages)
			}
			for _, list := range [][]requestedPage{g.spy.pages, g.spy.prefetched} {
				slices.SortFunc(list, func(a, b requestedPage) int { return sizeOf(a) - sizeOf(b) })
			}
			want := slices.DeleteFunc(g.spy.pages, func(p requestedPage) bool { return p.Query.IncludeShared })
			if diff := cmp.Diff(want, g.spy.prefetched); diff != "" && len(want)+len(g.spy.prefetched) > 0 {
				t.Errorf("pages (-requested without shared items +prefetched):\n%s", diff)
			}
		})
	}
	t.Run("of a hidden user", func(t *testing.T) {
		g.spy.reset()
		a := g.must(as(eve), `{ user(id: "u:acme:ghost") { library { nodes { id } } } }`)
		if a.at("user") != nil || len(g.spy.pages) != 0 || len(g.spy.prefetched) != 1 {
			t.Errorf("got %s, with %d pages and %d prefetched", a.raw, len(g.spy.pages), len(g.spy.prefetched))
		}
	})
	t.Run("of a store in this process", func(t *testing.T) {
		g.spy.reset()
		g.spy.local = true
		defer func() { g.spy.local = false }()
		g.must(as(eve), `{ user(id: "u:acme:eve") { library { nodes { id } } } }`)
		if len(g.spy.pages) != 1 || len(g.spy.prefetched) != 0 {
			t.Errorf("%d pages were requested, and %d prefetched", len(g.spy.pages), len(g.spy.prefetched))
		}
	})
	for name, query := range map[string]string{
		"of the creator of an item":   `{ content(id: "c:acme:item000") { createdBy { library { nodes { id } } } } }`,
		"of a search result":          `{ principals(tenant: "acme", prefix: "ann") { nodes { library { nodes { id } } } } }`,
		"of the result of a mutation": `mutation { updateUser(input: {id: "u:acme:eve", displayName: "Eve"}) { user { library { nodes { id } } } } }`,
	} {
		t.Run(name, func(t *testing.T) {
			g.spy.reset()
			g.must(as(eve), query)
			if len(g.spy.pages) == 0 || len(g.spy.prefetched) != 0 {
				t.Errorf("%d pages were requested, and %d prefetched", len(g.spy.pages), len(g.spy.prefetched))
			}
		})
	}
}

func sizeOf(a requestedPage) int {
	if n := a.Query.First; n != nil {
		return *n
	}
	return cursor.DefaultPageSize
}
