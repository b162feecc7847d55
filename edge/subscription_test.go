package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

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
	blank  int   // bytes of white space in each event
	fails  error // the error of Next
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
		schema: gqlparser.MustLoadSchema(&ast.Source{Input: `type Query { now: Int } type Mutation { set: Int }
			type Subscription { ticks(text: String): Int }`}),
		events: make(chan int), ended: make(chan struct{}, 100), seen: map[any]bool{},
	}
}

func (s *ticking) Schema() *ast.Schema { return s.schema }

// Execute implements graph.Executor.
func (s *ticking) Execute(ctx context.Context, e *graph.Execution) (errs gqlerror.List) {
	data := `{"set":8}`
	switch e.Operation.Operation {
	case ast.Query:
		data = `{"now":7}`
	case ast.Subscription:
		s.note(e)
		n := e.Event.(int)
		if n < 0 {
			errs = gqlerror.List{e.Present(ctx, &fault.Error{Code: fault.NotFound, Msg: "it is gone"})}
		}
		data = fmt.Sprintf(`{"ticks":%s%d}`, strings.Repeat(" ", s.blank), n)
	}
	_, _ = e.Body.WriteString(data)
	e.Body.Finish()
	return errs
}

// Subscribe implements graph.Executor.
func (s *ticking) Subscribe(ctx context.Context, e *graph.Execution) (_ graph.Source, errs gqlerror.List) {
	if s.refuses > 0 {
		for n := range s.refuses {
			errs = append(errs, e.Present(ctx, fmt.Errorf("refusal %d", n)))
		}
		return nil, errs
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

// Await implements graph.Source. An event cannot be awaited without taking it, so Await
// returns early.
func (s *ticks) Await(context.Context) { s.awaited = true }

// Cursor implements graph.Source.
func (s *ticks) Cursor() string { return "resume" }

// Next implements graph.Source.
func (s *ticks) Next(_ context.Context, pay func() bool) (any, error) {
	if !s.awaited {
		return nil, errors.New("the event was not awaited")
	}
	if s.fails != nil {
		return nil, s.fails
	}
	s.awaited = false
	s.mu.Lock()
	s.nexts++
	s.mu.Unlock()
	select {
	case n, ok := <-s.events:
		if !ok || !pay() {
			return nil, nil
		}
		return n, nil
	case <-s.source:
		return nil, nil
	}
}

// note records the viewer of an event.
func (s *ticking) note(e *graph.Execution) {
	v := e.Viewer
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
	op, refused := e.handler.operation(t.Context(), params{query: "subscription{ticks}", hasQuery: true}, account{})
	if refused != nil {
		t.Fatal(refused.errs)
	}
	return e.handler.results(ctx, auth.Caller{}, op)
}

// TestResults_EachEventIsPaid as much as a query that costs the same. An account without the points
// ends the subscription, says when it is half full, and returns a cursor to resume after.
func TestResults_EachEventIsPaid(t *testing.T) {
	for name, c := range map[string]struct {
		cost, bytes, events int
		retryAfter          any
	}{
		"a small event":                      {1, 0, 100, 30},
		"events of 15 points":                {150, 0, 6, 36}, // 10 points are left, and four more and a resumption cost 70
		"events that cost the whole account": {4000, 0, 1, 60},
		"long events, of 21 points":          {1, 20 * bytesUnit, 5, 33}, // 5 points are missing
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, e := newTickingEdge(t, func(c *Config) { c.Limits.ViewerPoints = 100 })
				s.blank = c.bytes
				r := e.startResults(t.Context(), t)
				defer func() { r.end(); <-s.ended }()
				r.op.account, r.op.price = e.handler.rates.viewers.account("u:acme:ann"), max(minPrice, c.cost*costPrice)
				for n := range c.events {
					go func() { s.events <- n }()
					if done := r.next(); len(done.errors) > 0 {
						t.Fatalf("event %d: %v", n, done.errors)
					}
				}
				go func() { s.events <- 0 }()
				done := r.next()
				if len(done.errors) != 1 || len(done.data) > 0 || len(s.viewers) != c.events {
					t.Fatalf("got %v after %d events", done, len(s.viewers))
				}
				got := done.errors[0].Extensions
				if got["code"] != codeRateLimited || got["cursor"] != "resume" || got["retryAfter"] != c.retryAfter {
					t.Errorf("got %v, want to retry after %v s", got, c.retryAfter)
				}
				if again := r.next(); again != nil || r.op.Event != nil {
					t.Errorf("after the end: %v, and the event %v", again, r.op.Event)
				}
			})
		})
	}
}

// TestResults_AnErrorOfTheSourceIsTheLast, unless nobody waits for it.
func TestResults_AnErrorOfTheSourceIsTheLast(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	s.fails = &fault.Error{Code: fault.Conflict, Reason: fault.ReasonResync, Msg: "read it again"}
	r := e.startResults(t.Context(), t)
	defer func() { r.end(); <-s.ended }()
	if done := r.next(); done == nil || len(done.errors) != 1 || firstCode(done.errors) != codeResync || !done.isNull() {
		t.Errorf("got %+v", done)
	}
	if done := r.next(); done != nil {
		t.Errorf("after the error: %+v", done)
	}
	ctx, leave := context.WithCancel(t.Context())
	left := e.startResults(ctx, t)
	defer func() { left.end(); <-s.ended }()
	left.source = &leavingSource{left.source, leave}
	if done := left.next(); done != nil {
		t.Errorf("after the client has left: %+v", done)
	}
}

// leavingSource is a source whose client leaves while it reads the next event.
type leavingSource struct {
	graph.Source
	leave func()
}

func (s *leavingSource) Next(ctx context.Context, pay func() bool) (any, error) {
	s.leave()
	return s.Source.Next(ctx, pay)
}

// TestResults_AnEventThatIsNotShownHoldsNothing while the next one is awaited.
func TestResults_AnEventThatIsNotShownHoldsNothing(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	r := e.startResults(t.Context(), t)
	defer func() { r.end(); <-s.ended }()
	hiding := &hidingSource{Source: r.source, hidden: 2, held: e.handler.memory.Used}
	r.source = hiding
	go func() { s.events <- 7 }()
	if done := r.next(); done == nil || len(done.errors) > 0 || len(done.data) == 0 {
		t.Errorf("got %+v", done)
	}
	if len(hiding.waits) != 3 || slices.Max(hiding.waits) > 0 {
		t.Errorf("%d bytes are held while it waits", hiding.waits)
	}
}

// hidingSource is a source whose first events are paid for and not shown.
type hidingSource struct {
	graph.Source
	hidden int
	held   func() int64
	waits  []int64
}

func (s *hidingSource) Await(ctx context.Context) {
	s.waits = append(s.waits, s.held())
	s.Source.Await(ctx)
}

func (s *hidingSource) Next(ctx context.Context, pay func() bool) (any, error) {
	if s.hidden == 0 {
		return s.Source.Next(ctx, pay)
	}
	s.hidden--
	pay()
	return nil, graph.ErrNotShown
}

// TestSubscription_EndsWithoutPoints: over either transport the last result has the error.
func TestSubscription_EndsWithoutPoints(t *testing.T) {
	const open = `{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`
	for name, begin := range map[string]func(addr string) (next func() string){
		"events": func(addr string) func() string { return subscribe(t, addr, "Authorization: Bearer ann").next },
		"socket": func(addr string) func() string {
			c := opened(t, addr, `{"authorization":"ann"}`)
			c.send(open)
			return c.next
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := newTickingEdge(t, func(c *Config) { c.Limits.ViewerPoints = 4 })
			next, events := begin(start(t, e.handler, DefaultLimits())), 0
			got := ""
			for ; !strings.Contains(got, "RATE_LIMITED") && events < 5; events++ {
				s.events <- events
				got = next()
			}
			if want := `"code":"RATE_LIMITED","cursor":"resume","retryAfter":`; events < 2 || !strings.Contains(got, want) {
				t.Errorf("got %q for event %d", got, events)
			}
			if got := next(); !strings.Contains(got, "complete") {
				t.Errorf("at the end: %q", got)
			}
		})
	}
}

// TestSubscription_AfterACursorCostsItsReplay, whether the cursor is in a variable or not.
func TestSubscription_AfterACursorCostsItsReplay(t *testing.T) {
	e := newEdge(t, nil)
	const byVariable = `subscription($a: Cursor) { pasteCreated(after: $a) { id } }`
	for name, c := range map[string]struct {
		query  string
		after  any
		points float64
	}{
		"from now on":   {`subscription { pasteCreated { id } }`, nil, 1},
		"after nothing": {byVariable, nil, 1},
		"a literal":     {`subscription { pasteCreated(after: "x") { id } }`, nil, 11},
		"a variable":    {byVariable, "x", 11},
	} {
		t.Run(name, func(t *testing.T) {
			spent := 0.0
			l := newLedger(1000, func(price int) { spent += float64(price) / point })
			variables, err := json.Marshal(map[string]any{"a": c.after})
			if err != nil {
				t.Fatal(err)
			}
			a := l.account("ann")
			if refused := a.begin(); refused != nil {
				t.Fatal(refused.errs)
			}
			if _, refused := e.handler.operation(t.Context(), params{query: c.query, hasQuery: true, variables: variables}, a); refused != nil {
				t.Fatal(refused.errs)
			}
			if spent != c.points {
				t.Errorf("costs %g points, want %g", spent, c.points)
			}
		})
	}
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
