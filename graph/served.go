package graph

import (
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// Served returns the schema that clients see and documents are validated against. It does not
// contain @defer, which gqlparser declares in every schema and the gateway does not support: no
// transport sends answers in parts. Possible types are objects only, as the specification demands:
// gqlparser also lists Principal, an interface, as a possible type of Node.
func Served() *ast.Schema {
	served := *parsedSchema
	served.Directives = maps.Clone(parsedSchema.Directives)
	delete(served.Directives, "defer")
	served.PossibleTypes = maps.Clone(parsedSchema.PossibleTypes)
	for name, types := range served.PossibleTypes { // the order does not matter: each is changed by itself
		served.PossibleTypes[name] = slices.DeleteFunc(slices.Clone(types), func(t *ast.Definition) bool { return t.Kind == ast.Interface })
	}
	return &served
}
