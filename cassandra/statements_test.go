package cassandra

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// takesStatements are the functions and methods of this package, of session and of the driver that
// take statements, with the indexes of those arguments. They may pass their arguments on.
var takesStatements = map[string][]int{
	"Query": {0}, "Bind": {0}, // the driver's, of sessions and batches
	"Append": {0}, "Write": {2}, "WriteStamped": {2}, "DecideOne": {2}, "Define": {1}, "ReadTexts": {1},
	"scanIDs": {3, 4}, "collect": {1}, "memberships": {1},
}

// holdStatements are the struct fields that hold statements.
var holdStatements = []string{"stmt", "Stmt", "onward", "within", "restore", "hold",
	"selectRow", "insertRow", "replaceRow", "dropRow", "all"}

// elsewhere are the functions that send statements which are not constants, with the reason.
var elsewhere = map[string]string{
	"MakeKeyspace": "a keyspace and its replication cannot be bound; the options are validated",
	"apply":        "the embedded files, which testdata/migrations.golden lists",
}

// statementRule finds statements that are not named constants.
type statementRule struct {
	fset   *token.FileSet
	known  map[string]string // statements by name
	faults []string
	f      *ast.FuncDecl // the function that is checked
}

func (r *statementRule) fault(n ast.Node, why string) {
	r.faults = append(r.faults, r.fset.Position(n.Pos()).String()+": "+why)
}

func (r *statementRule) file(syntax *ast.File) {
	for _, d := range syntax.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			if d.Tok != token.CONST {
				ast.Inspect(d, r.node)
			}
		case *ast.FuncDecl:
			r.f = d
			ast.Inspect(d, r.node)
			r.f = nil
		}
	}
}

func (r *statementRule) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && isStatement(text) {
			r.fault(n, "a statement that is not a constant of the package")
		}
	case *ast.CallExpr:
		for _, at := range takesStatements[calledName(n)] {
			// A pointer is not a text: this is another method with that name.
			if at < len(n.Args) && !isPointer(n.Args[at]) {
				r.want(n.Args[at])
			}
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(holdStatements, key.Name) {
			r.want(n.Value)
		}
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if field, ok := to.(*ast.SelectorExpr); ok && slices.Contains(holdStatements, field.Sel.Name) && i < len(n.Rhs) {
				r.want(n.Rhs[i])
			}
		}
	}
	return true
}

func (r *statementRule) want(e ast.Expr) {
	if r.f != nil && elsewhere[r.f.Name.Name] != "" {
		return
	}
	if !r.isKnown(e, nil) {
		r.fault(e, "the argument may not be a named statement")
	}
}

// isKnown reports whether an expression is a named statement, or a parameter that takes one. For a
// variable it checks all assignments.
func (r *statementRule) isKnown(e ast.Expr, visited []string) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return slices.Contains(holdStatements, e.Sel.Name)
	case *ast.Ident:
		if r.known[e.Name] != "" || slices.Contains(visited, e.Name) {
			return true
		}
		return r.f != nil && (r.isGiven(e.Name) || r.isAssigned(e.Name, append(visited, e.Name)))
	}
	return false
}

// isGiven reports whether a parameter is one of the function's statement parameters.
func (r *statementRule) isGiven(name string) bool {
	at := 0
	for _, field := range r.f.Type.Params.List {
		for _, p := range field.Names {
			if p.Name == name {
				return slices.Contains(takesStatements[r.f.Name.Name], at)
			}
			at++
		}
	}
	return false
}

// isAssigned reports whether a variable is only assigned named statements.
func (r *statementRule) isAssigned(name string, visited []string) bool {
	found, known := false, true
	ast.Inspect(r.f, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for i, to := range a.Lhs {
			if v, ok := to.(*ast.Ident); ok && v.Name == name {
				found = true
				known = known && a.Tok != token.ADD_ASSIGN && len(a.Lhs) == len(a.Rhs) && r.isKnown(a.Rhs[i], visited)
			}
		}
		return true
	})
	return found && known
}

// calledName returns the name of the called function, without its receiver.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func isPointer(e ast.Expr) bool {
	u, ok := e.(*ast.UnaryExpr)
	return ok && u.Op == token.AND
}

// TestStatements_AreConstants: every statement that is sent is a named constant of the package, so
// that it is listed in testdata/statements.golden and prepared once.
func TestStatements_AreConstants(t *testing.T) {
	fset, files := product(t)
	r := &statementRule{fset: fset, known: statements(files)}
	for _, syntax := range files {
		r.file(syntax)
	}
	for _, fault := range r.faults {
		t.Error(fault)
	}
}

// TestStatementRule_FindsOtherStatements checks the rule itself.
func TestStatementRule_FindsOtherStatements(t *testing.T) {
	for _, c := range []struct {
		name, body string
		faults     int
	}{
		{"a constant", `s.session.Write(ctx, "doing", putIt, 1)`, 0},
		{"one of two constants", `stmt := putIt; if ok { stmt = dropIt }; s.session.DecideOne(ctx, "doing", stmt)`, 0},
		{"a field", `s.driver.Query(r.stmt, r.args...)`, 0},
		{"another method of the name", `p.Append(&rows[0])`, 0},
		{"a literal", "s.driver.Query(`DELETE FROM t WHERE a = 1`)", 2},
		{"a literal in a variable", "stmt := `DELETE FROM t WHERE a = ?`; ch.Append(stmt, 1)", 2},
		{"a literal in a reading", "s.session.Read(ctx, session.Query{Stmt: `SELECT a FROM t`}, nil)", 2},
		{"a literal that is not sent", "fmt.Sprintf(`SELECT a FROM %s`, t)", 1},
		{"a sum", `s.session.WriteStamped(ctx, "doing", putIt+more)`, 1},
		{"a sum in a variable", `stmt := putIt + more; s.session.Write(ctx, "doing", stmt)`, 1},
		{"a variable that is added to", `stmt := putIt; stmt += more; s.session.Write(ctx, "doing", stmt)`, 1},
		{"a field that is assigned", `r.stmt = putIt + more`, 1},
		{"an entry of a batch", `b.Entries = []gocql.BatchEntry{{Stmt: more}}`, 1},
		{"the result of a call", `s.session.Define(ctx, made())`, 1},
		{"what some function was given", `s.driver.Query(given)`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			fset := token.NewFileSet()
			text := "package p\nfunc f(ctx context.Context, given string) {\n" + c.body + "\n}\n"
			syntax, err := parser.ParseFile(fset, "p.go", text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			r := &statementRule{fset: fset, known: map[string]string{"putIt": "INSERT", "dropIt": "DELETE"}}
			r.file(syntax)
			if len(r.faults) != c.faults {
				t.Errorf("%d faults, want %d: %s", len(r.faults), c.faults, strings.Join(r.faults, "; "))
			}
		})
	}
}
