package graph

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// parts returns the definitions of a document, one line for each, as in the contract, with its
// description. The validation is left to composers.
func parts(t *testing.T, doc *ast.SchemaDocument) []string {
	t.Helper()
	schema := &ast.Schema{Types: map[string]*ast.Definition{}}
	for _, d := range doc.Definitions {
		schema.Types[d.Name] = d
	}
	lines := outline(schema)
	add := func(path, description string) { lines = append(lines, path+": "+description) }
	for _, d := range doc.Definitions {
		add(d.Name, d.Description)
		for _, v := range d.EnumValues {
			add(d.Name+"."+v.Name, v.Description)
		}
		for _, f := range d.Fields {
			add(d.Name+"."+f.Name, f.Description)
			for _, a := range f.Arguments {
				add(d.Name+"."+f.Name+"."+a.Name, a.Description)
			}
		}
	}
	for _, e := range doc.SchemaExtension {
		lines = append(lines, "extend schema"+applied(e.Directives))
	}
	slices.Sort(lines)
	return lines
}

func parsed(t *testing.T, name, text string) *ast.SchemaDocument {
	t.Helper()
	doc, err := parser.ParseSchema(&ast.Source{Name: name, Input: text})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return doc
}

// TestSubgraph_MatchesTheContract: the subgraph is schema.graphqls word for word, except what
// composers refuse.
func TestSubgraph_MatchesTheContract(t *testing.T) {
	subgraph, err := NewSubgraph()
	if err != nil {
		t.Fatal(err)
	}
	composed := parsed(t, "the subgraph", subgraph.SDL)
	for _, list := range []int{len(composed.Directives), len(composed.Extensions), len(composed.Schema)} {
		if list > 0 {
			t.Errorf("it contains definitions that composers have built in, or extends its own types")
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "schema.graphqls"))
	if err != nil {
		t.Fatal(err)
	}
	contract := parsed(t, "schema.graphqls", string(text))
	query := contract.Definitions.ForName("Query")
	before := len(query.Fields)
	query.Fields = slices.DeleteFunc(query.Fields, func(f *ast.FieldDefinition) bool { return f.Name == "node" || f.Name == "nodes" })
	if len(query.Fields) != before-2 {
		t.Errorf("Query had %d fields and has %d without node and nodes", before, len(query.Fields))
	}
	if diff := cmp.Diff(parts(t, contract), parts(t, composed)); diff != "" {
		t.Errorf("the subgraph differs (-contract +subgraph):\n%s", diff)
	}
	if !strings.Contains(subgraph.SDL, `https://specs.apollo.dev/federation/v2.7`) {
		t.Error("no @link")
	}
}

func TestSubgraph_HasNoOneOf(t *testing.T) {
	doc := parsed(t, "a schema",
		`input Place @oneOf @tag(name: "x") { id: ID, name: String } type Query { node: Int, nodes: Int, other: Int } type Other { node: Int }`)
	for _, def := range doc.Definitions {
		compose(def)
	}
	want := []string{"Other.node: Int", "Place.id: ID", "Place.name: String", "Query.other: Int",
		`input_object Place @tag(name: "x")`, "object Other", "object Query"}
	var got []string
	for _, line := range parts(t, doc) {
		if !strings.HasSuffix(line, ": ") { // a description, and there is none
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
