package edge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/core/fault"
)

// constants returns the texts of the constants of a source file whose names begin with a prefix.
func constants(t *testing.T, path, prefix string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, prefix) && len(spec.Values) > 0 {
			if all[spec.Names[0].Name], err = strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value); err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	if len(all) < 11 {
		t.Errorf("%s has %d constants %s...; were they moved?", path, len(all), prefix)
	}
	return all
}

// TestReasons_HaveACode: every reason of the domain, present or future, has a code in the contract,
// and so has each fault code except Internal.
func TestReasons_HaveACode(t *testing.T) {
	for name, value := range constants(t, filepath.Join("..", "core", "fault", "fault.go"), "Reason") {
		if code := codeOf(&fault.Error{Code: fault.Internal, Reason: fault.Reason(value)}); code == codeInternal {
			t.Errorf("%s has no code", name)
		}
	}
	for code := fault.Invalid; code <= fault.Unavailable; code++ {
		if codeOf(&fault.Error{Code: code}) == codeInternal {
			t.Errorf("the fault code %d has no code", code)
		}
	}
}

// TestCodes_AreDocumented compares the codes of the contract with the tables of docs/errors.md.
func TestCodes_AreDocumented(t *testing.T) {
	codes := constants(t, "codes.go", "code")
	delete(codes, "codeOK") // is for observers
	want := slices.Sorted(maps.Values(codes))
	page, err := os.ReadFile(filepath.Join("..", "docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([A-Z_, ]+) \|`).FindAllStringSubmatch(string(page), -1) {
		got = append(got, strings.Split(row[1], ", ")...)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("docs/errors.md has %q, want %q", got, want)
	}
}
