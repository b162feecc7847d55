package tree

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// Code smells that the syntax of one file shows. Those that need type information are in
// typedsmells_test.go.

// A function longer than maxFunctionLines contains a second one. A resolver longer than
// maxResolverLines contains business rules.
const (
	maxFunctionLines = 60
	maxTestLines     = 110 // tables of cases are data
	maxResolverLines = 25
	maxRootFields    = 4
)

// longFunctions are the exceptions, with their reasons.
var longFunctions = map[string]string{}

func TestFunctions_AreShort(t *testing.T) {
	h := projectTree(t)
	met := map[string]bool{}
	for _, s := range h.sources {
		if s.generated() {
			continue
		}
		most := maxFunctionLines
		switch {
		case s.test:
			most = maxTestLines
		case s.component == "resolvers":
			most = maxResolverLines
		}
		for f := range functions(s) {
			name := s.path + ":" + f.Name.Name
			lines := h.fset.Position(f.End()).Line - h.fset.Position(f.Pos()).Line + 1
			met[name] = lines > most
			if lines > most && longFunctions[name] == "" {
				t.Errorf("%s: %s has %d lines, more than %d", h.at(f), f.Name.Name, lines, most)
			}
		}
	}
	for name, reason := range longFunctions {
		if !met[name] || reason == "" {
			t.Errorf("longFunctions names %s, which is gone, short, or has no reason", name)
		}
	}
}

// functions returns the declared functions and methods of a file.
func functions(s *source) func(func(*ast.FuncDecl) bool) {
	return func(yield func(*ast.FuncDecl) bool) {
		for _, d := range s.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && !yield(f) {
				return
			}
		}
	}
}

// prescribedNames has the names of methods that libraries prescribe, each with the interface that has the
// method.
var prescribedNames = map[string]string{"GetRetryType": "gocql.RetryPolicy"}

func TestNames_HaveNoGetterPrefixAndNoInit(t *testing.T) {
	h := projectTree(t)
	met := map[string]bool{}
	for _, s := range h.sources {
		if s.generated() {
			continue
		}
		for f := range functions(s) {
			name := f.Name.Name
			if f.Recv != nil && prescribedNames[name] != "" {
				met[name] = true
				continue
			}
			if f.Recv == nil && name == "init" {
				t.Errorf("%s: init() runs implicitly; let main or a constructor do it", h.at(f))
			}
			for _, prefix := range []string{"Get", "get"} {
				rest := strings.TrimPrefix(name, prefix)
				if rest != name && rest != "" && strings.ToUpper(rest[:1]) == rest[:1] {
					t.Errorf("%s: %s: name it for what it returns", h.at(f), name)
				}
			}
		}
	}
	for name := range prescribedNames {
		if !met[name] {
			t.Errorf("prescribedNames names %s, which is gone", name)
		}
	}
}

// forbiddenCalls are calls, by package and name, that a group of files must not make, with the
// reason for the message.
var forbiddenCalls = []struct {
	pkg, name string
	where     func(*source) bool
	reason    string
}{
	{"context", "Background", product, "a context comes from the caller"},
	{"context", "TODO", everywhere, "a context comes from the caller"},
	{"time", "Sleep", everywhere, "wait for what is waited for: a latch, a channel, synctest"},
	{"os", "Exit", product, "only main ends the process"},
	{"log", "Fatal", everywhere, "only main ends the process, with an exit code"},
	{"log", "Fatalf", everywhere, "only main ends the process, with an exit code"},
	{"log", "Fatalln", everywhere, "only main ends the process, with an exit code"},
	{"time", "Now", simulated, "time comes from the Runtime"},
	{"time", "Since", simulated, "time comes from the Runtime"},
	{"time", "Until", simulated, "time comes from the Runtime"},
	{"time", "After", simulated, "waiting goes through the Runtime"},
	{"time", "AfterFunc", simulated, "waiting goes through the Runtime"},
	{"time", "NewTimer", simulated, "waiting goes through the Runtime"},
	{"time", "NewTicker", simulated, "waiting goes through the Runtime"},
	{"time", "Tick", simulated, "waiting goes through the Runtime"},
	{"context", "WithTimeout", simulated, "deadlines come from the Runtime"},
	{"context", "WithDeadline", simulated, "deadlines come from the Runtime"},
	{"context", "WithoutCancel", simulated, "the Runtime detaches"},
	{"context", "AfterFunc", simulated, "it starts a goroutine; tasks are started by the Runtime"},
}

func everywhere(*source) bool { return true }

// product reports whether the file is part of the gateway, outside package main.
func product(s *source) bool {
	return !s.test && s.syntax.Name.Name != "main" && s.component != "test/bench"
}

// simulated reports whether the simulator runs the file's package step by step. The one file that
// connects to the real world is exempt.
func simulated(s *source) bool {
	return !s.test && isStandard(path.Dir(s.path)) && s.path != "core/sched/real.go"
}

func TestSources_HaveNoForbiddenCalls(t *testing.T) {
	h := projectTree(t)
	for _, s := range h.sources {
		names := importNames(s)
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			base, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, f := range forbiddenCalls {
				if names[base.Name] == f.pkg && sel.Sel.Name == f.name && f.where(s) {
					t.Errorf("%s: %s.%s: %s", h.at(n), f.pkg, f.name, f.reason)
				}
			}
			if s.test && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) &&
				slices.Contains([]string{"t", "tb", "b", "f", "rt"}, base.Name) {
				t.Errorf("%s: a test that cannot run must fail and say why", h.at(n))
			}
			return true
		})
	}
}

// importNames maps the package names in a file to import paths.
func importNames(s *source) map[string]string {
	names := map[string]string{}
	for i, imp := range s.imports() {
		name := path.Base(imp)
		if given := s.syntax.Imports[i].Name; given != nil {
			name = given.Name
		}
		names[name] = imp
	}
	return names
}

// TestDomain_UsesTheRuntimeForConcurrency: the simulator runs the product's code one step at a
// time, so that code must not start goroutines, wait or choose by itself.
func TestDomain_UsesTheRuntimeForConcurrency(t *testing.T) {
	h := projectTree(t)
	for _, s := range h.sources {
		if !simulated(s) {
			continue
		}
		for _, imp := range s.imports() {
			if slices.Contains([]string{"math/rand", "math/rand/v2", "crypto/rand"}, imp) {
				t.Errorf("%s imports %s: randomness comes from the Runtime", s.path, imp)
			}
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a bare go statement: use Runtime.Go", h.at(n))
			case *ast.SelectStmt:
				t.Errorf("%s: a select: use Runtime.Wait", h.at(n))
			case *ast.SendStmt, *ast.ChanType:
				t.Errorf("%s: a channel: use a Latch", h.at(n))
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					t.Errorf("%s: a channel: use a Latch", h.at(n))
				}
			}
			return true
		})
	}
}

func TestRoot_IsSmall(t *testing.T) {
	h := projectTree(t)
	roots := 0
	for _, s := range h.sources {
		for name, typ := range types(s) {
			root, ok := typ.(*ast.StructType)
			if !ok || s.component != "resolvers" || s.test || name != "Root" {
				continue
			}
			roots++
			if n := root.Fields.NumFields(); n > maxRootFields {
				t.Errorf("%s: the root resolver has %d fields, at most %d: it should only have the services", h.at(root), n, maxRootFields)
			}
		}
	}
	if roots != 1 {
		t.Errorf("found %d root resolvers in resolvers/, want the one type Root", roots)
	}
}

// types returns the type declarations of a file.
func types(s *source) func(func(string, ast.Expr) bool) {
	return func(yield func(string, ast.Expr) bool) {
		for _, d := range s.syntax.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, spec := range g.Specs {
				spec := spec.(*ast.TypeSpec)
				if !yield(spec.Name.Name, spec.Type) {
					return
				}
			}
		}
	}
}

// TestProduct_HasNoAblations: rules of the write protocol are disabled by patches of the simulator
// (ADR 32), never by a switch in the product.
func TestProduct_HasNoAblations(t *testing.T) {
	h := projectTree(t)
	seen := 0
	for _, s := range h.sources {
		if s.test || strings.HasPrefix(s.path, "test/") {
			continue
		}
		text, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if strings.Contains(strings.ToLower(string(text)), "ablat") {
			t.Errorf("%s mentions ablations", s.path)
		}
	}
	if seen < 200 {
		t.Errorf("checked only %d files", seen)
	}
}
