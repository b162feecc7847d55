package graph

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/answer"
	"carrel/core/cursor"
	"carrel/library"
	"carrel/principal"
)

// operationOf parses the only operation of a query.
func operationOf(t *testing.T, query string) *graphql.OperationContext {
	t.Helper()
	doc, errs := gqlparser.LoadQueryWithRules(parsedSchema, query, nil)
	if errs != nil {
		t.Fatal(query, errs)
	}
	return &graphql.OperationContext{Doc: doc, Operation: doc.Operations[0]}
}

// TestOperation_IsPlannedWhereNothingElseIsRead lists operations that are planned and others that
// are not.
func TestOperation_IsPlannedWhereNothingElseIsRead(t *testing.T) {
	for query, want := range map[string]bool{
		`{ viewer { id displayName library(first: 3) { nodes { id createdBy { displayName } viewerRole } count { value } } } }`: true,
		`query($i: ID!, $n: Int) { user(id: $i) { library(first: $n) { edges { cursor } } } }`:                                  true,
		`query($f: LibraryFilter) { viewer { library(filter: $f) { nodes { id } } } }`:                                          true,
		`{ viewer { library(filter: {text: "a", kinds: [NOTE]}) { nodes { id } } } }`:                                           true,
		`{ r: principal(id: "x") { ... on Group { tenant library { bucket } } } __typename }`:                                   true,
		`{ node(id: "x") { id ... on User { visibility } ... on Content { title link } ... on Group { library { bucket } } } }`: true,
		`{ group(id: "x") { library { nodes { revision { title } } } } }`:                                                       true,
		`{ content(id: "x") { id title } }`:                                                                true,
		`{ contentByUrl(url: "x", tenant: "y") { id title } }`:                                             true,
		`query($k: String!) { byKey(key: $k) { __typename ... on Content { id } ... on Branch { key } } }`: true,
		`{ byKey(key: "x") { ... on Content { revision { title } } } }`:                                    false,
		`{ contentByUrl(url: "x") { viewerRole } }`:                                                        false,
		`{ content(id: "x") { createdBy { id } } }`:                                                        false,
		`{ content(id: "x") { viewerRole } }`:                                                              false,
		`{ content(id: "x") { revision { title } } }`:                                                      false,
		`{ viewer { email } }`:                                                                             false,
		`{ viewer { groups { nodes { id } } } }`:                                                           false,
		`{ viewer { id } user(id: "x") { id } }`:                                                           false,
		`{ viewer { a: library { bucket } b: library { bucket } } }`:                                       false,
		`{ viewer { library { nodes { createdBy { email } } } } }`:                                         false,
		`{ limits { maxDepth } }`:                                                                          false,
		`{ __typename }`:                                                                                   false,
		`{ nodes(ids: ["x"]) { id } }`:                                                                     false,
		`mutation { deleteContent(input: {id: "x"}) { userErrors { message } } }`:                          false,
		`subscription { libraryChanged(principalId: "x") { __typename } }`:                                 false,
	} {
		op := operationOf(t, query)
		pages := NewPlanCache(query)
		p := pages.Operation(t.Context(), op)
		if got := p != nil; got != want {
			t.Errorf("%s: planned is %t", query, got)
		}
		if pages.Operation(t.Context(), op) != p {
			t.Errorf("%s was compiled twice", query)
		}
	}
	var none *PlanCache
	if none.Operation(t.Context(), operationOf(t, `{ viewer { id } }`)) != nil {
		t.Error("there is a plan without a PlanCache")
	}
}

// TestOperation_PlansAreBounded: fragments can make a long plan of a short text, and a plan above
// the limit is not used.
func TestOperation_PlansAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{ viewer { library { `)
	for range 8 {
		b.WriteString(`edges { node { ...f } } nodes { ...f } `)
	}
	b.WriteString(`} } } fragment f on Content { id title ...g } fragment g on Content { `)
	for range 30 {
		b.WriteString(`kind `)
	}
	b.WriteString(`}`)
	query := b.String()
	op := operationOf(t, query)
	steps := planOperation(t.Context(), op, NewPlanCache(query)).steps
	pages := &PlanCache{capacity: 0}
	if pages.Operation(t.Context(), op) != nil {
		t.Error("there is a plan without capacity")
	}
	// The plan of its page takes its own share of the capacity, which others may use.
	page := op.Operation.SelectionSet[0].(*ast.Field).SelectionSet[0].(*ast.Field)
	pageSteps := planPage(op, page.SelectionSet).steps
	for capacity, want := range map[int]bool{steps + pageSteps: true, steps + pageSteps - 1: false} {
		pages := &PlanCache{capacity: capacity}
		if got := pages.Operation(t.Context(), op) != nil; got != want {
			t.Errorf("with capacity for %d steps: planned is %t, want %t", capacity, got, want)
		}
		if pages.capacity < 0 {
			t.Errorf("%d steps are cached above the limit", -pages.capacity)
		}
	}
}

// TestOperations_ShareTheCapacityOfTheirDocument: the plans of all operations of a document must
// fit together.
func TestOperations_ShareTheCapacityOfTheirDocument(t *testing.T) {
	query := `query A { viewer { id tenant } } query B { viewer { id tenant } }`
	doc, errs := gqlparser.LoadQueryWithRules(parsedSchema, query, nil)
	if errs != nil {
		t.Fatal(errs)
	}
	first := &graphql.OperationContext{Doc: doc, Operation: doc.Operations[0]}
	second := &graphql.OperationContext{Doc: doc, Operation: doc.Operations[1]}
	steps := planOperation(t.Context(), first, NewPlanCache(query)).steps
	for capacity, want := range map[int]bool{2 * steps: true, 2*steps - 1: false} {
		pages := &PlanCache{capacity: capacity}
		if pages.Operation(t.Context(), first) == nil {
			t.Fatalf("with capacity for %d steps the first is not planned", capacity)
		}
		if got := pages.Operation(t.Context(), second) != nil; got != want {
			t.Errorf("with capacity for %d steps: the second is planned: %t, want %t", capacity, got, want)
		}
	}
}

// TestOperation_UnknownEnumValuesAreNotWritten: if an enum value is not in the schema, a plan
// writes nothing, so that the generated code reports the value.
func TestOperation_UnknownEnumValuesAreNotWritten(t *testing.T) {
	const query = `{ node(id: "x") { id ... on User { visibility library { bucket } } ... on Content { kind visibility } } }`
	op := operationOf(t, query)
	p := NewPlanCache(query+strings.Repeat(" ", 100)).Operation(t.Context(), op)
	if p == nil {
		t.Fatal("it is not planned")
	}
	user := func(v, bucket principal.Visibility) *Object {
		return &Object{Principal: &principal.Header{ID: "u:a:b", Visibility: v},
			Page: &Page{LibraryConnection: &library.LibraryConnection{Bucket: bucket}}}
	}
	item := func(k library.ContentKind, v principal.Visibility) *Object {
		return &Object{Item: RowOf(&library.Content{ID: "c:a:b", Kind: k, Visibility: v})}
	}
	for name, c := range map[string]struct {
		object *Object
		want   string // empty: not written
	}{
		"a user": {user(principal.Public, principal.Private),
			`{"node":{"id":"u:a:b","visibility":"PUBLIC","library":{"bucket":"PRIVATE"}}}`},
		"a user's visibility":         {user(99, principal.Private), ""},
		"a bucket":                    {user(principal.Public, 99), ""},
		"an item":                     {item(library.Link, principal.Public), `{"node":{"id":"c:a:b","kind":"LINK","visibility":"PUBLIC"}}`},
		"an item's kind":              {item(99, principal.Public), ""},
		"an item's visibility":        {item(library.Link, 99), ""},
		"nothing that is to be shown": {&Object{}, `{"node":null}`},
	} {
		body := answer.New(1<<20, answer.NewMemory(1<<20, 1<<20), "", nil)
		ok := p.Write(c.object, body)
		if got := string(bytes.Join(body.Chunks(), nil)); ok != (c.want != "") || got != c.want {
			t.Errorf("%s: written is %t: %s", name, ok, got)
		}
		body.Release()
	}
}

// TestArgument_MissingVariableKeepsTheDefault: a variable that is null does not.
func TestArgument_MissingVariableKeepsTheDefault(t *testing.T) {
	a := argument{name: "n", fixed: int64(7), value: &ast.Value{Kind: ast.Variable, Raw: "n"}}
	for name, c := range map[string]struct {
		variables map[string]any
		want      any
		given     bool
	}{
		"not given": {nil, int64(7), false},
		"null":      {map[string]any{"n": nil}, nil, true},
		"given":     {map[string]any{"n": int64(3)}, int64(3), true},
	} {
		if got, given, err := a.of(c.variables); got != c.want || given != c.given || err != nil {
			t.Errorf("%s: got %v, %t, %v", name, got, given, err)
		}
	}
}

// TestPageField_ReadsItsArguments checks arguments that the document fixes, and those that each
// request sets.
func TestPageField_ReadsItsArguments(t *testing.T) {
	three, five, text, word, creator := 3, 5, "cursor", "a", "u:a:b"
	for _, c := range []struct {
		arguments string
		variables map[string]any
		want      library.LibraryQuery
		ok        bool
	}{
		{``, nil, library.LibraryQuery{}, true},
		{`(first: 3)`, nil, library.LibraryQuery{PageArgs: cursor.PageArgs{First: &three}}, true},
		{`(first: $n)`, map[string]any{"n": int64(5)}, library.LibraryQuery{PageArgs: cursor.PageArgs{First: &five}}, true},
		{`(first: $n)`, map[string]any{"n": nil}, library.LibraryQuery{}, true},
		{`(first: $n)`, nil, library.LibraryQuery{}, true},
		{`(first: $n)`, map[string]any{"n": "5"}, library.LibraryQuery{}, false},
		{`(first: 3, after: $after)`, map[string]any{"after": text},
			library.LibraryQuery{PageArgs: cursor.PageArgs{First: &three, After: &text}}, true},
		{`(last: 3, before: "cursor")`, nil, library.LibraryQuery{PageArgs: cursor.PageArgs{Last: &three, Before: &text}}, true},
		{`(orderBy: {field: LAST_MODIFIED, direction: DESC})`, nil, library.LibraryQuery{Descending: true}, true},
		{`(orderBy: $o)`, map[string]any{"o": map[string]any{"field": "LAST_MODIFIED", "direction": "DESC"}},
			library.LibraryQuery{Descending: true}, true},
		{`(orderBy: $o)`, map[string]any{"o": map[string]any{"field": "LAST_MODIFIED", "direction": "UP"}}, library.LibraryQuery{}, false},
		{`(orderBy: $o)`, nil, library.LibraryQuery{}, true},
		{`(orderBy: {field: LAST_MODIFIED, direction: $d})`, map[string]any{"d": "DESC"}, library.LibraryQuery{Descending: true}, true},
		{`(orderBy: {field: LAST_MODIFIED, direction: $d})`, map[string]any{"d": "ASC"}, library.LibraryQuery{}, true},
		{`(includeShared: true)`, nil, library.LibraryQuery{IncludeShared: true}, true},
		{`(includeShared: $s)`, map[string]any{"s": true}, library.LibraryQuery{IncludeShared: true}, true},
		{`(includeShared: $s)`, map[string]any{"s": false}, library.LibraryQuery{}, true},
		{`(filter: null)`, nil, library.LibraryQuery{}, true},
		{`(filter: {text: "a", kinds: NOTE, roles: []})`, nil,
			library.LibraryQuery{Filter: &library.LibraryFilter{Text: &word, Kinds: []library.ContentKind{library.Note},
				Roles: []library.ContentRole{}}}, true},
		{`(filter: $f)`, map[string]any{"f": map[string]any{"text": "a"}}, library.LibraryQuery{Filter: &library.LibraryFilter{Text: &word}},
			true},
		{`(filter: $f)`, map[string]any{"f": nil}, library.LibraryQuery{}, true},
		{`(filter: $f)`, nil, library.LibraryQuery{}, true},
		{`(filter: $f)`, map[string]any{"f": map[string]any{"kinds": []any{"FILM"}}}, library.LibraryQuery{}, false},
		{`(filter: {text: $t, createdBy: "u:a:b"})`, map[string]any{"t": "a"},
			library.LibraryQuery{Filter: &library.LibraryFilter{Text: &word, CreatedBy: &creator}}, true},
		{`(filter: {text: $t, createdBy: "u:a:b"})`, nil, library.LibraryQuery{Filter: &library.LibraryFilter{CreatedBy: &creator}}, true},
	} {
		var declared []string
		for _, v := range []string{"$n: Int", "$after: Cursor", "$o: LibraryOrder", "$d: OrderDirection!", "$s: Boolean",
			"$f: LibraryFilter", "$t: String"} {
			if name, _, _ := strings.Cut(v, ":"); strings.Contains(c.arguments, name) {
				declared = append(declared, v)
			}
		}
		text := `query`
		if len(declared) > 0 {
			text += `(` + strings.Join(declared, ", ") + `)`
		}
		text += ` { viewer { library` + c.arguments + ` { nodes { id } } } }`
		op := operationOf(t, text)
		op.Variables = c.variables
		p := NewPlanCache(text).Operation(t.Context(), op)
		if p == nil {
			t.Fatalf("%s is not planned", text)
		}
		got, ok := p.PageOf("u:a:b").Request(t.Context(), op)
		if ok != c.ok {
			t.Errorf("%s with %v: ok is %t", c.arguments, c.variables, ok)
		}
		if diff := cmp.Diff(c.want, got.Query); ok && diff != "" {
			t.Errorf("%s with %v (-want +got):\n%s", c.arguments, c.variables, diff)
		}
	}
}

// TestOperationPlan_ResolvedPageEndsAtTheLimit: what the generated code has resolved is not written after the answer
// has failed, and not gathered before it is counted.
func TestOperationPlan_ResolvedPageEndsAtTheLimit(t *testing.T) {
	const query, limit, chunk = `{ viewer { library { nodes { id } } } }`, 1 << 20, 40_000
	p := NewPlanCache(query).Operation(t.Context(), operationOf(t, query))
	body := answer.New(limit, answer.NewMemory(100*limit, 100*limit), "", func() {})
	defer body.Release()
	text, held := bytes.Repeat([]byte("x"), chunk), int64(0)
	page := graphql.WriterFunc(func(w io.Writer) {
		for range 3000 {
			_, _ = w.Write(text)
		}
		held = int64(cap(w.(*partWriter).b))
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p.Write(&Object{Principal: &principal.Header{ID: "u:a:b", Visibility: principal.Public}, Resolved: page}, body)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; body.Err() == nil || held > limit || took > 8*limit {
		t.Errorf("%v; %d bytes, and a buffer of %d, for an answer of at most %d", body.Err(), took, held, limit)
	}
}
