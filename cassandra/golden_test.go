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
		t.Errorf("the statements differ from %s (-want +got):\n%s", golden, diff)
	}
}

// TestMigrations_ReleasedFilesDoNotChange compares the checksum of each file of the schema with a
// golden file. A keyspace stores the checksums of the files that it was made by and is refused if
// one differs, so a change of the schema must be a new file. Run with -update to add it; existing
// lines of the list stay.
func TestMigrations_ReleasedFilesDoNotChange(t *testing.T) {
	all, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "migrations.golden")
	listed, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(listed), "\n"), "\n")
	for i, m := range all {
		line := m.name + " " + m.checksum
		switch {
		case i < len(lines) && lines[i] != line:
			t.Errorf("%s was released as %q and is %q now: undo it, and add a file", m.name, lines[i], line)
		case i >= len(lines) && *update:
			lines = append(lines, line)
		case i >= len(lines):
			t.Errorf("%s is not in %s: run with -update", m.name, golden)
		}
	}
	if len(lines) > len(all) {
		t.Errorf("%s has %d files, and the schema has %d", golden, len(lines), len(all))
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(golden, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
