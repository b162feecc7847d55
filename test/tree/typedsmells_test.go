package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	gotypes "go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Code smells that need type information: each package of the project is type-checked against the
// export data of its imports.

// A checkedPackage is the product's part of one folder, without tests.
type checkedPackage struct {
	dir     string
	sources []*source
	info    gotypes.Info
}

// checkTree type-checks the package of every folder, once for all tests.
var checkTree = sync.OnceValues(func() ([]*checkedPackage, error) {
	h, err := readTree()
	if err != nil {
		return nil, err
	}
	compiled, err := compiledPackages()
	if err != nil {
		return nil, err
	}
	imports := importer.ForCompiler(h.fset, "gc", func(imp string) (io.ReadCloser, error) {
		if compiled[imp] == "" {
			return nil, fmt.Errorf("%s was not compiled", imp)
		}
		return os.Open(compiled[imp])
	})
	config := gotypes.Config{Importer: imports}
	packages := productPackages(h)
	for _, p := range packages {
		p.info = gotypes.Info{Uses: map[*ast.Ident]gotypes.Object{}, Defs: map[*ast.Ident]gotypes.Object{},
			Types: map[ast.Expr]gotypes.TypeAndValue{}}
		var files []*ast.File
		for _, s := range p.sources {
			files = append(files, s.syntax)
		}
		if _, e := config.Check(path.Join(module, p.dir), h.fset, files, &p.info); e != nil {
			err = errors.Join(err, fmt.Errorf("%s does not compile: %w", p.dir, e))
		}
	}
	return packages, err
})

// productPackages returns the project's folders with their sources, without tests.
func productPackages(h *tree) []*checkedPackage {
	byDir := map[string]*checkedPackage{}
	var packages []*checkedPackage
	for _, s := range h.sources {
		dir := path.Dir(s.path)
		if s.test {
			continue
		}
		if byDir[dir] == nil {
			byDir[dir] = &checkedPackage{dir: dir}
			packages = append(packages, byDir[dir])
		}
		byDir[dir].sources = append(byDir[dir].sources, s)
	}
	return packages
}

// check is checkTree for a test. The test fails if a package does not compile.
func check(t *testing.T) []*checkedPackage {
	t.Helper()
	packages, err := checkTree()
	if err != nil {
		t.Error(err)
	}
	return packages
}

// compiledPackages makes the go command compile the project, or reuse its cache, and returns the
// export file of each package.
func compiledPackages() (map[string]string, error) {
	out, err := exec.Command("go", "list", "-e", "-deps", "-export", "-json=ImportPath,Export", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("compiling the project with go list: %w", err)
	}
	files := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return files, nil
		} else if err != nil {
			return nil, err
		}
		files[p.ImportPath] = p.Export
	}
}

// variables are permitted package-level variables that are not constants, with the reasons.
var variables = map[string]string{
	"core/collation.collators": "memory for computing keys, which is reused and keeps nothing",
}

// TestPackages_HaveNoMutableVariables: a package-level variable must be a constant of a type for
// which Go has no constants: an error, a regular expression, a table, an embedded file. Nothing
// writes to it, and using it changes nothing in it.
func TestPackages_HaveNoMutableVariables(t *testing.T) {
	h := projectTree(t)
	for _, p := range check(t) {
		for _, s := range p.sources {
			if s.generated() {
				continue
			}
			for _, name := range packageVariables(s) {
				v := p.info.Defs[name]
				key := p.dir + "." + name.Name
				if v == nil || variables[key] != "" {
					continue
				}
				if why := changeable(v.Type()); why != "" {
					t.Errorf("%s: %s is state of the process (%s): make it a field of what uses it", h.at(name), key, why)
				}
				if write := p.writeTo(v); write != nil {
					t.Errorf("%s: %s is a package-level variable and is written here: make it a field of what uses it", h.at(write), key)
				}
			}
		}
	}
}

// packageVariables returns the names of a file's package-level variables, except compile-time
// checks.
func packageVariables(s *source) []*ast.Ident {
	var names []*ast.Ident
	for _, d := range s.syntax.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				if name.Name != "_" {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// changeable returns why using a value of the type can change it, or "".
func changeable(t gotypes.Type) string {
	if p, ok := t.(*gotypes.Pointer); ok {
		t = p.Elem()
	}
	switch named := t.(type) {
	case *gotypes.Chan:
		return "a channel"
	case *gotypes.Named:
		if pkg := named.Obj().Pkg(); pkg != nil && (pkg.Path() == "sync" || pkg.Path() == "sync/atomic") {
			return pkg.Name() + "." + named.Obj().Name()
		}
		if s, ok := named.Underlying().(*gotypes.Struct); ok {
			for i := range s.NumFields() {
				if why := changeable(s.Field(i).Type()); why != "" && named.Obj().Pkg().Path() != "regexp" {
					return why
				}
			}
		}
	}
	return ""
}

// writeTo returns a node in which the package assigns to v or a part of it, or takes its address.
// It returns nil if there is none.
func (p *checkedPackage) writeTo(v gotypes.Object) ast.Node {
	var found ast.Node
	is := func(e ast.Expr) {
		if id := base(e); id != nil && p.info.Uses[id] == v {
			found = e
		}
	}
	for _, s := range p.sources {
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					is(e)
				}
			case *ast.IncDecStmt:
				is(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					is(n.X)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") {
					is(n.Args[0])
				}
			}
			return true
		})
	}
	return found
}

// base returns the variable that e is, or is a part of. It returns nil for any other expression.
func base(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.IndexExpr:
		return base(e.X)
	case *ast.SelectorExpr:
		return base(e.X)
	case *ast.SliceExpr:
		return base(e.X)
	case *ast.StarExpr:
		return base(e.X)
	case *ast.ParenExpr:
		return base(e.X)
	}
	return nil
}

// TestDomain_DoesNotDependOnMapOrder: a range over a map has a different order each time, so the
// simulator could not replay a schedule. If the order cannot matter, a comment with the word
// "order" on the line, above it or above the function says why.
func TestDomain_DoesNotDependOnMapOrder(t *testing.T) {
	h := projectTree(t)
	for _, p := range check(t) {
		if !isStandard(p.dir) {
			continue
		}
		for _, s := range p.sources {
			ast.Inspect(s.syntax, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.RangeStmt:
					if typ := p.info.Types[n.X].Type; typ != nil && isMap(typ) && !h.explained(s, n) {
						t.Errorf("%s: a range over a map: sort the keys, or say why the order does not matter", h.at(n))
					}
				case *ast.SelectorExpr:
					if f := p.info.Uses[n.Sel]; f != nil && f.Pkg() != nil && f.Pkg().Path() == "maps" && !h.explained(s, n) {
						t.Errorf("%s: maps.%s has no order: sort, or say why the order does not matter", h.at(n), f.Name())
					}
				}
				return true
			})
		}
	}
}

func isMap(t gotypes.Type) bool {
	_, ok := t.Underlying().(*gotypes.Map)
	return ok
}

// explained reports whether a comment about order is on the node's line, ends on the line above it,
// or belongs to the function around it.
func (h *tree) explained(s *source, n ast.Node) bool {
	line := h.fset.Position(n.Pos()).Line
	for f := range functions(s) {
		if f.Pos() <= n.Pos() && n.Pos() < f.End() && strings.Contains(f.Doc.Text(), "order") {
			return true
		}
	}
	return slices.ContainsFunc(s.syntax.Comments, func(c *ast.CommentGroup) bool {
		end := h.fset.Position(c.End()).Line
		return (end == line || end == line-1) && strings.Contains(c.Text(), "order")
	})
}

// maxStoreMethods is the maximal number of methods of a Store, including embedded ones.
const maxStoreMethods = 15

// TestStores_AreNarrow: a domain declares what it needs of a store, and no more.
func TestStores_AreNarrow(t *testing.T) {
	h := projectTree(t)
	narrow := map[string]bool{}
	for _, p := range check(t) {
		for id, def := range p.info.Defs {
			typ, ok := def.(*gotypes.TypeName)
			if !ok || !strings.HasSuffix(id.Name, "Store") {
				continue
			}
			i, ok := typ.Type().Underlying().(*gotypes.Interface)
			if !ok {
				continue
			}
			component, _, _ := strings.Cut(p.dir, "/")
			narrow[component] = true
			if n := i.NumMethods(); n > maxStoreMethods {
				t.Errorf("%s: %s.%s has %d methods with those that it embeds, at most %d: split it", h.at(id), p.dir, id.Name, n, maxStoreMethods)
			}
		}
	}
	for _, component := range []string{"core", "principal", "library"} {
		if !narrow[component] {
			t.Errorf("no interface named Store was found in %s", component)
		}
	}
}
