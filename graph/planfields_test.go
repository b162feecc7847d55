package graph

import (
	"slices"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// TestPlan_WritesEveryFieldOfTheSchema compares the plans with the schema: a new field of a type on
// pages is either planned or listed here.
func TestPlan_WritesEveryFieldOfTheSchema(t *testing.T) {
	const around = `{ viewer { library { `
	unplanned := []string{}
	for typ, to := range map[string][2]string{
		"LibraryConnection": {``, ``}, "LibraryEdge": {`edges {`, `}`}, "Content": {`nodes {`, `}`},
		"User": {`nodes { createdBy {`, `} }`}, "Count": {`count {`, `}`}, "PageInfo": {`pageInfo {`, `}`},
		"Revision": {`nodes { revision {`, `} }`},
	} {
		for _, f := range parsedSchema.Types[typ].Fields {
			field := f.Name
			if parsedSchema.Types[f.Type.Name()].IsCompositeType() {
				field += ` { __typename }`
			}
			doc, errs := gqlparser.LoadQueryWithRules(parsedSchema, around+to[0]+field+to[1]+` } } }`, nil)
			if errs != nil {
				t.Fatal(errs)
			}
			page := doc.Operations[0].SelectionSet[0].(*ast.Field).SelectionSet[0].(*ast.Field)
			if planPage(&graphql.OperationContext{Doc: doc}, page.SelectionSet).Unplanned {
				unplanned = append(unplanned, typ+"."+f.Name)
			}
		}
	}
	for typ, to := range map[string][2]string{"PasteConnection": {``, ``}, "PasteEdge": {`edges {`, `}`}, "Paste": {`nodes {`, `}`}} {
		for _, f := range parsedSchema.Types[typ].Fields {
			field := f.Name
			if parsedSchema.Types[f.Type.Name()].IsCompositeType() {
				field += ` { __typename }`
			}
			doc, errs := gqlparser.LoadQueryWithRules(parsedSchema, `{ latestPastes { `+to[0]+field+to[1]+` } }`, nil)
			if errs != nil {
				t.Fatal(errs)
			}
			if planPastes(&graphql.OperationContext{Doc: doc}, doc.Operations[0].SelectionSet[0].(*ast.Field).SelectionSet).want.Unplanned {
				unplanned = append(unplanned, typ+"."+f.Name)
			}
		}
	}
	slices.Sort(unplanned)
	// These need another page or row, or an address that not everybody may see.
	want := []string{"Content.branch", "Content.branches", "Content.members", "Content.suggestions", "Revision.author", "Revision.body",
		"User.drafts", "User.email", "User.groups", "User.library"}
	if diff := cmp.Diff(want, unplanned); diff != "" {
		t.Errorf("fields that are not planned (-want +got):\n%s", diff)
	}
}
