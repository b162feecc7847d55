// Package graph maps the domain to GraphQL. It contains the code that gqlgen generates from
// schema.graphqls (generated.go), with the inputs and payloads of mutations (models_gen.go), the
// scalars and enums, the decision which errors are userErrors, and the plans that write pages of
// libraries (plan.go).
//
// Objects of the schema are the domain's own types, bound by name; there is no model layer in
// between. The package knows no rules: it converts values to their GraphQL form and back. It carries
// what resolvers need, the viewer too, from edge to resolvers (execute.go).
package graph

//go:generate go run carrel/graph/internal/generate ..
