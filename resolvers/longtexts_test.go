package resolvers_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
)

// longTexts returns texts of about 200 KB. On these, loops whose work grows with the square of the
// length take seconds or gigabytes.
func longTexts() map[string]string {
	const size = 200_000
	many := func(start, piece, end string) string { return start + strings.Repeat(piece, size/len(piece)) + end }
	var ideographs strings.Builder
	for n := range rune(size / 3) {
		ideographs.WriteRune(0x4e00 + n%20_000) // many different ones, because Punycode handles each alone
	}
	host := ideographs.String()
	return map[string]string{
		"parameters":      many("https://x.example/?", "a=&", ""),
		"segments":        many("https://x.example", "/../a", ""),
		"escapes":         many("https://x.example/", "%CC%81", ""),
		"a host":          "https://" + host + ".example/",
		"an address":      "a@" + host + ".example",
		"accents":         many("e", "\u0301\u0323", ""),
		"words":           many("", "ab ", ""),
		"parts of an id":  many("u:acme:", "n:", ""),
		"parts of a key":  many("c:acme:x#en/1", ".1/", ""),
		"digits and dots": many("", "1.", "0"),
	}
}

// TestTexts_TakeLinearWork sends long texts in every argument and input field that takes a text.
// None of them takes more memory than some copies of the text, or more than seconds.
func TestTexts_TakeLinearWork(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann")
	texts, fields := longTexts(), 0
	for _, root := range []*ast.Definition{g.schema.Query, g.schema.Mutation} {
		for _, field := range root.Fields {
			if strings.HasPrefix(field.Name, "_") {
				continue
			}
			for _, target := range g.textsOf(field) {
				fields++
				for name, text := range texts {
					g.wantLinear(fmt.Sprintf("%s in %s", name, strings.Join(target, ".")), root, field, target, text)
				}
			}
		}
	}
	if fields < 100 {
		t.Errorf("only %d fields take texts", fields)
	}
}

// textsOf returns the paths of the texts in the arguments of a field.
func (g *gateway) textsOf(field *ast.FieldDefinition) (paths [][]string) {
	for _, arg := range field.Arguments {
		for _, path := range g.textsIn(arg.Type, 0) {
			paths = append(paths, append([]string{field.Name, arg.Name}, path...))
		}
	}
	return paths
}

func (g *gateway) textsIn(typ *ast.Type, depth int) (paths [][]string) {
	def := g.schema.Types[typ.Name()]
	switch {
	case def.Kind == ast.Scalar && def.Name != "Int" && def.Name != "Boolean" && def.Name != "Float" && def.Name != "DateTime":
		return [][]string{nil}
	case def.Kind == ast.InputObject && depth < 4:
		for _, f := range def.Fields {
			for _, path := range g.textsIn(f.Type, depth+1) {
				paths = append(paths, append([]string{f.Name}, path...))
			}
		}
	}
	return paths
}

// value returns a value of a type with a text at a path, and as little else as it needs.
func (g *gateway) value(typ *ast.Type, path []string, text string, onPath bool) any {
	if typ.Elem != nil {
		return []any{g.value(typ.Elem, path, text, onPath)}
	}
	def := g.schema.Types[typ.NamedType]
	switch {
	case def.Kind == ast.InputObject:
		object := map[string]any{}
		for _, f := range def.Fields {
			on := onPath && len(path) > 0 && path[0] == f.Name
			if on {
				object[f.Name] = g.value(f.Type, path[1:], text, true)
			} else if f.Type.NonNull && f.DefaultValue == nil {
				object[f.Name] = g.value(f.Type, nil, text, false)
			}
		}
		return object
	case onPath:
		return text
	case def.Kind == ast.Enum:
		return def.EnumValues[0].Name
	case def.Name == "Int":
		return 1
	case def.Name == "Boolean":
		return true
	}
	return "x"
}

func (g *gateway) wantLinear(what string, root *ast.Definition, field *ast.FieldDefinition, target []string, text string) {
	g.t.Helper()
	var declared, passed []string
	variables := map[string]any{}
	for _, arg := range field.Arguments {
		on := arg.Name == target[1]
		if !on && (!arg.Type.NonNull || arg.DefaultValue != nil) {
			continue
		}
		declared = append(declared, "$"+arg.Name+": "+arg.Type.String())
		passed = append(passed, arg.Name+": $"+arg.Name)
		variables[arg.Name] = g.value(arg.Type, target[2:], text, on)
	}
	selection := " { __typename }"
	if def := g.schema.Types[field.Type.Name()]; def.IsLeafType() {
		selection = ""
	}
	query := fmt.Sprintf("%s(%s) { %s(%s)%s }", strings.ToLower(root.Name), strings.Join(declared, ", "), field.Name,
		strings.Join(passed, ", "), selection)
	ctx, cancel := context.WithTimeout(g.t.Context(), 10*time.Second)
	defer cancel()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	g.exec.Execute(ctx, g.execution(admin(), query, variables))
	runtime.ReadMemStats(&after)
	if took := time.Since(begun); took > 3*time.Second {
		g.t.Errorf("%s of %d bytes takes %v", what, len(text), took)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(64*len(text)) {
		g.t.Errorf("%s of %d bytes takes %d bytes of memory", what, len(text), n)
	}
}
