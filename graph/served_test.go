package graph

import (
	"slices"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
)

// TestServed_OffersOnlyWhatIsSupported: the schema has no @defer, has @skip and @include, and has
// the types of the generated code.
func TestServed_OffersOnlyWhatIsSupported(t *testing.T) {
	served := Served()
	for name, offered := range map[string]bool{"defer": false, "skip": true, "include": true, "deprecated": true,
		"oneOf": true, "specifiedBy": true} {
		if (served.Directives[name] != nil) != offered {
			t.Errorf("@%s: offered is not %v", name, offered)
		}
	}
	if parsedSchema.Directives["defer"] == nil {
		t.Error("the parser does not declare @defer any more: there is nothing to remove")
	}
	if served.Query != parsedSchema.Query || len(served.Types) != len(parsedSchema.Types) {
		t.Error("types are missing")
	}
}

// TestServed_PossibleTypesAreObjects: clients build their caches from the possible types.
func TestServed_PossibleTypesAreObjects(t *testing.T) {
	var ofNode []string
	for _, possible := range Served().PossibleTypes["Node"] {
		if possible.Kind != ast.Object {
			t.Errorf("%s is a possible type of Node, but not an object", possible.Name)
		}
		ofNode = append(ofNode, possible.Name)
	}
	for _, want := range []string{"User", "Group", "Content", "Suggestion", "Paste", "Lease"} {
		if !slices.Contains(ofNode, want) {
			t.Errorf("%s is not among the possible types of Node", want)
		}
	}
	if !slices.ContainsFunc(parsedSchema.PossibleTypes["Node"], func(d *ast.Definition) bool { return d.Kind == ast.Interface }) {
		t.Error("the parser lists no interface any more: there is nothing to remove")
	}
}
