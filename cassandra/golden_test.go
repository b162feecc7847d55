package cassandra

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/statements.golden")

// constants are the texts of the package's constants, by name.
func constants(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	exprs := make(map[string]ast.Expr)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range syntax.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				spec := spec.(*ast.ValueSpec)
				for i, name := range spec.Names {
					if i < len(spec.Values) {
						exprs[name.Name] = spec.Values[i]
					}
				}
			}
		}
	}
	texts := make(map[string]string)
	for name, e := range exprs {
		if text, ok := textOf(e, exprs); ok {
			texts[name] = text
		}
	}
	return texts
}

// textOf evaluates a constant text; ok is false for any other constant.
func textOf(e ast.Expr, exprs map[string]ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.Ident:
		of, known := exprs[e.Name]
		if !known {
			return "", false
		}
		return textOf(of, exprs)
	case *ast.BinaryExpr:
		x, ok1 := textOf(e.X, exprs)
		y, ok2 := textOf(e.Y, exprs)
		return x + y, ok1 && ok2
	}
	return "", false
}

// TestStatements holds every statement that the product can send to a list
// that a reviewer sees change. Run with -update to accept a change.
func TestStatements(t *testing.T) {
	var b strings.Builder
	texts := constants(t)
	n := 0
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		verb, _, _ := strings.Cut(texts[name], " ")
		if !slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE"}, verb) || strings.HasPrefix(name, "assign") {
			continue
		}
		n++
		fmt.Fprintf(&b, "%s\n    %s\n", name, strings.Join(strings.Fields(texts[name]), " "))
	}
	if n < 40 {
		t.Errorf("only %d statements were found", n)
	}
	golden := filepath.Join("testdata", "statements.golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the statements are not those of %s (-want +got):\n%s", golden, diff)
	}
}
