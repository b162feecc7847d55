package edge

import (
	"fmt"
	"strings"
	"testing"
)

const entities = `query($r:[_Any!]!){_entities(representations:$r){...on User{id}}}`

// references returns n distinct references to users.
func references(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"__typename": "User", "id": fmt.Sprintf("u:acme:%d", i)}
	}
	return list
}

func literalReferences(n int) string {
	return `{_entities(representations:[` + strings.Repeat(`{__typename:"User",id:"u:acme:ann"}`, n) + `]){...on User{id}}}`
}

// TestEntities_TooManyReferencesAreRefused: lists of more than a hundred are refused before
// anything runs, as variables or as literals, even if they would cost little.
func TestEntities_TooManyReferencesAreRefused(t *testing.T) {
	ids := make([]any, 101)
	for i := range ids {
		ids[i] = fmt.Sprintf("u:acme:%d", i)
	}
	for name, c := range map[string]struct {
		query     string
		variables map[string]any
		code      string
	}{
		"none":                 {entities, map[string]any{"r": []any{}}, ""},
		"a hundred":            {entities, map[string]any{"r": references(100)}, ""},
		"a single one":         {entities, map[string]any{"r": references(1)[0]}, ""},
		"101":                  {entities, map[string]any{"r": references(101)}, "BAD_USER_INPUT"},
		"10,000":               {entities, map[string]any{"r": references(10_000)}, "BAD_USER_INPUT"},
		"a hundred, literally": {literalReferences(100), nil, ""},
		"101, literally":       {literalReferences(101), nil, "BAD_USER_INPUT"},
		"101 in a fragment": {`query($r:[_Any!]!){...A} fragment A on Query{_entities(representations:$r){...on User{id}}}`,
			map[string]any{"r": references(101)}, "BAD_USER_INPUT"},
		"101 by default": {`query($r:[_Any!]=[` + strings.Repeat("1,", 101) + `]){_entities(representations:$r){...on User{id}}}`,
			nil, "BAD_USER_INPUT"},
		"101 ids":           {`query($i:[ID!]!){nodes(ids:$i){id}}`, map[string]any{"i": ids}, "BAD_USER_INPUT"},
		"a null among them": {entities, map[string]any{"r": []any{references(1)[0], nil}}, "BAD_USER_INPUT"},
		"null":              {entities, map[string]any{"r": nil}, "BAD_USER_INPUT"},
		"left out":          {`{_entities{...on User{id}}}`, nil, "GRAPHQL_VALIDATION_FAILED"},
		"of no type at all": {`query($r:[_Any!]!){_entities(representations:$r){...on Limits{maxDepth}}}`,
			map[string]any{"r": references(1)}, "GRAPHQL_VALIDATION_FAILED"},
		"a library each of 100": {`query($r:[_Any!]!){_entities(representations:$r){...on User{library(first:100){bucket nodes{id}}}}}`,
			map[string]any{"r": references(100)}, "COST_LIMIT"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			a := e.query(t, c.query, c.variables)
			if a.code() != c.code || c.code != "" && e.calls.Load() > 0 {
				t.Fatalf("got %q after %d calls, want %q: %.300s", a.code(), e.calls.Load(), c.code, a.Body)
			}
			if got := a.Header().Get("Cache-Control"); got != "private, no-store" {
				t.Errorf("Cache-Control: %q", got)
			}
		})
	}
}

// TestEntities_InvalidReferenceAffectsNoOthers: an invalid reference does not affect the others.
func TestEntities_InvalidReferenceAffectsNoOthers(t *testing.T) {
	e := newEdge(t, nil)
	long := strings.Repeat("a", maxWordBytes+1)
	refs := []any{1, long, true, []any{[]any{}}, map[string]any{"__typename": 7, long: long}, references(1)[0]}
	a := e.query(t, entities, map[string]any{"r": refs})
	if got, want := string(a.Data), `{"_entities":[null,null,null,null,null,{"id":"u:acme:0"}]}`; a.code() != "" || got != want {
		t.Errorf("got %s", a.Body)
	}
}

// TestServiceSDL_IsServedWithoutIntrospection: composers can read the schema even if introspection
// is off.
func TestServiceSDL_IsServedWithoutIntrospection(t *testing.T) {
	a := newEdge(t, nil).query(t, `{_service{sdl}}`, nil)
	if a.code() != "" || !strings.Contains(string(a.Data), "type Content implements Node @key(fields: ") {
		t.Errorf("got %.300s", a.Body)
	}
}
