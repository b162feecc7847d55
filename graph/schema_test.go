package graph

import (
	"flag"
	"fmt"
	goast "go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// schemaFiles reads the schema files directly, so that tests also see changes that were not
// generated yet.
func schemaFiles(t *testing.T) *ast.Schema {
	t.Helper()
	var sources []*ast.Source
	for _, name := range []string{"schema.graphqls", "federation.graphqls"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, &ast.Source{Name: name, Input: string(text)})
	}
	schema, err := gqlparser.LoadSchema(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// definitions returns our definitions in order of name, without the built-in ones.
func definitions(schema *ast.Schema) []*ast.Definition {
	var defs []*ast.Definition
	for _, d := range schema.Types {
		if !d.BuiltIn {
			defs = append(defs, d)
		}
	}
	slices.SortFunc(defs, func(a, b *ast.Definition) int { return strings.Compare(a.Name, b.Name) })
	return defs
}

func TestSchema_EverythingHasADescription(t *testing.T) {
	schema := schemaFiles(t)
	seen := 0
	check := func(description, part string, args ...any) {
		seen++
		if text := strings.TrimSpace(description); !strings.HasSuffix(text, ".") {
			t.Errorf("%s: no description in whole sentences: %q", fmt.Sprintf(part, args...), text)
		}
	}
	for _, d := range definitions(schema) {
		check(d.Description, "%s", d.Name)
		for _, v := range d.EnumValues {
			check(v.Description, "%s.%s", d.Name, v.Name)
		}
		for _, f := range d.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			check(f.Description, "%s.%s", d.Name, f.Name)
			for _, a := range f.Arguments {
				check(a.Description, "%s.%s(%s)", d.Name, f.Name, a.Name)
			}
		}
	}
	for name, d := range schema.Directives {
		if d.Position.Src.BuiltIn {
			continue
		}
		check(d.Description, "@%s", name)
		for _, a := range d.Arguments {
			check(a.Description, "@%s(%s)", name, a.Name)
		}
	}
	if seen < 300 {
		t.Errorf("only %d parts were checked; the walk has missed most of the schema", seen)
	}
}

// TestSchema_MatchesTheContract keeps names, types, arguments and defaults as clients know them.
// The golden file was made from the contract, not from schema.graphqls; additions to the schema are
// added there by hand.
func TestSchema_MatchesTheContract(t *testing.T) {
	got := strings.Join(outline(schemaFiles(t)), "\n") + "\n"
	golden := filepath.Join("testdata", "contract.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the schema is not the contract (-contract +schema):\n%s", diff)
	}
}

// outline returns the schema without descriptions, one line for each part.
func outline(schema *ast.Schema) []string {
	var lines []string
	for _, d := range definitions(schema) {
		head := fmt.Sprintf("%s %s", strings.ToLower(string(d.Kind)), d.Name)
		if len(d.Interfaces) > 0 {
			head += " implements " + strings.Join(d.Interfaces, " & ")
		}
		head += applied(d.Directives)
		if len(d.Types) > 0 {
			head += " = " + strings.Join(d.Types, " | ")
		}
		lines = append(lines, head)
		for _, v := range d.EnumValues {
			lines = append(lines, fmt.Sprintf("%s.%s%s", d.Name, v.Name, applied(v.Directives)))
		}
		for _, f := range d.Fields {
			if !strings.HasPrefix(f.Name, "__") {
				lines = append(lines, d.Name+"."+outlineOfField(f))
			}
		}
	}
	return lines
}

func outlineOfField(f *ast.FieldDefinition) string {
	args := make([]string, len(f.Arguments))
	for i, a := range f.Arguments {
		args[i] = a.Name + ": " + a.Type.String() + defaultOf(a.DefaultValue)
	}
	text := f.Name
	if len(args) > 0 {
		text += "(" + strings.Join(args, ", ") + ")"
	}
	return text + ": " + f.Type.String() + defaultOf(f.DefaultValue) + applied(f.Directives)
}

func defaultOf(v *ast.Value) string {
	if v == nil {
		return ""
	}
	return " = " + v.String()
}

func applied(ds ast.DirectiveList) string {
	text := ""
	for _, d := range ds {
		args := make([]string, len(d.Arguments))
		for i, a := range d.Arguments {
			args[i] = a.Name + ": " + a.Value.String()
		}
		text += " @" + d.Name
		if len(args) > 0 {
			text += "(" + strings.Join(args, ", ") + ")"
		}
	}
	return text
}

func TestSchema_LinksFederation(t *testing.T) {
	link := schemaFiles(t).SchemaDirectives.ForName("link")
	if link == nil {
		t.Fatal("the schema has no @link")
	}
	if got, want := link.Arguments.ForName("url").Value.Raw, "https://specs.apollo.dev/federation/v2.7"; got != want {
		t.Errorf("linked %q, want %q", got, want)
	}
}

// TestSchema_ObjectsAreBound: gqlgen makes only the inputs and payloads of mutations, and Limits. Every other
// type of the schema is bound to one of ours.
func TestSchema_ObjectsAreBound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "models_gen.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *goast.GenDecl:
			for _, spec := range d.Specs {
				if made, ok := spec.(*goast.TypeSpec); ok && !strings.HasSuffix(made.Name.Name, "Input") &&
					!strings.HasSuffix(made.Name.Name, "Payload") && made.Name.Name != "Limits" {
					t.Errorf("gqlgen made up the type %s: bind it to one of the domain instead (gqlgen.yml)", made.Name)
				}
			}
		case *goast.FuncDecl:
			t.Errorf("gqlgen made up the function %s: bind its type to one of the domain instead (gqlgen.yml)", d.Name)
		}
	}
}

// Every description of an idempotency key says what its scope is.
func TestSchema_IdempotencyKeysHaveAScope(t *testing.T) {
	seen := 0
	for _, d := range definitions(schemaFiles(t)) {
		key := d.Fields.ForName("idempotencyKey")
		if key == nil {
			continue
		}
		seen++
		scope := "The scope of a key is the viewer and "
		if strings.HasPrefix(d.Name, "Create") && d.Name != "CreateBranchInput" || d.Name == "AcquireLeaseInput" {
			scope = "The scope of a key is the viewer. "
		}
		if !strings.Contains(key.Description, scope) {
			t.Errorf("%s: %q does not say %q", d.Name, key.Description, scope)
		}
	}
	if seen != 21 {
		t.Errorf("%d inputs have an idempotency key, want 21", seen)
	}
}
