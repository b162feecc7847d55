package graph

import (
	"maps"

	"github.com/vektah/gqlparser/v2/ast"
)

// Served returns the schema that clients see and documents are validated against. It does not
// contain @defer, which gqlparser declares in every schema and the gateway does not support: no
// transport sends answers in parts.
func Served() *ast.Schema {
	served := *parsedSchema
	served.Directives = maps.Clone(parsedSchema.Directives)
	delete(served.Directives, "defer")
	return &served
}
