package edge

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"carrel/graph"
	"carrel/principal"
)

func TestDocumentCache_IsBounded(t *testing.T) {
	for name, limits := range map[string]func(*Limits){
		"documents": func(l *Limits) { l.CachedDocuments = 5 }, "bytes": func(l *Limits) { l.CachedBytes = 20_000 },
	} {
		e := newEdge(t, func(c *Config) { limits(&c.Limits) })
		for i := range 100 {
			if _, r := e.handler.compiler.document(fmt.Sprintf("{a%d:__typename}", i)); r != nil {
				t.Fatal(r.errs)
			}
		}
		if n, bytes := e.handler.compiler.cache.Size(); n < 5 || name == "documents" && n > 5 || name == "bytes" && bytes > 20_000 {
			t.Errorf("%s: %d documents with %d bytes are cached", name, n, bytes)
		}
	}
}

// TestDocument_SharesThePlansOfItsPages, unless directives select fields, or there is nothing to
// plan, which would only take space in the cache.
func TestDocument_SharesThePlansOfItsPages(t *testing.T) {
	e := newEdge(t, nil)
	for text, want := range map[string]bool{
		`{viewer{library{bucket}}}`:                                                                      true,
		`{viewer{...f}} fragment f on User{library{bucket}}`:                                             true,
		`query($n:Int){viewer{... on User{library(first:$n){bucket}}}}`:                                  true,
		`{content(id:"x"){title}}`:                                                                       true,
		`{limits{maxDepth} principals(tenant:"x"){nodes{id}}}`:                                           false,
		`mutation{` + anyMutation + `}`:                                                                  false,
		`query($x:Boolean!){viewer{library{bucket @skip(if:$x) __typename}}}`:                            false,
		`query($x:Boolean!){viewer{library{... @include(if:$x){bucket}}}}`:                               false,
		`query($x:Boolean!){viewer{library{...f @skip(if:$x)}}} fragment f on LibraryConnection{bucket}`: false,
		`query($x:Boolean!){viewer{...f}} fragment f on User{library{bucket} id @skip(if:$x)}`:           false,
	} {
		doc, r := e.handler.compiler.document(text)
		if r != nil {
			t.Fatal(r.errs)
		}
		if got := doc.pages != nil; got != want {
			t.Errorf("%s: shared is %t, want %t", text, got, want)
		}
		alone := (&document{text: text}).weight()
		if got := doc.weight() > alone; got != want {
			t.Errorf("%s: has weight %d, and %d without plans", text, doc.weight(), alone)
		}
	}
}

func TestDocument_ItsRequestsGetItsPlans(t *testing.T) {
	e := newEdge(t, nil)
	const text = `{user(id:"x"){library{bucket}}}`
	doc, r := e.handler.compiler.document(text)
	if r != nil {
		t.Fatal(r.errs)
	}
	e.onUser = func(ctx context.Context, id string) (*principal.User, error) {
		if graph.ExecutionOf(ctx).Plans != doc.pages {
			t.Error("the request has its own plans")
		}
		return user(id), nil
	}
	if a := e.query(t, text, nil); a.code() != "" || e.calls.Load() != 2 {
		t.Errorf("%d calls: %s", e.calls.Load(), a.Body)
	}
}

func TestDocument_IsCompiledOnce(t *testing.T) {
	e := newEdge(t, nil)
	const text = `{user(id:"x"){id}}`
	first, r := e.handler.compiler.document(text)
	if r != nil {
		t.Fatal(r.errs)
	}
	again, _ := e.handler.compiler.document(text)
	if first != again {
		t.Error("it was compiled twice")
	}
}

func TestDocumentCache_DoesNotKeepInvalidDocuments(t *testing.T) {
	e := newEdge(t, nil)
	for _, text := range []string{"{", "{nothing}", bomb(26, "id"), "{__schema{types{name}}}"} {
		if _, r := e.handler.compiler.document(text); r == nil {
			t.Errorf("%s: accepted", text)
		}
	}
	if n, _ := e.handler.compiler.cache.Size(); n != 0 {
		t.Errorf("%d documents are cached", n)
	}
}

func TestDocument_ServesConcurrentRequests(t *testing.T) {
	e := newEdge(t, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				a := e.query(t, `query($n:Int=20){user(id:"x"){...A library(first:$n){bucket}}} fragment A on User{id displayName}`, nil)
				if string(a.Data) != `{"user":{"id":"x","displayName":"Ann","library":{"bucket":"PUBLIC"}}}` {
					t.Errorf("got %s", a.Body)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestDocument_ErrorsQuoteLittleOfTheQuery(t *testing.T) {
	e := newEdge(t, nil)
	long := strings.Repeat("ü", 10_000)
	for _, query := range []string{
		"{" + strings.Repeat("a", 14_000) + "}",
		`{user(id:` + strings.Repeat("A", 14_000) + `){id}}`,
		`{"` + long + `"}`,
	} {
		a := e.query(t, query, nil)
		if a.code() == "" || a.Body.Len() > 1000 {
			t.Errorf("%d bytes: %.200s", a.Body.Len(), a.Body)
		}
	}
	many := "{viewer{" + manyNames(300) + "}}"
	if a := e.query(t, many, nil); len(a.Errors) != 10 {
		t.Errorf("%d errors", len(a.Errors))
	}
}

func manyNames(n int) string {
	var q strings.Builder
	for i := range n {
		fmt.Fprintf(&q, "n%d ", i)
	}
	return q.String()
}

// FuzzDocument searches for a text that crashes the compiler or takes much longer than its length
// can explain, which the fuzzer reports as a hang.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		"{viewer{id}}", bomb(5, "id"), fieldBomb(4), aliases(3), nested(12), operations(3), overlapping(3, "library{bucket}"),
		`query Q($n:Int=1,$o:LibraryOrder){user(id:"x"){...on User @include(if:true){library(first:$n,orderBy:$o){edges{cursor node{id}}}}}}`,
		"mutation{" + anyMutation + "}", "{__schema{types{name}}}", "{...A} fragment A on Query{...A}", `"""d""" query{a}`, "\ufeff#\n{\x00}",
		"{viewer{library(first:1){bucket} library(first:2){bucket}}}", "subscription{a}", "{a(b:[{c:$d}])@e(f:{g:1})}",
	} {
		f.Add(seed)
	}
	e := newEdge(f, func(c *Config) { c.Development = true })
	f.Fuzz(func(t *testing.T, text string) {
		doc, r := e.handler.compiler.compile(text)
		if (doc == nil) == (r == nil) {
			t.Fatal("neither a document nor a refusal, or both")
		}
		if r != nil {
			if len(r.errs) == 0 || len(r.errs) > e.handler.limits.Errors || r.errs[0].Extensions["code"] == nil {
				t.Fatalf("refused with %v", r.errs)
			}
			return
		}
		for _, op := range doc.ast.Operations {
			if values, r := coerce(e.handler.schema, op, nil); r == nil {
				asked, _ := doc.sizes(values, &e.handler.limits)
				doc.cost(op, asked)
			}
		}
	})
}

// TestCompile_ChainsOfFragmentsTakeLinearWork: the comparison of selections ends at its limit, and does not
// walk the rest of a chain again for each of its fragments.
func TestCompile_ChainsOfFragmentsTakeLinearWork(t *testing.T) {
	e := newEdge(t, nil)
	allocations := func(fragments int, op string) float64 {
		text := op
		for i := range fragments {
			text += fmt.Sprintf(" fragment F%d on Query{...F%d}", i, i+1)
		}
		text += fmt.Sprintf(" fragment F%d on Query{viewer{id}}", fragments)
		return testing.AllocsPerRun(5, func() {
			if _, r := e.handler.compiler.compile(text); fragments > 200 && (r == nil || firstCode(r.errs) != codeDuplicateLimit) {
				t.Errorf("%d fragments: %v", fragments, r)
			}
		})
	}
	for _, op := range []string{"{...F0}", "{viewer{id}}"} {
		if short, long := allocations(120, op), allocations(240, op); long > 2.5*short {
			t.Errorf("%s: %g allocations for 120 fragments, %g for 240", op, short, long)
		}
	}
}
