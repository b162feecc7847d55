package main_test

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

// Smells that need to know what a name stands for: each package of the project
// is type-checked against the compiled form of what it imports.

// A checked package is the product's part of one folder, without tests.
type checkedPackage struct {
	dir     string
	sources []*source
	info    gotypes.Info
}

// checkHouse type-checks the package of every folder, once for all tests.
var checkHouse = sync.OnceValues(func() ([]*checkedPackage, error) {
	h, err := readHouse()
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
		p.info = gotypes.Info{Uses: map[*ast.Ident]gotypes.Object{}, Defs: map[*ast.Ident]gotypes.Object{}, Types: map[ast.Expr]gotypes.TypeAndValue{}}
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

// productPackages are the project's folders with their sources, without tests.
func productPackages(h *house) []*checkedPackage {
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

// check is checkHouse for a test, which fails where a package does not compile.
func check(t *testing.T) []*checkedPackage {
	t.Helper()
	packages, err := checkHouse()
	if err != nil {
		t.Error(err)
	}
	return packages
}

// compiledPackages has the go command compile the project, from its cache
// where it can, and tells the file of each package's compiled form.
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

// variables are package-level variables that are more than named constants,
// with the reason why each of them is one all the same.
var variables = map[string]string{}

// A package-level variable is a constant with a type Go has no constants of:
// an error, a regular expression, a table, an embedded file. Nothing writes to
// it, and nothing in it can change by being used.
func TestPackagesHaveNoState(t *testing.T) {
	h := theHouse(t)
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

// packageVariables are the names of a file's package-level variables, but for
// those whose only purpose is a compile-time check.
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

// changeable says why a value of the type can change by being used, or is empty.
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

// writeTo finds a place where the package assigns to v, to a part of it, or
// takes its address; nil where there is none.
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

// base is the variable that e is, or is a part of; nil for any other expression.
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

// A range over a map comes in another order each time, so a schedule of the
// simulator could not be replayed. Where the order cannot matter, a comment
// with the word "order", on the line, above it or above the function, says why.
func TestRulesDoNotDependOnTheOrderOfMaps(t *testing.T) {
	h := theHouse(t)
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

// explained tells whether a comment about order stands on the node's line, ends
// on the line above it, or is that of the function around it.
func (h *house) explained(s *source, n ast.Node) bool {
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

// maxStoreMethods is how wide a Store may be, with what it embeds.
const maxStoreMethods = 15

// TestStores_AreNarrow: a domain says what it needs of a store, and no more. Only
// backend.Store, which kinds of stores implement, has everything.
func TestStores_AreNarrow(t *testing.T) {
	h := theHouse(t)
	narrow := map[string]bool{}
	for _, p := range check(t) {
		for id, def := range p.info.Defs {
			typ, ok := def.(*gotypes.TypeName)
			if !ok || !strings.HasSuffix(id.Name, "Store") || p.dir == "backend" {
				continue
			}
			i, ok := typ.Type().Underlying().(*gotypes.Interface)
			if !ok {
				continue
			}
			room, _, _ := strings.Cut(p.dir, "/")
			narrow[room] = true
			if n := i.NumMethods(); n > maxStoreMethods {
				t.Errorf("%s: %s.%s has %d methods with those that it embeds, at most %d: split it", h.at(id), p.dir, id.Name, n, maxStoreMethods)
			}
		}
	}
	for _, room := range []string{"core", "principal", "library"} {
		if !narrow[room] {
			t.Errorf("no interface named Store was found in %s", room)
		}
	}
}
