package graph

import (
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// Served returns the schema that clients see and documents are validated against. It does not
// contain @defer, which gqlparser declares in every schema, because no transport of the gateway
// sends answers in parts. Its possible types are objects only, as the specification requires;
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
