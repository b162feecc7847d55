package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// A hostile request is refused, which should cost next to nothing.
type hostile struct {
	name   string
	body   []byte
	header http.Header
	// The expected refusal: the status, and a part of the response.
	status int
	code   string
}

// hostileRequests returns the requests of the table, from the smallest document to the
// largest body.
func hostileRequests() []hostile {
	var all []hostile
	for _, list := range [][]hostile{hostileDocuments(), hostileNames(), hostileValues(), hostileBodies(), hostileHeaders()} {
		all = append(all, list...)
	}
	return all
}

// body returns a request with a query and variables, as JSON.
func body(query string, variables any) []byte {
	b, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		panic(err) // strings are always encoded
	}
	return b
}

// refusedQuery returns a hostile query that is refused with status 200.
func refusedQuery(name, query, code string) hostile {
	return hostile{name: name, body: body(query, nil), status: http.StatusOK, code: code}
}

// numbered repeats the format n times, each with its number.
func numbered(n int, format string) string {
	var s strings.Builder
	for i := range n {
		s.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return s.String()
}

// fragmentBomb returns a chain of fragments each of which spreads the next one twice.
func fragmentBomb(levels int) string {
	s := "{viewer{...F0}}"
	for i := range levels {
		s += fmt.Sprintf(" fragment F%d on User{...F%d ...F%d}", i, i+1, i+1)
	}
	return s + fmt.Sprintf(" fragment F%d on User{id}", levels)
}

// fieldBomb returns a chain in which each fragment selects two fields with different
// names, so that nothing in it can be merged.
func fieldBomb(levels int) string {
	s := "{viewer{...F0}}"
	for i := range levels {
		s += fmt.Sprintf(" fragment F%d on User{a:library{nodes{createdBy{...F%d}}} b:library{nodes{createdBy{...F%d}}}}", i, i+1, i+1)
	}
	return s + fmt.Sprintf(" fragment F%d on User{id}", levels)
}

// chain returns fragments each of which spreads the next one.
func chain(levels int) string {
	var s strings.Builder
	for i := range levels {
		fmt.Fprintf(&s, " fragment F%d on User{...F%d}", i, i+1)
	}
	return s.String() + fmt.Sprintf(" fragment F%d on User{id}", levels)
}

// hostileDocuments exceed a limit on their shape or cost.
func hostileDocuments() []hostile {
	const page = "library(first:100){nodes{createdBy{"
	return []hostile{
		refusedQuery("101 aliases", "{viewer{"+numbered(101, "a#:id ")+"}}", "ALIAS_LIMIT"),
		refusedQuery("fragment bomb, 26 levels", fragmentBomb(26), "DUPLICATE_LIMIT"),
		refusedQuery("fragment bomb, 100 levels", fragmentBomb(100), "DUPLICATE_LIMIT"),
		refusedQuery("bomb of fields, 20 levels", fieldBomb(20), "ALIAS_LIMIT"),
		refusedQuery("fragment cycle", "{viewer{...A}} fragment A on User{...B} fragment B on User{...A}", "GRAPHQL_VALIDATION_FAILED"),
		refusedQuery("depth 13", "{viewer{"+strings.Repeat(page, 3)+"library{nodes{id"+strings.Repeat("}", 13), "DEPTH_LIMIT"),
		refusedQuery("depth 600", strings.Repeat("{a", 600)+strings.Repeat("}", 600), "DEPTH_LIMIT"),
		refusedQuery("connections of 100 x 100 x 100", "{viewer{"+strings.Repeat(page, 3)+"id"+strings.Repeat("}}}", 3)+"}}", "COST_LIMIT"),
		refusedQuery("a field 4,000 times", "{viewer{"+strings.Repeat("id ", 4_000)+"}}", "TOKEN_LIMIT"),
		refusedQuery("a field 1,500 times", "{viewer{"+strings.Repeat("id ", 1_500)+"}}", "DUPLICATE_LIMIT"),
		refusedQuery("180 fragments that overlap", "{viewer{"+numbered(180, "...F# ")+"}}"+numbered(180, "fragment F# on User{id tenant} "), "DUPLICATE_LIMIT"),
		refusedQuery("a connection with 150 different arguments", "{viewer{"+numbered(150, "library(first:#){bucket} ")+"}}", "DUPLICATE_LIMIT"),
		refusedQuery("900 directives", "{viewer{id"+strings.Repeat("@x", 900)+"}}", "DIRECTIVE_LIMIT"),
		refusedQuery("50 operations", numbered(50, "query Q#{viewer{id}} "), "OPERATION_LIMIT"),
		refusedQuery("introspection", "{__schema{types{fields{type{fields{type{name}}}}}}}", "INTROSPECTION_DISABLED"),
		refusedQuery("11 root fields", "{"+numbered(11, "a#:viewer{id} ")+"}", "ROOT_FIELD_LIMIT"),
	}
}

// hostileNames are within the limits on their shape, and make validation as expensive as
// possible.
func hostileNames() []hostile {
	const invalid = "GRAPHQL_VALIDATION_FAILED"
	return []hostile{
		refusedQuery("900 unknown fields", "{viewer{"+numbered(900, "f# ")+"}}", invalid),
		refusedQuery("450 unknown arguments", "{viewer{library("+numbered(450, "a#:1 ")+"){bucket}}}", invalid),
		refusedQuery("60 unknown fragments", "{viewer{"+numbered(60, "...F# ")+"}}", invalid),
		refusedQuery("900 unknown fragments", "{viewer{"+numbered(900, "...F# ")+"}}", "DUPLICATE_LIMIT"),
		refusedQuery("120 fragments without a field in common", "{viewer{"+numbered(120, "...F# ")+"}} fragment G on User{id} "+numbered(120, "fragment F# on User{...G} "), "DUPLICATE_LIMIT"),
		refusedQuery("150 inline fragments, each of a chain of 70", "{viewer{"+strings.Repeat("...{...F0}", 150)+"}}"+chain(70), "DUPLICATE_LIMIT"),
		refusedQuery("280 fragments that nothing spreads", "{viewer{id}} "+numbered(280, "fragment F# on User{id}"), invalid),
		refusedQuery("200 fragments on unknown types", "{viewer{"+numbered(200, "...on T#{id} ")+"}}", "DUPLICATE_LIMIT"),
		refusedQuery("490 variables that nothing uses", "query("+numbered(490, "$v#:Int ")+"){viewer{id}}", invalid),
		refusedQuery("450 variables that nobody declares", "{nodes(ids:["+numbered(900, "$v# ")+"]){id}}", invalid),
		refusedQuery("20 operations that share 60 fragments", numbered(20, "query Q#{viewer{...F0}} ")+numbered(59, "fragment F# on User{id ...G#} fragment G# on User{x#} "), invalid),
		refusedQuery("an input of 450 unknown members", "mutation{createUser(input:{"+numbered(450, "m#:1 ")+"}){user{id}}}", invalid),
		refusedQuery("lists in lists, 900 levels", `{user(id:`+strings.Repeat("[", 900)+strings.Repeat("]", 900)+`){id}}`, "DEPTH_LIMIT"),
	}
}

// hostileValues are valid documents with invalid values.
func hostileValues() []hostile {
	const user = "query($i:ID!){user(id:$i){id}}"
	const after = "query($c:Cursor){viewer{id library(after:$c){bucket}}}"
	return []hostile{
		{name: "a cursor that nobody made", body: body(after, map[string]string{"c": strings.Repeat("A", 3<<10)}), status: http.StatusOK, code: "BAD_CURSOR"},
		{name: "a cursor of 1 MB", body: body(after, map[string]string{"c": strings.Repeat("A", 1<<20-100)}), status: http.StatusOK, code: "BAD_CURSOR"},
		{name: "an id of 1 MB", body: body(user, map[string]string{"i": strings.Repeat("a", 1<<20-100)}), status: http.StatusOK, code: "BAD_USER_INPUT"},
		{name: "a reference of 1 MB", body: body("query($r:[_Any!]!){_entities(representations:$r){__typename}}", map[string]any{"r": []any{map[string]string{"__typename": "User", "id": strings.Repeat("a", 1<<20-200)}}}), status: http.StatusOK, code: "errors"},
		{name: "101 ids", body: body("query($i:[ID!]!){nodes(ids:$i){id}}", map[string]any{"i": strings.Split(strings.Repeat("c:bench:a ", 101), " ")}), status: http.StatusOK, code: "BAD_USER_INPUT"},
		{name: "10,000 levels of JSON", body: []byte(`{"query":"` + user + `","variables":` + strings.Repeat(`{"i":`, 10_000) + "1" + strings.Repeat("}", 10_001)), status: http.StatusOK, code: "BAD_USER_INPUT"},
		{name: "a list of 100,000 ids", body: body("query($i:[ID!]!){nodes(ids:$i){id}}", map[string]any{"i": strings.Split(strings.Repeat("a,", 100_000), ",")}), status: http.StatusOK, code: "BAD_USER_INPUT"},
	}
}

// hostileBodies are as large as a body may be, or malformed.
func hostileBodies() []hostile {
	const most = 1 << 20
	fill := func(s string) string { return strings.Repeat(s, (most-40)/len(s)) }
	return []hostile{
		{name: "1 MB query of spaces", body: []byte(`{"query":"` + fill(" ") + `"}`), status: http.StatusOK, code: "QUERY_TOO_LONG"},
		{name: "1 MB query of braces", body: []byte(`{"query":"` + fill("{a") + `"}`), status: http.StatusOK, code: "QUERY_TOO_LONG"},
		{name: "1 MB query of escapes", body: []byte(`{"query":"` + fill(`\u0061`) + `"}`), status: http.StatusOK, code: "QUERY_TOO_LONG"},
		{name: "1 MB of members", body: []byte(`{"query":"{__typename}"` + fill(`,"a":1`) + `}`), status: http.StatusOK, code: "BAD_USER_INPUT"},
		{name: "1 MB of numbers", body: []byte(`{"query":"{__typename}","a":` + fill("1") + `}`), status: http.StatusOK, code: `"data"`},
		{name: "1 MB of braces", body: []byte(fill("{")), status: http.StatusBadRequest, code: "BAD_REQUEST"},
		{name: "1 MB of brackets", body: []byte(fill("[")), status: http.StatusOK, code: "BAD_USER_INPUT"},
		{name: "1 MB that ends in bad UTF-8", body: []byte(`{"a":"` + fill("ü") + "\xff" + `"}`), status: http.StatusBadRequest, code: "BAD_REQUEST"},
		{name: "1 MB array of operations", body: []byte("[" + fill(`{"query":"{viewer{id}}"},`) + "{}]"), status: http.StatusOK, code: "BAD_USER_INPUT"},
		{name: "more than 1 MB", body: bytes.Repeat([]byte(" "), most+1), status: http.StatusRequestEntityTooLarge, code: "PAYLOAD_TOO_LARGE"},
	}
}

// hostileHeaders are refused before their bodies are read.
func hostileHeaders() []hostile {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 100<<20)) // writing to a buffer cannot fail
	_ = z.Close()
	question := body("{viewer{id}}", nil)
	many := http.Header{}
	for i := range 100_000 {
		many[fmt.Sprintf("X-%d", i)] = []string{"a"}
	}
	return []hostile{
		{name: "gzip bomb of 100 MB", body: bomb.Bytes(), header: http.Header{"Content-Encoding": {"gzip"}}, status: http.StatusUnsupportedMediaType, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "a token of 10 KB", body: question, header: http.Header{"Authorization": {"Bearer " + strings.Repeat("a", 10<<10)}}, status: http.StatusUnauthorized, code: "UNAUTHENTICATED"},
		{name: "a token of 10 KB of dots", body: question, header: http.Header{"Authorization": {"Bearer " + strings.Repeat(".", 10<<10)}}, status: http.StatusUnauthorized, code: "UNAUTHENTICATED"},
		{name: "a token of 1 MB", body: question, header: http.Header{"Authorization": {"Bearer " + strings.Repeat("a", 1<<20)}}, status: http.StatusRequestHeaderFieldsTooLarge},
		{name: "an Accept of 10 KB of commas", body: question, header: http.Header{"Accept": {strings.Repeat(",", 10<<10)}}, status: http.StatusNotAcceptable, code: "NOT_ACCEPTABLE"},
		{name: "100,000 header fields", body: question, header: many, status: http.StatusRequestHeaderFieldsTooLarge},
	}
}
