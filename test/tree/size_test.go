package tree

import (
	"cmp"
	"go/ast"
	"go/token"
	gotypes "go/types"
	"slices"
	"strings"
	"testing"
)

// maxSize has the most lines of Go, by kind, and the most exported methods of one type, promoted ones
// included. Raising a limit is a commit of its own, with the reason.
var maxSize = map[string]int{
	"product":  66_300,
	"tests":    86_700,
	"programs": 27_000,
	"methods":  30,
}

// kindOf returns what the lines of a file count as: "product", "tests" or "programs". Programs are what tests
// are made of, apart from the tests themselves: test/ and the conformance suites.
func kindOf(s *source) string {
	switch {
	case strings.HasSuffix(s.path, "_test.go"):
		return "tests"
	case s.test || strings.HasPrefix(s.path, "test/"):
		return "programs"
	}
	return "product"
}

// TestSize_StaysWithinItsLimits prints the counts, for `make size`.
func TestSize_StaysWithinItsLimits(t *testing.T) {
	size := map[string]int{}
	for _, s := range projectTree(t).sources {
		if !s.generated() {
			size[kindOf(s)] += s.lines
		}
	}
	largest := largestTypes(t)
	size["methods"] = largest[0].methods
	for _, kind := range []string{"product", "tests", "programs"} {
		t.Logf("%-9s %6d lines, at most %d", kind, size[kind], maxSize[kind])
	}
	for _, l := range largest[:5] {
		t.Logf("%-9s %6d exported methods, at most %d", l.name, l.methods, maxSize["methods"])
	}
	for kind, n := range size {
		if n > maxSize[kind] {
			t.Errorf("%s: %d, more than %d", kind, n, maxSize[kind])
		}
	}
}

// typeSize is a type with the number of its exported methods, promoted ones included.
type typeSize struct {
	name    string
	methods int
}

// largestTypes returns the exported types of the product, those with the most methods first.
func largestTypes(t *testing.T) (all []typeSize) {
	t.Helper()
	for _, p := range check(t) {
		for _, s := range p.sources {
			if kindOf(s) != "product" || s.generated() {
				continue
			}
			for name := range types(s) {
				if def, ok := p.defined(s, name).(*gotypes.TypeName); ok && def.Exported() {
					all = append(all, typeSize{p.dir + "." + name, exportedMethods(def.Type())})
				}
			}
		}
	}
	if len(all) < 5 {
		t.Fatalf("the product has %d exported types", len(all))
	}
	slices.SortFunc(all, func(a, b typeSize) int { return cmp.Or(cmp.Compare(b.methods, a.methods), cmp.Compare(a.name, b.name)) })
	return all
}

// defined returns the object of a type that a file declares.
func (p *checkedPackage) defined(s *source, name string) gotypes.Object {
	for _, d := range s.syntax.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			for _, spec := range g.Specs {
				if id := spec.(*ast.TypeSpec).Name; id.Name == name {
					return p.info.Defs[id]
				}
			}
		}
	}
	return nil
}

// exportedMethods counts the methods that callers of a variable of the type can call.
func exportedMethods(t gotypes.Type) (n int) {
	if !gotypes.IsInterface(t) {
		t = gotypes.NewPointer(t)
	}
	for m := range gotypes.NewMethodSet(t).Methods() {
		if m.Obj().Exported() {
			n++
		}
	}
	return n
}
