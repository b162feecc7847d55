package edge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"carrel/core/fault"
)

// TestReasons_HaveACode: every reason of the domain, present or future, has a code in the contract,
// and so has each fault code except Internal.
func TestReasons_HaveACode(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "core", "fault", "fault.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	reasons := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		reasons++
		if code := codeOf(&fault.Error{Code: fault.Internal, Reason: fault.Reason(value)}); code == codeInternal {
			t.Errorf("%s has no code", spec.Names[0].Name)
		}
		return true
	})
	if reasons < 11 {
		t.Errorf("the domain has %d reasons; were they moved?", reasons)
	}
	for code := fault.Invalid; code <= fault.Unavailable; code++ {
		if codeOf(&fault.Error{Code: code}) == codeInternal {
			t.Errorf("the fault code %d has no code", code)
		}
	}
}
