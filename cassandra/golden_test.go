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

var update = flag.Bool("update", false, "write the golden files of testdata")

// product returns the files of the package and of session without their tests, by name.
func product(t *testing.T) (*token.FileSet, map[string]*ast.File) {
	t.Helper()
	var names []string
	for _, dir := range []string{".", "session"} {
		found, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(found), err)
		}
		names = append(names, found...)
	}
	fset, files := token.NewFileSet(), make(map[string]*ast.File)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = syntax
	}
	return fset, files
}

// constants returns the texts of the package's constants, by name.
func constants(files map[string]*ast.File) map[string]string {
	exprs := make(map[string]ast.Expr)
	for _, syntax := range files {
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

// statements returns the constants that are statements, by name. Some other constants start like a
// statement, but are a common part of several.
func statements(files map[string]*ast.File) map[string]string {
	texts := constants(files)
	maps.DeleteFunc(texts, func(name, text string) bool { return !isStatement(text) || strings.HasPrefix(name, "assign") })
	return texts
}

var verbs = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "TRUNCATE", "GRANT", "BEGIN", "USE"}

// isStatement reports whether a text starts like a statement.
func isStatement(text string) bool {
	verb, _, more := strings.Cut(strings.TrimSpace(text), " ")
	return more && slices.Contains(verbs, verb)
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

// TestStatements_MatchTheGoldenFile compares the statements that the product can send with a golden
// file, so that reviewers see every change. Run with -update to accept a change.
func TestStatements_MatchTheGoldenFile(t *testing.T) {
	var b strings.Builder
	_, files := product(t)
	texts := statements(files)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(&b, "%s\n    %s\n", name, strings.Join(strings.Fields(texts[name]), " "))
	}
	if len(texts) < 40 {
		t.Errorf("only %d statements were found", len(texts))
	}
	matchGolden(t, "statements.golden", b.String())
}

// TestMigrations_MatchTheGoldenFile compares the checksums of the files of the schema with a golden
// file. A keyspace whose files differ is refused, so a change of the schema after its release must
// be a new file. Run with -update to accept a change.
func TestMigrations_MatchTheGoldenFile(t *testing.T) {
	all, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintln(&b, m.name, m.checksum)
	}
	matchGolden(t, "migrations.golden", b.String())
}

// matchGolden compares a text with a file of testdata, which it writes first with -update.
func matchGolden(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", name)
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
		t.Errorf("this differs from %s (-want +got):\n%s", golden, diff)
	}
}
