package edge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

func TestVariables_KeepNumbersExactly(t *testing.T) {
	e := newEdge(t, nil)
	doc, r := e.handler.compiler.document(`query($a:ID!,$b:Int,$c:[ID!]!){user(id:$a){library(first:$b){bucket}} nodes(ids:$c){id}}`)
	if r != nil {
		t.Fatal(r.errs)
	}
	const object = `{"a":9007199254740993,"b":1e400,"a":9007199254740995,"c":[1.0,"\u00e9"],"d":"what is not declared"}`
	got, r := readVariables(e.handler.schema, doc.ast.Operations[0], []byte(object))
	if r != nil {
		t.Fatal(r.errs)
	}
	want := map[string]any{"a": json.Number("9007199254740995"), "b": json.Number("1e400"), "c": []any{json.Number("1.0"), "é"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestVariables_LongIDsAndEnumValuesAreRefused: a value that is longer than any id, cursor or enum
// value is refused before it is copied.
func TestVariables_LongIDsAndEnumValuesAreRefused(t *testing.T) {
	long := strings.Repeat("a", maxWordBytes)
	in := func(field string) map[string]any {
		return map[string]any{"in": map[string]any{"tenant": "a", "name": "b", "displayName": "B", "email": "b@example.org", field: long}}
	}
	const create = `mutation($in:CreateUserInput!){createUser(input:$in){user{id}}}`
	for name, c := range map[string]struct {
		query     string
		variables map[string]any
		code      string
	}{
		"an id":              {`query($i:ID!){user(id:$i){id}}`, map[string]any{"i": long}, "BAD_USER_INPUT"},
		"one id of many":     {`query($i:[ID!]!){nodes(ids:$i){id}}`, map[string]any{"i": []string{"a", long}}, "BAD_USER_INPUT"},
		"a cursor":           {`query($c:Cursor){user(id:"x"){library(after:$c){bucket}}}`, map[string]any{"c": long}, "BAD_CURSOR"},
		"an enum":            {create, in("visibility"), "BAD_USER_INPUT"},
		"a text":             {create, in("clientMutationId"), ""},
		"what is not known":  {create, in("nick"), "BAD_USER_INPUT"},
		"a text for an enum": {`query($o:LibraryOrder){user(id:"x"){library(orderBy:$o){bucket}}}`, map[string]any{"o": long}, "BAD_USER_INPUT"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			a := e.query(t, c.query, c.variables)
			if a.code() != c.code || c.code != "" && e.calls.Load() > 0 || strings.Contains(a.Body.String(), "aaaaa") {
				t.Errorf("%d calls: %.300s", e.calls.Load(), a.Body)
			}
		})
	}
}

func TestVariables_MismatchesAreRefused(t *testing.T) {
	const mutation = `mutation($in:CreateUserInput!){createUser(input:$in){user{id}}}`
	in := func(field string, value any) map[string]any {
		m := map[string]any{"tenant": "a", "name": "b", "displayName": "B", "email": "b@example.org"}
		m[field] = value
		return map[string]any{"in": m}
	}
	const library = `query($o:LibraryOrder,$s:Boolean){user(id:"x"){library(orderBy:$o,includeShared:$s){bucket}}}`
	order := func(v any) map[string]any { return map[string]any{"o": v} }
	for name, c := range map[string]struct {
		query     string
		variables map[string]any
		good      bool
		where     string
	}{
		"an input":                 {mutation, in("name", "c"), true, ""},
		"an enum":                  {mutation, in("visibility", "PRIVATE"), true, ""},
		"a null where it may":      {mutation, in("clientMutationId", nil), true, ""},
		"more than is used":        {mutation, map[string]any{"in": in("name", "c")["in"], "x": 1}, true, ""},
		"a number for a string":    {mutation, in("name", 7), false, "$in.name"},
		"a list for a string":      {mutation, in("name", []any{"a"}), false, "$in.name"},
		"an enum in lower case":    {mutation, in("visibility", "private"), false, "$in.visibility"},
		"an enum that is not one":  {mutation, in("visibility", "x"), false, "$in.visibility"},
		"a number for an enum":     {mutation, in("visibility", 1), false, "$in.visibility"},
		"an unknown field":         {mutation, in("nick", "x"), false, ""},
		"a null where it must not": {mutation, in("name", nil), false, ""},
		"a string for an object":   {mutation, map[string]any{"in": "x"}, false, "$in"},
		"nothing":                  {mutation, nil, false, ""},
		"a nested object":          {library, order(map[string]any{"field": "LAST_MODIFIED", "direction": "DESC"}), true, ""},
		"a nested enum":            {library, order(map[string]any{"field": "LAST_MODIFIED", "direction": "DOWN"}), false, "$o.direction"},
		"null for an object":       {library, order(nil), true, ""},
		"a boolean":                {library, map[string]any{"s": true}, true, ""},
		"a string for a boolean":   {library, map[string]any{"s": "true"}, false, "$s"},
		"an id of a fraction":      {`query($i:ID!){user(id:$i){id}}`, map[string]any{"i": 1.5}, false, "$i"},
		"an id beyond numbers":     {`query($i:ID!){user(id:$i){id}}`, map[string]any{"i": json.Number("1e400")}, false, "$i"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			a := e.query(t, c.query, c.variables)
			if good := a.code() == ""; good != c.good || !good && a.code() != "BAD_USER_INPUT" {
				t.Fatalf("got %s", a.Body)
			}
			if !c.good && (e.calls.Load() > 0 || !strings.Contains(a.Errors[0].Message, c.where)) {
				t.Errorf("%d calls: %s", e.calls.Load(), a.Body)
			}
		})
	}
}

// TestCoerce_TextsAreCoercedAsByGqlparser: strings that need no coercion get the same value as from
// gqlparser, and gqlparser coerces all other values.
func TestCoerce_TextsAreCoercedAsByGqlparser(t *testing.T) {
	e := newEdge(t, nil)
	for query, c := range map[string]struct {
		given string
		plain bool
	}{
		`query($i:ID!){user(id:$i){id}}`:                                      {`{"i":"x"}`, true},
		`query($i:ID!,$a:Cursor){user(id:$i){library(after:$a){bucket}}}`:     {`{"i":"x","a":"c"}`, true},
		`query($i:ID!,$b:Cursor){user(id:$i){library(after:$b){bucket}}}`:     {`{"i":"x"}`, true},
		`query($i:ID!,$c:Cursor){user(id:$i){library(after:$c){bucket}}}`:     {`{"i":"x","c":null}`, false},
		`query($i:ID!,$d:Cursor="d"){user(id:$i){library(after:$d){bucket}}}`: {`{"i":"x"}`, false},
		`query($i:ID!,$n:Int){user(id:$i){library(first:$n){bucket}}}`:        {`{"i":"x","n":3}`, false},
		`query($j:ID!){user(id:$j){id}}`:                                      {`{"j":17}`, false},
		`query($k:[ID!]!){nodes(ids:$k){id}}`:                                 {`{"k":"x"}`, false},
	} {
		doc, r := e.handler.compiler.document(query)
		if r != nil {
			t.Fatal(query, r.errs)
		}
		op := doc.ast.Operations[0]
		read := func() map[string]any {
			given, r := readVariables(e.handler.schema, op, []byte(c.given))
			if r != nil {
				t.Fatal(query, r.errs)
			}
			return given
		}
		if got := plainTexts(op, read()); got != c.plain {
			t.Errorf("%s of %s: plain is %t", query, c.given, got)
		}
		want, err := validator.VariableValues(e.handler.schema, op, read())
		got, r := coerce(e.handler.schema, op, read())
		if err != nil || r != nil {
			t.Fatal(query, err, r)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s of %s (-gqlparser +got):\n%s", query, c.given, diff)
		}
	}
	op := &ast.OperationDefinition{VariableDefinitions: ast.VariableDefinitionList{{Variable: "i", Type: ast.NonNullNamedType("ID", nil)}}}
	if plainTexts(op, map[string]any{}) {
		t.Error("a missing required variable is reported as plain")
	}
}
