package tree

import (
	"go/ast"
	"go/token"
	"strconv"
	"testing"
)

// TestHostileTable_TestsOfOtherPackagesExist: test/scenario has a table of hostile requests. The
// list elsewhere names, for some rows, a test of another component; that test must exist, so that
// every row is tested.
func TestHostileTable_TestsOfOtherPackagesExist(t *testing.T) {
	h := projectTree(t)
	tests := map[string]bool{}
	var named []string
	for _, s := range h.sources {
		for _, d := range s.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test && f.Recv == nil {
				tests[s.component+":"+f.Name.Name] = true
			}
			named = append(named, namedElsewhere(s, d)...)
		}
	}
	if len(named) == 0 {
		t.Error("scenario names no test of another component: was its list elsewhere renamed?")
	}
	for _, name := range named {
		if !tests[name] {
			t.Errorf("scenario names the test %s, which does not exist", name)
		}
	}
}

// namedElsewhere returns the strings of the list elsewhere, if d declares it in scenario.
func namedElsewhere(s *source, d ast.Decl) (names []string) {
	list, ok := d.(*ast.GenDecl)
	if !ok || s.component != "test/scenario" || list.Tok != token.VAR {
		return nil
	}
	for _, spec := range list.Specs {
		if v := spec.(*ast.ValueSpec); v.Names[0].Name != "elsewhere" {
			continue
		}
		ast.Inspect(spec, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				name, _ := strconv.Unquote(text.Value) // the parser has checked it
				names = append(names, name)
			}
			return true
		})
	}
	return names
}
