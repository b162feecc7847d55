package resolvers_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// TestLibrary_ReadsOnlyWhatIsSelected checks the calls for each selection.
func TestLibrary_ReadsOnlyWhatIsSelected(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(25)
	type costs struct {
		Query                   library.LibraryQuery
		Principals, Permissions int // calls
		Counts                  int
	}
	first := func(n int) cursor.PageArgs { return cursor.PageArgs{First: &n} }
	word := "a"
	last := func(n int) cursor.PageArgs { return cursor.PageArgs{Last: &n} }
	cases := []struct {
		name, selection string
		want            costs
	}{
		{"bucket alone", `library { bucket }`, costs{Query: library.LibraryQuery{NoEntries: true}}},
		{"count alone", `library { count { value } }`, costs{Query: library.LibraryQuery{NoEntries: true}, Counts: 1}},
		{"titles", `library(first: 3) { edges { node { title } } }`, costs{Query: library.LibraryQuery{PageArgs: first(3)}}},
		{"nodes", `library(first: 3) { nodes { title } }`, costs{Query: library.LibraryQuery{PageArgs: first(3)}}},
		{"page info, no edges", `library(first: 3) { pageInfo { hasNextPage endCursor } }`,
			costs{Query: library.LibraryQuery{PageArgs: first(3)}}},
		{"the other flag forwards", `library(first: 3) { pageInfo { hasPreviousPage } }`,
			costs{Query: library.LibraryQuery{PageArgs: first(3), OtherSide: true}}},
		{"this flag backwards", `library(last: 3) { pageInfo { hasPreviousPage } }`, costs{Query: library.LibraryQuery{PageArgs: last(3)}}},
		{"the other flag backwards", `library(last: 3) { pageInfo { hasNextPage } }`,
			costs{Query: library.LibraryQuery{PageArgs: last(3), OtherSide: true}}},
		{"newest first", `library(first: 3, orderBy: {field: LAST_MODIFIED, direction: DESC}) { nodes { id } }`,
			costs{Query: library.LibraryQuery{PageArgs: first(3), Descending: true}}},
		{"include shared", `library(first: 3, includeShared: true) { nodes { id } }`,
			costs{Query: library.LibraryQuery{PageArgs: first(3), IncludeShared: true}}},
		{"a filter", `library(first: 3, filter: {text: "a", visibilities: [PUBLIC, PRIVATE]}) { nodes { id } }`,
			costs{Query: library.LibraryQuery{PageArgs: first(3), Filter: &library.LibraryFilter{Text: &word,
				Visibilities: []principal.Visibility{principal.Public, principal.Private}}}}},
		{"no filter", `library(first: 3, filter: null) { nodes { id } }`, costs{Query: library.LibraryQuery{PageArgs: first(3)}}},
		{"20 creators", `library(first: 20) { edges { node { createdBy { id } } } }`,
			costs{Query: library.LibraryQuery{PageArgs: first(20)}, Principals: 1}},
		{"creators under two names",
			`library(first: 20) { edges { node { createdBy { id } c: createdBy { displayName } } } nodes { createdBy { id } } }`,
			costs{Query: library.LibraryQuery{PageArgs: first(20)}, Principals: 1}},
		{"permissions", `library(first: 20) { edges { node { viewerRole viewerCanShare viewerCanManage viewerCanDelete } } }`,
			costs{Query: library.LibraryQuery{PageArgs: first(20), WithPermissions: true}}},
		{"permissions in a fragment", `library(first: 20) { ...f }`,
			costs{Query: library.LibraryQuery{PageArgs: first(20), WithPermissions: true}}},
		{"permissions with a field that is not planned", `library(first: 1) { nodes { createdBy { email } viewerRole } }`,
			costs{Query: library.LibraryQuery{PageArgs: first(1), WithPermissions: true}, Principals: 1}},
		{"page info with a field that is not planned",
			`library(first: 1) { nodes { members { edges { role } } } pageInfo { hasPreviousPage } }`,
			costs{Query: library.LibraryQuery{PageArgs: first(1), OtherSide: true}}},
		{"permissions after a field that is not planned", `library(first: 1) { nodes { members { edges { role } } viewerRole } }`,
			costs{Query: library.LibraryQuery{PageArgs: first(1), WithPermissions: true}}},
		{"both flags backwards", `library(before: null, last: 3) { pageInfo { hasPreviousPage hasNextPage } }`,
			costs{Query: library.LibraryQuery{PageArgs: last(3), OtherSide: true}}},
		{"permissions skipped", `library(first: 20) { nodes { id viewerRole @include(if: false) } }`,
			costs{Query: library.LibraryQuery{PageArgs: first(20)}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g.spy.reset()
			query := `{ principal(id: "u:acme:eve") { ` + c.selection + ` } }`
			if strings.Contains(c.selection, "...f") {
				query += ` fragment f on LibraryConnection { e: edges { n: node { ... on Node { ... on Content { viewerRole } } } } }`
			}
			g.must(as("u:acme:eve"), query)
			// Looking up eve is one call of Principals.
			got := costs{Principals: len(g.spy.principals) - 1, Permissions: len(g.spy.permissions), Counts: g.spy.counts}
			if len(g.spy.pages) != 1 {
				t.Fatalf("%d pages were read, want 1", len(g.spy.pages))
			}
			got.Query = g.spy.pages[0].Query
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("costs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLibrary_PageContainsTheSelectedFields(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(25)
	page := g.must(as("u:acme:eve"), `{ user(id: "u:acme:eve") { library(first: 20) {
		edges { cursor role node { id tenant kind title link description visibility version createdBy { id } viewerRole viewerCanShare viewerCanManage lastModified expiresAt } }
		nodes { id }
		pageInfo { hasNextPage hasPreviousPage startCursor endCursor } bucket count { value precision } } } }`)
	at := func(path ...any) any { return page.at(append([]any{"user", "library"}, path...)...) }
	if edges, _ := at("edges").([]any); len(edges) != 20 {
		t.Fatalf("%d edges, want 20", len(edges))
	}
	for path, want := range map[[3]any]any{
		{"bucket"}:                      "PRIVATE",
		{"count", "value"}:              25.0,
		{"count", "precision"}:          "EXACT",
		{"pageInfo", "hasNextPage"}:     true,
		{"pageInfo", "hasPreviousPage"}: false,
		{"pageInfo", "startCursor"}:     at("edges", 0, "cursor"),
		{"pageInfo", "endCursor"}:       at("edges", 19, "cursor"),
		{"edges", 3, "role"}:            "VIEWER",
		{"nodes", 3, "id"}:              "c:acme:item003",
	} {
		var p []any
		for _, part := range path {
			if part != nil {
				p = append(p, part)
			}
		}
		if got := at(p...); got != want {
			t.Errorf("%v: got %v, want %v", p, got, want)
		}
	}
	node, _ := at("edges", 3, "node").(map[string]any)
	if at, _ := node["lastModified"].(string); len(at) != len("2026-11-21T09:30:00.123456Z") {
		t.Errorf("lastModified is %q, want six decimals", at)
	}
	delete(node, "lastModified")
	want := map[string]any{
		"id": "c:acme:item003", "tenant": "acme", "kind": "LINK", "title": "item003", "link": "https://example.com/", "description": nil,
		"visibility": "PUBLIC", "version": 1.0, "createdBy": map[string]any{"id": "u:acme:ann"},
		"viewerRole": "VIEWER", "viewerCanShare": true, "viewerCanManage": false, "expiresAt": nil,
	}
	if diff := cmp.Diff(want, node); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	if got := at("edges", 2, "node", "createdBy"); got != nil {
		t.Errorf("the hidden creator is %v, want null", got)
	}
}

func TestLibrary_InvalidPageArgumentsAreRefused(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(1)
	for arguments, want := range map[string]fault.Reason{
		`first: -1`:                fault.ReasonBadInput,
		`first: 101`:               fault.ReasonBadInput,
		`first: 1, last: 1`:        fault.ReasonBadInput,
		`last: 1, after: "x"`:      fault.ReasonBadInput,
		`first: 3000000000`:        fault.ReasonBadInput,
		`first: 1, after: "x"`:     fault.ReasonBadCursor,
		`first: 1, after: ""`:      fault.ReasonBadCursor,
		`before: "0000000000000="`: fault.ReasonBadCursor,
		`filter: {kinds: []}`:      fault.ReasonBadInput,
		`filter: {createdBy: "x"}`: fault.ReasonBadInput,
	} {
		a := g.do(as("u:acme:eve"), `{ user(id: "u:acme:eve") { library(`+arguments+`) { bucket nodes { id } } } }`)
		if len(a.errs) != 1 || fault.ReasonOf(a.errs[0]) != want {
			t.Errorf("%s: errors %v, want one of %s", arguments, a.errs, want)
		}
	}
}
