// Package graph maps the domain to GraphQL: the code that gqlgen generates from schema.graphqls
// (generated.go), the scalars and enums, the inputs and payloads of mutations, the choice of errors
// that are shown as userErrors, and the plans by which pages of libraries are written (plan.go).
//
// Objects of the schema are the domain's own types, bound by name; there is no model layer in
// between. The package knows neither the viewer nor the rules: it converts values to their GraphQL
// form and back.
package graph

//go:generate go run carrel/graph/internal/generate ..
