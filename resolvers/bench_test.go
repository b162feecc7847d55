package resolvers_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"

	answers "carrel/answer"
	"carrel/core/cursor"
	"carrel/graph"
	"carrel/library"
	"carrel/principal"
)

const pageQuery = `query($id: ID!) { user(id: $id) { library(first: 20) {
	edges { cursor node { id title link visibility lastModified createdBy { id displayName } } } pageInfo { hasNextPage endCursor } } } }`

// BenchmarkPage measures a page of 20 edges with their creators, from a parsed document to the
// bytes of its answer. BenchmarkPageOfTheDomain measures the domain's share of it. `make bench`
// compares the whole gateway with a hand-written handler.
func BenchmarkPage(b *testing.B) {
	g := newGateway(b)
	g.fillLibrary(40)
	parsed := g.execution(nil, pageQuery, map[string]any{"id": "u:acme:eve"})
	plans := graph.NewPlanCache(pageQuery) // the edge caches it with the document
	memory := answers.NewMemory(1<<30, 1<<30)
	defer reportCPU(b)()
	for b.Loop() {
		e := &graph.Execution{OperationContext: &graphql.OperationContext{RawQuery: pageQuery, Variables: parsed.Variables,
			Doc: parsed.Doc, Operation: parsed.Operation, RecoverFunc: graphql.DefaultRecover},
			Viewer: as("u:acme:eve"), Plans: plans, Present: parsed.Present, Body: answers.New(1<<20, memory, "", nil)}
		errs := g.exec.Execute(b.Context(), e)
		if len(errs) > 0 || e.Body.Size() < 2000 {
			b.Fatalf("%v %s", errs, written(e))
		}
		e.Body.Release()
	}
}

func BenchmarkPageOfTheDomain(b *testing.B) {
	g := newGateway(b)
	g.fillLibrary(40)
	n := 20
	defer reportCPU(b)()
	for b.Loop() {
		v := as("u:acme:eve")
		if _, err := g.spy.People.Principals(b.Context(), v, []principal.ID{"u:acme:eve"}); err != nil {
			b.Fatal(err)
		}
		conn, err := g.spy.Listing.Library(b.Context(), v, "u:acme:eve", library.LibraryQuery{PageArgs: cursor.PageArgs{First: &n}})
		if err != nil {
			b.Fatal(err)
		}
		creators := make([]principal.ID, 0, 3)
		for _, e := range conn.Edges[:3] {
			creators = append(creators, e.Node.Creator)
			_ = e.Cursor()
		}
		for _, e := range conn.Edges[3:] {
			_ = e.Cursor()
		}
		if _, err := g.spy.People.Principals(b.Context(), v, creators); err != nil {
			b.Fatal(err)
		}
	}
}

// reportCPU measures the CPU time of the process, which a busy machine affects less than the
// elapsed time.
func reportCPU(b *testing.B) (done func()) {
	b.ReportAllocs()
	spent := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := spent()
	return func() { b.ReportMetric(float64((spent()-before).Microseconds())/float64(b.N), "cpu-us/op") }
}
