package edge

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"

	"carrel/graph"
	"carrel/library"
)

func TestVariables_KeepNumbersExactly(t *testing.T) {
	e := newEdge(t, nil)
	doc, r := e.handler.compiler.document(`query($a:ID!,$b:Int,$c:[ID!]!){user(id:$a){library(first:$b){bucket}} nodes(ids:$c){id}}`)
	if r != nil {
		t.Fatal(r.errs)
	}
	const object = `{"a":9007199254740993,"b":1e400,"a":9007199254740995,"c":[1.0,"\u00e9",25e-1],"d":"what is not declared"}`
	got, r := readVariables(e.handler.schema, doc.ast.Operations[0], []byte(object))
	if r != nil {
		t.Fatal(r.errs)
	}
	want := map[string]any{"a": json.Number("9007199254740995"), "b": json.Number("1e400"),
		"c": []any{json.Number("1"), "é", json.Number("25e-1")}}
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

// TestVariables_WholeNumbersAreIntsAndIDs: JSON does not distinguish 1, 1.0 and 1e0.
func TestVariables_WholeNumbersAreIntsAndIDs(t *testing.T) {
	e := newEdge(t, nil)
	const query = `query($n:Int,$i:ID!,$l:[ID!]!){user(id:$i){id library(first:$n){bucket}} nodes(ids:$l){id}}`
	e.onMany = func(_ context.Context, ids []string) ([]library.Node, error) {
		return []library.Node{user(ids[0]), user(ids[len(ids)-1])}, nil
	}
	for number, want := range map[string]string{
		"1": "1", "1.0": "1", "1e0": "1", "1E+0": "1", "10e-1": "1", "0.1e1": "1", "1.000000000000000000000000": "1", "0.0001e4": "1",
		"1.5e1": "15", "1e1": "10", "0": "0", "-0": "0", "-0.0": "0", "0e999999999999999999999": "0", "0.0e-5": "0",
		"100": "100", "2500e-2": "25",
	} {
		for _, list := range []string{number, "[" + number + "]", `["a",` + number + `]`} {
			a := e.send(t, `{"query":`+string(quoted(query))+`,"variables":{"n":`+number+`,"i":`+number+`,"l":`+list+`}}`)
			if !strings.HasPrefix(string(a.Data), `{"user":{"id":"`+want+`","library":{`) ||
				!strings.HasSuffix(string(a.Data), `{"id":"`+want+`"}]}`) {
				t.Errorf("%s in %s: got %s", number, list, a.Body)
			}
		}
	}
	for _, id := range []string{"9223372036854775807", "9223372036854775807.0", "-9223372036854775808",
		"9.223372036854775807e18", "-1e0", "1e18"} {
		want := map[string]string{"-1e0": "-1", "1e18": "1000000000000000000"}[id]
		if want == "" {
			want = strings.Replace(strings.TrimSuffix(strings.TrimSuffix(id, ".0"), "e18"), ".", "", 1)
		}
		if a := e.send(t, `{"query":"query($i:ID!){user(id:$i){id}}","variables":{"i":`+id+`}}`); string(a.Data) != `{"user":{"id":"`+want+`"}}` {
			t.Errorf("%s: got %s", id, a.Body)
		}
	}
	calls := e.calls.Load()
	for _, number := range []string{"1.5", "1e-1", "0.1", "-1.0001", "15e-1", "1e400", "1e99999999999999999999",
		"1e-99999999999999999999", "9223372036854775808",
		"1e19", "-9.3e18", "1" + strings.Repeat("0", 200), "1." + strings.Repeat("0", 200) + "1"} {
		for query, want := range map[string]string{
			`query($v:ID!){user(id:$v){id}}`:                           "$v is not an ID, a string or a whole number of 64 bits.",
			`query($v:Int){user(id:\"a\"){library(first:$v){bucket}}}`: "$v is not an Int, a whole number of 32 bits.",
		} {
			a := e.send(t, `{"query":"`+query+`","variables":{"v":`+number+`}}`)
			if a.code() != "BAD_USER_INPUT" || !strings.Contains(a.Errors[0].Message, want) || e.calls.Load() > calls {
				t.Errorf("%s: got %s", number, a.Body)
			}
		}
	}
}

// TestDateTimes_AreRefusedBeforeAnythingIsExecuted: a mutation before the malformed one is not executed either.
func TestDateTimes_AreRefusedBeforeAnythingIsExecuted(t *testing.T) {
	const good = `createUser(input:{tenant:"a",name:"b",displayName:"B",email:"b@example.org"}){user{id}}`
	mutation := func(declared, at string) string {
		return `mutation` + declared + `{a:` + good + ` b:createPaste(input:{body:"x",expiresAt:` + at + `}){userErrors{code}}}`
	}
	for _, c := range []struct{ query, value, code string }{
		{mutation("", `"tomorrow"`), "", "GRAPHQL_VALIDATION_FAILED"},
		{mutation("", `"""2026-13-01T00:00:00Z"""`), "", "GRAPHQL_VALIDATION_FAILED"},
		{mutation(`($x:DateTime="soon")`, "$x"), "", "GRAPHQL_VALIDATION_FAILED"},
		{mutation(`($x:DateTime)`, "$x"), "tomorrow", "BAD_USER_INPUT"},
		{`mutation($x:CreatePasteInput!){a:` + good + ` b:createPaste(input:$x){userErrors{code}}}`, "2026-11-21", "BAD_USER_INPUT"},
		{mutation("", `"2999-01-01T00:00:00+01:00"`), "", ""},
		{mutation(`($x:DateTime="2999-01-01t00:00:00z")`, "$x"), "2999-01-01T00:00:00.1234567Z", ""},
		{mutation(`($x:DateTime)`, "$x"), "2999-01-01T00:00:00Z", ""},
	} {
		made := 0
		e := newEdge(t, func(c *Config) { c.Limits.Pastes = 0 })
		e.onMake = func(context.Context, graph.CreateUserInput) (*graph.CreateUserPayload, error) {
			made++
			return &graph.CreateUserPayload{}, nil
		}
		variables := map[string]any{}
		if c.value != "" {
			variables["x"] = c.value
			if strings.Contains(c.query, "CreatePasteInput!") {
				variables["x"] = map[string]any{"body": "x", "expiresAt": c.value}
			}
		}
		a := e.query(t, c.query, variables)
		if refused := c.code != ""; refused == (made > 0) || refused && (a.code() != c.code || !strings.Contains(a.Body.String(), "DateTime")) {
			t.Errorf("%s with %v: executed %d, %s", c.query, variables, made, a.Body)
		}
	}
}

// TestLiterals_NumbersBeyond64BitsAreRefused: the executor cannot read them, whatever their type. A
// fraction is no Int, unlike in JSON.
func TestLiterals_NumbersBeyond64BitsAreRefused(t *testing.T) {
	const id = "92233720368547758080"
	for query, at := range map[string]string{
		`{user(id:` + id + `){id}}`:                                                  "1:10",
		`{user(id:-` + id + `){id}}`:                                                 "1:10",
		`{nodes(ids:["a",` + id + `]){id}}`:                                          "1:17",
		`{user(id:"a"){library(first:` + id + `){bucket}}}`:                          "1:29",
		`{user(id:"a"){library(after:` + id + `){bucket}}}`:                          "1:29",
		`{_entities(representations:[{id:` + id + `}]){id}}`:                         "1:33",
		`{_entities(representations:[{id:1e400}]){id}}`:                              "1:33",
		`query($i:ID=` + id + `){user(id:$i){id}}`:                                   "1:13",
		`{viewer @include(if:` + id + `){id}}`:                                       "1:21",
		`{viewer{...F}} fragment F on User{drafts(first:` + id + `){edges{cursor}}}`: "1:48",
	} {
		e := newEdge(t, nil)
		a := e.query(t, query, nil)
		if a.code() != "GRAPHQL_VALIDATION_FAILED" ||
			!strings.HasPrefix(a.Errors[0].Message, "A number has at most 64 bits; a longer ID is written as a string") ||
			a.Errors[0].at() != at || e.calls.Load() > 0 || e.log.Len() > 0 {
			t.Errorf("%s: got %s, %s", query, a.Body, e.log.String())
		}
	}
	for query, want := range map[string]string{
		`{user(id:9223372036854775807){id}}`:         `{"user":{"id":"9223372036854775807"}}`,
		`{user(id:1.0){id}}`:                         "",
		`{user(id:"a"){library(first:1.0){bucket}}}`: "",
	} {
		if a := newEdge(t, nil).query(t, query, nil); string(a.Data) != want || want == "" && a.code() != "GRAPHQL_VALIDATION_FAILED" {
			t.Errorf("%s: got %s", query, a.Body)
		}
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
		"an unknown field":         {mutation, in("nick", "x"), false, "$in.nick is not a field"},
		"a null where it must not": {mutation, in("name", nil), false, "$in.name cannot be null"},
		"a string for an object":   {mutation, map[string]any{"in": "x"}, false, "$in"},
		"nothing":                  {mutation, nil, false, "$in must be defined"},
		"an id that is too long": {`query($i:ID!){user(id:$i){id}}`, map[string]any{"i": strings.Repeat("x", maxWordBytes+1)}, false,
			"$i has a value of type ID with more than 4096 bytes"},
		"a nested object":        {library, order(map[string]any{"field": "LAST_MODIFIED", "direction": "DESC"}), true, ""},
		"a nested enum":          {library, order(map[string]any{"field": "LAST_MODIFIED", "direction": "DOWN"}), false, "$o.direction"},
		"null for an object":     {library, order(nil), true, ""},
		"a boolean":              {library, map[string]any{"s": true}, true, ""},
		"a string for a boolean": {library, map[string]any{"s": "true"}, false, "$s"},
		"an id of a fraction":    {`query($i:ID!){user(id:$i){id}}`, map[string]any{"i": 1.5}, false, "$i"},
		"an id beyond numbers":   {`query($i:ID!){user(id:$i){id}}`, map[string]any{"i": json.Number("1e400")}, false, "$i"},
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
