package main_test

import (
	"go/ast"
	"go/token"
	"strconv"
	"testing"
)

// TestRowsOfElsewhereAreThere: what the hostile table leaves to a test of another
// room is there, so that no row is nobody's.
func TestRowsOfElsewhereAreThere(t *testing.T) {
	h := theHouse(t)
	tests := map[string]bool{}
	var left []string
	for _, s := range h.sources {
		for _, d := range s.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test && f.Recv == nil {
				tests[s.room+":"+f.Name.Name] = true
			}
			left = append(left, leftElsewhere(s, d)...)
		}
	}
	if len(left) == 0 {
		t.Error("scenario leaves no row to another room: is its list not named elsewhere any more?")
	}
	for _, name := range left {
		if !tests[name] {
			t.Errorf("scenario leaves a row to %s, which does not exist", name)
		}
	}
}

// leftElsewhere are the strings of the list named elsewhere, if d is that of
// scenario.
func leftElsewhere(s *source, d ast.Decl) (names []string) {
	list, ok := d.(*ast.GenDecl)
	if !ok || s.room != "test/scenario" || list.Tok != token.VAR {
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
