package edge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/auth"
	"carrel/core/fault"
	"carrel/graph"
)

// ticking is a schema with one subscription, whose events the test sends, a query and a mutation
// that answer at once. The contract has no subscription that a test could drive directly.
type ticking struct {
	schema *ast.Schema
	events chan int
	blank  int // bytes of white space in each event
	// refuses is the number of errors with which a subscription is refused.
	refuses int

	mu      sync.Mutex
	started int
	nexts   int           // number of calls of Next
	ended   chan struct{} // one value for each subscription that has ended
	viewers []string
	seen    map[any]bool // viewers, by identity
}

func newTicking() *ticking {
	return &ticking{
		schema: gqlparser.MustLoadSchema(&ast.Source{Input: `type Query { now: Int } type Mutation { set: Int } type Subscription { ticks: Int }`}),
		events: make(chan int), ended: make(chan struct{}, 100), seen: map[any]bool{},
	}
}

func (s *ticking) Schema() *ast.Schema { return s.schema }

func (s *ticking) Complexity(context.Context, string, string, int, map[string]any) (int, bool) {
	return 0, false
}

func (s *ticking) Exec(ctx context.Context) graphql.ResponseHandler {
	if graphql.GetOperationContext(ctx).Operation.Operation == ast.Query {
		return graphql.OneShot(&graphql.Response{Data: []byte(`{"now":7}`)})
	}
	return graphql.OneShot(&graphql.Response{Data: []byte(`{"set":8}`)})
}

// Answer implements graph.ExecutableSchema.
func (s *ticking) Answer(context.Context, *graph.Request) (bool, context.Context) {
	return false, nil
}

// Subscribe implements graph.ExecutableSchema.
func (s *ticking) Subscribe(ctx context.Context) (graph.Subscription, gqlerror.List) {
	if s.refuses > 0 {
		for n := range s.refuses {
			graphql.AddError(ctx, fmt.Errorf("refusal %d", n))
		}
		return nil, graphql.GetErrors(ctx)
	}
	s.mu.Lock()
	s.started++
	s.mu.Unlock()
	context.AfterFunc(ctx, func() { s.ended <- struct{}{} })
	return &ticks{ticking: s, source: ctx.Done()}, nil
}

// ticks is one subscription of the ticking schema.
type ticks struct {
	*ticking
	source  <-chan struct{}
	awaited bool
}

// Await implements graph.Subscription. An event cannot be awaited without taking it, so Await
// returns early.
func (s *ticks) Await(context.Context) { s.awaited = true }

// Next implements graph.Subscription.
func (s *ticks) Next(ctx context.Context) *graphql.Response {
	if !s.awaited {
		graphql.AddError(ctx, errors.New("the event was not awaited"))
	}
	s.awaited = false
	s.mu.Lock()
	s.nexts++
	s.mu.Unlock()
	select {
	case n, ok := <-s.events:
		if !ok {
			return nil
		}
		s.note(ctx)
		if n < 0 {
			graphql.AddError(ctx, &fault.Error{Code: fault.NotFound, Msg: "it is gone"})
		}
		return &graphql.Response{Data: fmt.Appendf(nil, `{"ticks":%s%d}`, strings.Repeat(" ", s.blank), n)}
	case <-s.source:
		return nil
	}
}

// note records the viewer of an event.
func (s *ticking) note(ctx context.Context) {
	v := auth.ViewerFrom(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.viewers = append(s.viewers, string(v.User))
	s.seen[v] = true
}

// newTickingEdge returns the ticking schema, and an edge that serves it.
func newTickingEdge(t *testing.T, change func(*Config)) (*ticking, *edgeUnderTest) {
	t.Helper()
	s := newTicking()
	e := newEdge(t, func(c *Config) {
		c.Schema = s
		if change != nil {
			change(c)
		}
	})
	return s, e
}

// startResults starts the subscription of the ticking schema. It ends with ctx.
func (e *edgeUnderTest) startResults(ctx context.Context, t *testing.T) *results {
	t.Helper()
	op, refused := e.handler.operation(params{query: "subscription{ticks}", hasQuery: true}, account{})
	if refused != nil {
		t.Fatal(refused.errs)
	}
	return e.handler.results(ctx, auth.Caller{}, op)
}

func TestResults_EndTheirSource(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	r := e.startResults(t.Context(), t)
	r.end()
	<-s.ended
}

// TestResults_NextIsNotCalledAfterTheEnd: events that are still buffered in the source are not
// written for a client that is gone.
func TestResults_NextIsNotCalledAfterTheEnd(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	r := e.startResults(ctx, t)
	defer r.end()
	cancel()
	<-s.ended
	if done := r.next(); done != nil || s.nexts > 0 {
		t.Errorf("got %v, and Next was called %d times", done, s.nexts)
	}
}
