package scenario

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// hostileDocuments returns rows 1 to 12: documents that would cost too much, or reveal
// too much.
func hostileDocuments() []row {
	return []row{
		{1, "101 aliases", func(_ *testing.T, w *world) { w.refused("{viewer{"+numbered(101, "a%d:id ")+"}}", "ALIAS_LIMIT") }},
		{2, "array of 10 operations", func(t *testing.T, w *world) {
			r := w.send("POST", "/graphql", "["+strings.Repeat(question("{viewer{id}}")+",", 9)+question("{viewer{id}}")+"]")
			if r.Status != 400 || r.code() != "BATCH_NOT_SUPPORTED" {
				t.Errorf("got %d %s", r.Status, r.body)
			}
		}},
		{3, "depth 13", func(t *testing.T, w *world) {
			w.refused(deep(13), "DEPTH_LIMIT")
			if r := w.send("POST", "/graphql", question(deep(12))); r.code() != "" {
				t.Errorf("depth 12: %s", r.body)
			}
		}},
		{4, "fragment bomb, 26 levels", func(_ *testing.T, w *world) {
			// Expanded, the fragments would have 67 million selections.
			w.refused(fragmentBomb(26), "DUPLICATE_LIMIT")
		}},
		{5, "fragment cycle", func(_ *testing.T, w *world) {
			w.refused("{viewer{...A}} fragment A on User{...B} fragment B on User{...A}", "GRAPHQL_VALIDATION_FAILED")
			w.refused("{viewer{...A}} fragment A on User{id ...A}", "GRAPHQL_VALIDATION_FAILED")
		}},
		{6, "a field 4,000 times", func(_ *testing.T, w *world) {
			w.refused("{viewer{"+strings.Repeat("id ", 4_000)+"}}", "TOKEN_LIMIT")
			w.refused("{viewer{"+strings.Repeat("id ", 1_500)+"}}", "DUPLICATE_LIMIT")
		}},
		{7, "1,000 unknown directives", func(t *testing.T, w *world) {
			if r := w.refused("{viewer{id"+strings.Repeat(" @a", 990)+"}}", "DIRECTIVE_LIMIT"); len(r.Errors) != 1 || len(r.body) > 2_000 {
				t.Errorf("%d errors in %d bytes", len(r.Errors), len(r.body))
			}
			if r := w.refused("{viewer{id"+strings.Repeat(" @a", 1_000)+"}}", "TOKEN_LIMIT"); len(r.Errors) != 1 || len(r.body) > 2_000 {
				t.Errorf("%d errors in %d bytes", len(r.Errors), len(r.body))
			}
			if r := w.refused("{viewer{id"+strings.Repeat(" @a", 15)+"}}", "GRAPHQL_VALIDATION_FAILED"); len(r.Errors) > 10 || len(r.body) > 2_000 {
				t.Errorf("%d errors in %d bytes", len(r.Errors), len(r.body))
			}
		}},
		{8, "circular introspection", func(t *testing.T, w *world) {
			circular := "{__schema{" + strings.Repeat("types{fields{type{", 8) + "name" + strings.Repeat("}}}", 8) + "}}"
			w.refused(circular, "INTROSPECTION_DISABLED")
			if r := serve(t).send("POST", "/graphql", question(circular)); r.code() != "DEPTH_LIMIT" {
				t.Errorf("in development: %.300s", r.body)
			}
			if r := serve(t).send("GET", "/schema.graphql", ""); r.Status != 200 || !bytes.Contains(r.body, []byte("\ntype Query {")) {
				t.Errorf("the schema in development: %d %.300s", r.Status, r.body)
			}
		}},
		{9, "introspection and the page in production", func(t *testing.T, w *world) {
			w.refused("{__schema{types{name}}}", "INTROSPECTION_DISABLED")
			w.refused(`{__type(name:"User"){name}}`, "INTROSPECTION_DISABLED")
			for _, path := range []string{"/", "/index.html", "/dev/viewers", "/graphiql", "/assets/", "/schema.graphql"} {
				if r := w.send("GET", path, ""); r.Status != 404 {
					t.Errorf("%s: %d", path, r.Status)
				}
			}
		}},
		{10, "misspelt names are not corrected", func(t *testing.T, w *world) {
			for name, query := range map[string]string{
				"field": `{vewer{id}}`, "argument": `{user(idd:"x"){id}}`, "type": `{viewer{...on Usr{id}}}`,
				"directive": `{viewer{id @incude(if:true)}}`,
				"enum":      `{viewer{library(orderBy:{field:LAST_MODIFIED,direction:DESCC}){bucket}}}`,
				"input":     `mutation{createUser(input:{tenent:"a"}){user{id}}}`,
			} {
				r := w.refused(query, "GRAPHQL_VALIDATION_FAILED")
				if bytes.Contains(bytes.ToLower(r.body), []byte("did you mean")) {
					t.Errorf("%s: %s", name, r.body)
				}
			}
		}},
		{11, "pages of a million, or invalid", hostilePages},
		{12, "connections of 100 x 100 x 100", func(_ *testing.T, w *world) {
			const page = "library(first:100){nodes{createdBy{"
			w.refused("{viewer{"+strings.Repeat(page, 3)+"id"+strings.Repeat("}}}", 3)+"}}", "COST_LIMIT")
		}},
	}
}

func hostilePages(t *testing.T, w *world) {
	for args, code := range map[string]string{
		"first:1000000": "BAD_USER_INPUT", "first:-1": "BAD_USER_INPUT", "last:101": "BAD_USER_INPUT", "first:1 last:1": "BAD_USER_INPUT",
		`after:"x" last:1`: "BAD_USER_INPUT", `before:"x" first:1`: "BAD_USER_INPUT", "first:99999999999": "BAD_USER_INPUT",
	} {
		r := w.send("POST", "/graphql", question(`{viewer{library(`+args+`){nodes{id}}}}`), "Authorization: Bearer "+w.ann)
		if r.code() != code {
			t.Errorf("%s: got %s", args, r.body)
		}
	}
}

// numbered repeats the format n times, with the numbers from 0.
func numbered(n int, format string) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, format, i)
	}
	return s.String()
}

// deep returns a query with so many levels, including the leaf.
func deep(depth int) string {
	levels := []string{"viewer", "library(first:1)", "nodes", "createdBy"}
	var s strings.Builder
	for i := range depth - 1 {
		level := levels[0]
		if i > 0 {
			level = levels[1+(i-1)%3]
		}
		s.WriteString("{" + level)
	}
	return s.String() + "{__typename" + strings.Repeat("}", depth)
}

// fragmentBomb returns a chain of fragments each of which spreads the next one twice.
func fragmentBomb(levels int) string {
	var s strings.Builder
	s.WriteString("{viewer{...F0}}")
	for i := range levels {
		fmt.Fprintf(&s, " fragment F%d on User{...F%d ...F%d}", i, i+1, i+1)
	}
	fmt.Fprintf(&s, " fragment F%d on User{id}", levels)
	return s.String()
}
