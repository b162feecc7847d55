// Package graph is the GraphQL face of the domain: the code that gqlgen makes
// of schema.graphqls (generated.go), the scalars and enums, the inputs and
// payloads of mutations, which faults are shown as userErrors, and the plans by
// which pages of libraries are written (plan.go).
//
// Objects of the schema are the domain's own types, bound by name; there is no
// model layer between them. The package must not know who asks or what the
// rules are: it turns values into their GraphQL form and back.
package graph

//go:generate go run carrel/graph/internal/generate ..
