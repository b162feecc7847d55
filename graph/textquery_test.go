package graph

import (
	"slices"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// TestTextQuery_HasTheLocalesOfTheRequest: every text of an operation gets the same list, which was made
// when the operation was prepared.
func TestTextQuery_HasTheLocalesOfTheRequest(t *testing.T) {
	doc, errs := gqlparser.LoadQueryWithRules(Served(), `{content(id:"c:a:b"){a:revision{title} b:revision(locale:"it"){body}}}`, nil)
	if errs != nil {
		t.Fatal(errs)
	}
	for _, locales := range [][]string{nil, {"fr_CA", "de"}} {
		e := &Execution{OperationContext: &graphql.OperationContext{Doc: doc, Operation: doc.Operations[0]}, Locales: locales}
		for _, sel := range doc.Operations[0].SelectionSet[0].(*ast.Field).SelectionSet {
			q, err := TextQueryOf(e.In(t.Context()), graphql.CollectedField{Field: sel.(*ast.Field)})
			if err != nil || !slices.Equal(q.Accept, locales) || locales != nil && &q.Accept[0] != &locales[0] {
				t.Errorf("got %v, %v, want %v", q.Accept, err, locales)
			}
		}
	}
}
