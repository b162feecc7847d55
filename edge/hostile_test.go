package edge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// bomb returns a chain of fragments each of which spreads the next one twice.
func bomb(levels int, leaf string) string {
	var q strings.Builder
	q.WriteString("{viewer{...F0}}")
	for i := range levels {
		fmt.Fprintf(&q, " fragment F%d on User{...F%d ...F%d}", i, i+1, i+1)
	}
	fmt.Fprintf(&q, " fragment F%d on User{%s}", levels, leaf)
	return q.String()
}

// fieldBomb returns a chain in which each fragment selects two fields with unique aliases, so that
// nothing can be merged.
func fieldBomb(levels int) string {
	q := bomb(levels, "id")
	for i := range levels {
		both := fmt.Sprintf("...F%d ...F%d", i+1, i+1)
		q = strings.Replace(q, both, strings.NewReplacer("F",
			fmt.Sprintf("F%d", i+1)).Replace("a:library{nodes{createdBy{...F}}} b:library{nodes{createdBy{...F}}}"), 1)
	}
	return q
}

// overlapping returns n fragments with the same selection.
func overlapping(n int, selection string) string {
	var fragments strings.Builder
	for i := range n {
		fmt.Fprintf(&fragments, " fragment F%d on User{%s}", i, selection)
	}
	return "{viewer{" + spreads(n) + "}}" + fragments.String()
}

func spreads(n int) string {
	var q strings.Builder
	for i := range n {
		fmt.Fprintf(&q, "...F%d ", i)
	}
	return q.String()
}

// chain returns fragments each of which spreads the next one.
func chain(levels int) string {
	var q strings.Builder
	for i := range levels {
		fmt.Fprintf(&q, " fragment F%d on User{...F%d}", i, i+1)
	}
	return q.String() + fmt.Sprintf(" fragment F%d on User{id}", levels)
}

func otherArguments(n int) string {
	var q strings.Builder
	for i := range n {
		fmt.Fprintf(&q, "library(first:%d){bucket} ", i)
	}
	return q.String()
}

// nested returns a query of a depth, including the leaf.
func nested(depth int) string {
	// Below user, the fields library, edges, node and createdBy repeat.
	open := []string{`user(id:"x")`}
	chain := []string{"library(first:1)", "edges", "node", "createdBy"}
	for len(open) < depth-1 {
		open = append(open, chain[(len(open)-1)%len(chain)])
	}
	leaf := "__typename"
	return "{" + strings.Join(open, "{") + "{" + leaf + strings.Repeat("}", depth)
}

func aliases(n int) string {
	var q strings.Builder
	for i := range n {
		fmt.Fprintf(&q, " a%d:id", i)
	}
	return "{viewer{" + q.String() + "}}"
}

func rootFields(operation string, n int, field string) string {
	var q strings.Builder
	for i := range n {
		fmt.Fprintf(&q, " a%d:%s", i, field)
	}
	return operation + "{" + q.String() + "}"
}

const anyMutation = `createUser(input:{tenant:"a",name:"b",displayName:"B",email:"b@example.org"}){user{id}}`

func operations(n int) string {
	var q strings.Builder
	for i := range n {
		fmt.Fprintf(&q, "query Q%d{viewer{id}} ", i)
	}
	return q.String()
}

func TestLimits_DocumentsBeyondThemAreRefused(t *testing.T) {
	wide := func(n int) string { return "{viewer{" + strings.Repeat("id ", n) + "}}" }
	for name, c := range map[string]struct{ query, code string }{
		"30 aliases":              {aliases(30), ""},
		"31 aliases":              {aliases(31), "ALIAS_LIMIT"},
		"101 aliases at the root": {rootFields("query", 101, "viewer{id}"), "ALIAS_LIMIT"},
		"aliases by fragments": {"{viewer{...A} user(id:\"x\"){...A ...A}} fragment A on User{" +
			aliases(11)[len("{viewer{"):len(aliases(11))-2] + "}", "ALIAS_LIMIT"},
		"depth 12":           {nested(12), ""},
		"depth 13":           {nested(13), "DEPTH_LIMIT"},
		"depth by fragments": {`{user(id:"x"){library{edges{node{...A}}}}} fragment A on Content{createdBy{library{edges{node{...B}}}}} fragment B on Content{createdBy{library{edges{node{id}}}}}`, "DEPTH_LIMIT"},
		"braces without end": {strings.Repeat("{a", 1000), "GRAPHQL_PARSE_FAILED"},
		"lists without end":  {`{user(id:` + strings.Repeat("[", 1500) + strings.Repeat("]", 400) + `)}`, "DEPTH_LIMIT"},
		"12 lists": {`{nodes(ids:` + strings.Repeat("[", 12) + `"a"` + strings.Repeat("]", 12) + `){id}}`,
			"GRAPHQL_VALIDATION_FAILED"},
		"13 lists": {`{nodes(ids:` + strings.Repeat("[", 13) + `"a"` + strings.Repeat("]", 13) + `){id}}`, "DEPTH_LIMIT"},
		"13 objects by default": {`query($v:ID=` + strings.Repeat("{a:", 13) + `1` + strings.Repeat("}", 13) + `){viewer{id}}`,
			"DEPTH_LIMIT"},
		"13 lists in a directive": {`{viewer{id @include(if:` + strings.Repeat("[", 13) + strings.Repeat("]", 13) + `)}}`,
			"DEPTH_LIMIT"},
		"60 fragments that share one":      {overlapping(60, "...G") + " fragment G on User{id}", ""},
		"140 fragments that share one":     {overlapping(140, "...G") + " fragment G on User{id}", "DUPLICATE_LIMIT"},
		"300 fragments that are not there": {"{viewer{" + spreads(300) + "}}", "DUPLICATE_LIMIT"},
		"inline fragments of one chain":    {"{viewer{" + strings.Repeat("...{...F0}", 150) + "}}" + chain(70), "DUPLICATE_LIMIT"},
		"a fragment bomb":                  {bomb(26, "id"), "DUPLICATE_LIMIT"},
		"a bomb of aliases":                {fieldBomb(26), "ALIAS_LIMIT"},
		"a cycle of one":                   {"{viewer{...A}} fragment A on User{id ...A}", "GRAPHQL_VALIDATION_FAILED"},
		"a cycle of two":                   {"{viewer{...A}} fragment A on User{...B} fragment B on User{...A}", "GRAPHQL_VALIDATION_FAILED"},
		"a cycle through fields":           {"{viewer{...A}} fragment A on User{library{nodes{createdBy{...A}}}}", "GRAPHQL_VALIDATION_FAILED"},
		"a cycle nobody spreads":           {"{viewer{id}} fragment A on User{id ...A}", "GRAPHQL_VALIDATION_FAILED"},
		"a field 999 times":                {wide(999), ""},
		"a field 1,000 times":              {wide(1000), "DUPLICATE_LIMIT"},
		"a field 4,000 times":              {wide(4000), "TOKEN_LIMIT"},
		"30 fragments share three fields":  {overlapping(30, "id tenant displayName"), ""},
		"120 fragments share a connection": {overlapping(120, "library{bucket}"), "DUPLICATE_LIMIT"},
		"inline fragments share a field":   {"{viewer{" + strings.Repeat("...{id}", 450) + "}}", "DUPLICATE_LIMIT"},
		"the same with other arguments":    {`{viewer{` + otherArguments(150) + `}}`, "DUPLICATE_LIMIT"},
		"a connection 480 times":           {"{viewer{" + strings.Repeat("library{bucket}", 480) + "}}", ""},
		"fields that conflict":             {`{viewer{library(first:1){bucket} library(first:2){bucket}}}`, "GRAPHQL_VALIDATION_FAILED"},
		"20 directives":                    {"{viewer{id" + strings.Repeat(" ...@include(if:true){id}", 20) + "}}", ""},
		"21 directives":                    {"{viewer{id" + strings.Repeat(" ...@include(if:true){id}", 21) + "}}", "DIRECTIVE_LIMIT"},
		"900 unknown directives":           {"{viewer{id" + strings.Repeat("@x", 900) + "}}", "DIRECTIVE_LIMIT"},
		"directives everywhere": {"query($v:Int" + strings.Repeat("@x", 7) + ")" + strings.Repeat("@x", 7) +
			"{viewer{...A}} fragment A on User" + strings.Repeat("@x", 7) + "{id}", "DIRECTIVE_LIMIT"},
		"20 operations":  {operations(20), "OPERATION_RESOLUTION_FAILURE"},
		"21 operations":  {operations(21), "OPERATION_LIMIT"},
		"10 root fields": {rootFields("query", 10, "viewer{id}"), ""},
		"11 root fields": {rootFields("query", 11, "viewer{id}"), "ROOT_FIELD_LIMIT"},
		"5 mutations":    {rootFields("mutation", 5, anyMutation), ""},
		"6 mutations":    {rootFields("mutation", 6, anyMutation), "ROOT_FIELD_LIMIT"},
		"root fields by fragments": {"{...A " + rootFields("", 6, "viewer{id}")[1:] + " fragment A on Query{" +
			strings.NewReplacer("a", "b").Replace(rootFields("", 6, "__typename")[1:]), "ROOT_FIELD_LIMIT"},
		"15,000 characters":               {"{viewer{id}}" + strings.Repeat(" ", 14_988), ""},
		"15,001 characters":               {"{viewer{id}}" + strings.Repeat(" ", 14_989), "QUERY_TOO_LONG"},
		"characters, not bytes":           {"{viewer{id}}#" + strings.Repeat("ü", 14_000), ""},
		"a megabyte":                      {strings.Repeat("{a", 500_000), "QUERY_TOO_LONG"},
		"2,001 tokens":                    {"{viewer{" + strings.Repeat("id ", 1_996) + "}}", "TOKEN_LIMIT"},
		"first 100":                       {`{user(id:"x"){library(first:100){bucket}}}`, ""},
		"first 101":                       {`{user(id:"x"){library(first:101){bucket}}}`, "BAD_USER_INPUT"},
		"first a million":                 {`{user(id:"x"){library(first:1000000){bucket}}}`, "BAD_USER_INPUT"},
		"first beyond any number":         {`{user(id:"x"){library(first:99999999999999999999){bucket}}}`, "GRAPHQL_VALIDATION_FAILED"},
		"first -1":                        {`{user(id:"x"){library(first:-1){bucket}}}`, "BAD_USER_INPUT"},
		"last 101 in a fragment":          {`{user(id:"x"){...A}} fragment A on User{library(last:101){bucket}}`, "BAD_USER_INPUT"},
		"first 101 in an inline fragment": {`{user(id:"x"){...{library(first:101){bucket}}}}`, "BAD_USER_INPUT"},
		"first null":                      {`{user(id:"x"){library(first:null){bucket}}}`, ""},
		"introspection of the schema":     {"{__schema{types{name}}}", "INTROSPECTION_DISABLED"},
		"introspection of a type":         {`{__type(name:"User"){name}}`, "INTROSPECTION_DISABLED"},
		"introspection in a fragment":     {"{...A} fragment A on Query{__schema{types{name}}}", "INTROSPECTION_DISABLED"},
		"introspection in another":        {"query A{viewer{id}} query B{__schema{types{name}}}", "INTROSPECTION_DISABLED"},
		"circular introspection": {"{__schema" + strings.Repeat("{types{fields{type", 5) + "{name}" + strings.Repeat("}}}", 5) + "}",
			"INTROSPECTION_DISABLED"},
		"__typename is no introspection":   {"{__typename viewer{__typename}}", ""},
		"two operations, neither is named": {"{viewer{id}} {viewer{id}}", "GRAPHQL_VALIDATION_FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			a := e.query(t, c.query, nil)
			if a.code() != c.code {
				t.Fatalf("got %q, want %q: %.300s", a.code(), c.code, a.Body)
			}
			if c.code == "" {
				return
			}
			if n := e.calls.Load(); n != 0 {
				t.Errorf("%d resolvers ran", n)
			}
			if _, has := a.keys["data"]; has || a.Code != 200 || a.Body.Len() > 2000 {
				t.Errorf("status %d, %d bytes: %.300s", a.Code, a.Body.Len(), a.Body)
			}
			if a := e.query(t, c.query, nil, graphqlJSON); a.Code != 400 {
				t.Errorf("status %d for graphql-response+json", a.Code)
			}
		})
	}
}

func TestLimits_PageSizesInVariablesAreChecked(t *testing.T) {
	const query = `query($n:Int=20){user(id:"x"){library(first:$n){bucket}}}`
	for name, c := range map[string]struct {
		variables map[string]any
		code      string
	}{
		"100":                {map[string]any{"n": 100}, ""},
		"101":                {map[string]any{"n": 101}, "BAD_USER_INPUT"},
		"-1":                 {map[string]any{"n": -1}, "BAD_USER_INPUT"},
		"null":               {map[string]any{"n": nil}, ""},
		"left out":           {nil, ""},
		"larger than an Int": {map[string]any{"n": 1 << 40}, "BAD_USER_INPUT"},
		"1e400":              {map[string]any{"n": json.Number("1e400")}, "BAD_USER_INPUT"},
		"a fraction":         {map[string]any{"n": 1.5}, "BAD_USER_INPUT"},
		"a string":           {map[string]any{"n": "20"}, "BAD_USER_INPUT"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			a := e.query(t, query, c.variables)
			if a.code() != c.code || c.code != "" && e.calls.Load() > 0 {
				t.Errorf("got %q after %d calls, want %q: %s", a.code(), e.calls.Load(), c.code, a.Body)
			}
		})
	}
}

func TestErrors_HaveNoSuggestionsInProduction(t *testing.T) {
	for name, query := range map[string]string{
		"field":       `{vewer{id}}`,
		"argument":    `{user(idd:"x"){id}}`,
		"type":        `{viewer{...on Usr{id}}}`,
		"variable":    `query($i:IDD!){user(id:$i){id}}`,
		"enum":        `{user(id:"x"){library(orderBy:{field:LAST_MODIFIED,direction:DESCC}){bucket}}}`,
		"input field": `mutation{createUser(input:{tenent:"a",name:"b",displayName:"B",email:"b@example.org"}){user{id}}}`,
		"directive":   `{viewer{id @incude(if:true)}}`,
		"leaf":        `{viewer}`,
		"fragment":    `{viewer{...Frag}} fragment Frg on User{id}`,
	} {
		t.Run(name, func(t *testing.T) {
			a := newEdge(t, nil).query(t, query, nil)
			if a.code() != "GRAPHQL_VALIDATION_FAILED" || strings.Contains(strings.ToLower(a.Body.String()), "did you mean") {
				t.Errorf("got %s", a.Body)
			}
		})
	}
	dev := newEdge(t, func(c *Config) { c.Development = true })
	if a := dev.query(t, `{vewer{id}}`, nil); !strings.Contains(a.Body.String(), "Did you mean") {
		t.Errorf("no suggestion in development: %s", a.Body)
	}
}

func TestIntrospection_IsForDevelopment(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Development = true })
	typeRef := "kind name"
	for range 9 {
		typeRef = "kind name ofType{" + typeRef + "}"
	}
	full := `{__schema{queryType{name} types{kind name fields(includeDeprecated:true){name args{name type{` + typeRef +
		`}}}} directives{name locations}}}`
	if a := e.query(t, full, nil); a.code() != "" || !strings.Contains(string(a.Data), `"LibraryConnection"`) {
		t.Errorf("got %.300s", a.Body)
	}
	if a := e.query(t, `{__type(name:"User"){fields{name}}}`, nil); a.code() != "" {
		t.Errorf("got %.300s", a.Body)
	}
	deep := "{__schema{types{fields{type{" + strings.Repeat("ofType{", 12) + "name" + strings.Repeat("}", 17)
	if a := e.query(t, deep, nil); a.code() != "DEPTH_LIMIT" {
		t.Errorf("got %.300s", a.Body)
	}
}

// TestHostile_DocumentsAreCheap passes if it ends: without memoization, the inspection would visit
// 2^26 selection sets and not end within the time of the test.
func TestHostile_DocumentsAreCheap(t *testing.T) {
	e := newEdge(t, nil)
	for range 100 {
		if a := e.query(t, bomb(60, "id"), nil); a.code() != "DUPLICATE_LIMIT" {
			t.Fatalf("got %s", a.Body)
		}
	}
}

func TestHostile_DeepJSONCausesNoPanic(t *testing.T) {
	e := newEdge(t, nil)
	for _, body := range []string{
		`{"query":"{__typename}","variables":` + strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000) + "}",
		`{"query":"{__typename}","x":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}",
		`{"query":"query($i:ID!){user(id:$i){id}}","variables":{"i":"\u0000\ud800"}}`,
	} {
		a := e.send(t, body)
		if a.Code != 200 && a.Code != 400 || strings.Contains(a.Body.String(), strings.Repeat("[", 100)) {
			t.Errorf("got %d %.200s", a.Code, a.Body)
		}
	}
}

func TestMerge_DoesNotChangeResults(t *testing.T) {
	e := newEdge(t, nil)
	for query, want := range map[string]string{
		`{user(id:"x"){id} user(id:"x"){displayName id}}`:                    `{"user":{"id":"x","displayName":"Ann"}}`,
		`{user(id:"x"){displayName id displayName}}`:                         `{"user":{"displayName":"Ann","id":"x"}}`,
		`{a:user(id:"x"){id} b:user(id:"y"){id} a:user(id:"x"){id}}`:         `{"a":{"id":"x"},"b":{"id":"y"}}`,
		`{user(id:"x"){id @skip(if:true) id @include(if:false)}}`:            `{"user":{}}`,
		`{user(id:"x"){id @skip(if:true) id}}`:                               `{"user":{"id":"x"}}`,
		`{user(id:"x"){...A displayName ...A}} fragment A on User{id}`:       `{"user":{"id":"x","displayName":"Ann"}}`,
		`{user(id:"x"){...A @skip(if:true) ...A}} fragment A on User{id id}`: `{"user":{"id":"x"}}`,
	} {
		if a := e.query(t, query, nil); string(a.Data) != want {
			t.Errorf("%s: %s", query, a.Body)
		}
	}
}
