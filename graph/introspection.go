package graph

import (
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/introspection"
)

// kindsWith maps the fields of __Type that only some kinds of types have to these kinds.
var kindsWith = map[string][]string{
	"fields":        {"OBJECT", "INTERFACE"},
	"interfaces":    {"OBJECT", "INTERFACE"},
	"possibleTypes": {"INTERFACE", "UNION"},
	"enumValues":    {"ENUM"},
	"inputFields":   {"INPUT_OBJECT"},
	"isOneOf":       {"INPUT_OBJECT"},
}

// NullByKind reports whether a field of __Type is null because of the kind of the type. gqlgen
// returns an empty list or false.
func NullByKind(field *graphql.FieldContext) bool {
	typ, ok := field.Parent.Result.(*introspection.Type)
	kinds := kindsWith[field.Field.Name]
	return ok && kinds != nil && !slices.Contains(kinds, typ.Kind())
}
