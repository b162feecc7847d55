package graph

import (
	"context"
	"slices"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// TestTextQuery_LanguagesAreParsedOncePerRequest: every text of an operation gets the same list, which
// was made when the operation was prepared.
func TestTextQuery_LanguagesAreParsedOncePerRequest(t *testing.T) {
	doc, errs := gqlparser.LoadQueryWithRules(Served(), `{content(id:"c:a:b"){a:revision{title} b:revision(locale:"it"){body}}}`, nil)
	if errs != nil {
		t.Fatal(errs)
	}
	op := &graphql.OperationContext{Doc: doc, Operation: doc.Operations[0]}
	SetLanguages(op, []string{"fr-CA, en;q=0.5", "de;q=0.7"})
	ctx := graphql.WithOperationContext(context.Background(), op)
	var first *string
	for _, sel := range doc.Operations[0].SelectionSet[0].(*ast.Field).SelectionSet {
		q, err := TextQueryOf(ctx, graphql.CollectedField{Field: sel.(*ast.Field)})
		if err != nil || !slices.Equal(q.Accept, []string{"fr_CA", "de", "en"}) {
			t.Fatalf("got %v, %v", q.Accept, err)
		}
		if first == nil {
			first = &q.Accept[0]
		} else if &q.Accept[0] != first {
			t.Error("the languages were parsed again")
		}
	}
	op = &graphql.OperationContext{Doc: doc, Operation: doc.Operations[0]}
	field := doc.Operations[0].SelectionSet[0].(*ast.Field).SelectionSet[0].(*ast.Field)
	if q, err := TextQueryOf(graphql.WithOperationContext(context.Background(), op), graphql.CollectedField{Field: field}); err != nil ||
		q.Accept != nil {
		t.Errorf("without a header: %v, %v", q.Accept, err)
	}
}
