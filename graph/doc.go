// Package graph is the GraphQL face of the domain: the code that gqlgen makes
// of schema.graphqls (generated.go), the scalars and enums, the inputs and
// payloads of mutations, and which faults are shown as userErrors.
//
// Objects of the schema are the domain's own types, bound by name; there is no
// model layer between them. The package must not know who asks or what the
// rules are: it turns values into their GraphQL form and back.
package graph

//go:generate go run carrel/graph/internal/generate ..
