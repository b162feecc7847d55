package graph

import (
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/core/cursor"
	"carrel/library"
)

// libraries returns the fields named library that a query selects of the viewer, as the executor
// collects them.
func libraries(t *testing.T, query string) (*graphql.OperationContext, []graphql.CollectedField) {
	t.Helper()
	doc, errs := gqlparser.LoadQueryWithRules(parsedSchema, query, nil)
	if errs != nil {
		t.Fatal(errs)
	}
	op := &graphql.OperationContext{Doc: doc}
	viewer := doc.Operations[0].SelectionSet[0].(*ast.Field)
	return op, graphql.CollectFields(op, viewer.SelectionSet, []string{"User", "Node", "Principal"})
}

func TestPages_KeepsThePlanOfAField(t *testing.T) {
	const query = `{ viewer { library(first: 3) { nodes { id } } b: library { nodes { title } } } }`
	op, fields := libraries(t, query)
	pages := NewPlanCache(query)
	for _, f := range fields {
		first := pages.plan(op, f)
		if again := pages.plan(op, f); again != first {
			t.Errorf("%s was compiled twice", f.Alias)
		}
	}
	if pages.plan(op, fields[0]) == pages.plan(op, fields[1]) {
		t.Error("two fields share a plan")
	}
}

// TestPages_CompilesMergedFields: the selection of a merged field is created for each operation,
// and a plan cached for its first part would contain only that part.
func TestPages_CompilesMergedFields(t *testing.T) {
	const query = `{ viewer { library { bucket } ...f } } fragment f on User { library { count { value } } }`
	op, fields := libraries(t, query)
	pages := NewPlanCache(query)
	for range 2 {
		if p := pages.plan(op, fields[0]); !p.Count || len(p.below) != 2 {
			t.Errorf("the plan has %d fields", len(p.below))
		}
	}
	if len(pages.plans) != 0 {
		t.Errorf("%d plans are cached", len(pages.plans))
	}
}

// TestPages_AreBounded: fragments can make long plans of a short text.
func TestPages_AreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{ viewer {`)
	for _, alias := range "abcdefghij" {
		b.WriteString(string(alias) + ":library{...f}")
	}
	b.WriteString(`}} fragment f on LibraryConnection{nodes{...c} a:nodes{...c} b:nodes{...c} c:nodes{...c}}
		fragment c on Content{id kind title link visibility createdAt version}`)
	op, fields := libraries(t, b.String())
	pages := NewPlanCache(b.String())
	total := 0
	for _, f := range fields {
		total += pages.plan(op, f).steps
	}
	kept := 0
	for _, p := range pages.plans {
		kept += p.steps
	}
	// 4 lists and 28 leaves, below 1 connection and 4 items.
	if total != 10*(4+28+1+4) {
		t.Errorf("%d steps", total)
	}
	if limit := fewSteps + b.Len()/4; kept == 0 || kept > limit {
		t.Errorf("%d steps of %d are cached, at most %d may be", kept, total, limit)
	}
}

func TestPages_KeepsPlansUpToTheLimit(t *testing.T) {
	const query = `{ viewer { library { nodes { id } } } }`
	op, fields := libraries(t, query)
	const steps = 4 // two objects with one field each
	for capacity, want := range map[int]int{steps: 1, steps - 1: 0} {
		pages := &PlanCache{capacity: capacity}
		pages.plan(op, fields[0])
		if len(pages.plans) != want {
			t.Errorf("with capacity for %d: %d plans are cached, want %d", capacity, len(pages.plans), want)
		}
	}
}

// TestPageRequest_ReadsTheOtherSide: the flag for the direction opposite to that of paging is read
// only if it is selected.
func TestPageRequest_ReadsTheOtherSide(t *testing.T) {
	n, from := 3, "cursor"
	for name, c := range map[string]struct {
		flag string
		args map[string]any
		want library.LibraryQuery
	}{
		"forwards":            {"hasPreviousPage", map[string]any{}, library.LibraryQuery{OtherSide: true}},
		"forwards, this side": {"hasNextPage", map[string]any{"first": &n}, library.LibraryQuery{PageArgs: cursor.PageArgs{First: &n}}},
		"after a cursor": {"hasPreviousPage", map[string]any{"after": &from},
			library.LibraryQuery{PageArgs: cursor.PageArgs{After: &from}, OtherSide: true}},
		"backwards": {"hasNextPage", map[string]any{"last": &n},
			library.LibraryQuery{PageArgs: cursor.PageArgs{Last: &n}, OtherSide: true}},
		"before a cursor": {"hasNextPage", map[string]any{"before": &from},
			library.LibraryQuery{PageArgs: cursor.PageArgs{Before: &from}, OtherSide: true}},
		"forwards, both sides": {"hasPreviousPage hasNextPage", map[string]any{}, library.LibraryQuery{OtherSide: true}},
		"backwards, both sides": {"hasNextPage hasPreviousPage", map[string]any{"last": &n},
			library.LibraryQuery{PageArgs: cursor.PageArgs{Last: &n}, OtherSide: true}},
		"before one, the same side": {"hasPreviousPage", map[string]any{"before": &from},
			library.LibraryQuery{PageArgs: cursor.PageArgs{Before: &from}}},
	} {
		t.Run(name, func(t *testing.T) {
			query := `{ viewer { library { pageInfo { ` + c.flag + ` } } } }`
			op, fields := libraries(t, query)
			e := &Execution{OperationContext: op, Plans: NewPlanCache(query)}
			if diff := cmp.Diff(c.want, e.pageRequest(fields[0], c.args).Query); diff != "" {
				t.Errorf("query (-want +got):\n%s", diff)
			}
		})
	}
}
