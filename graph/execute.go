package graph

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/answer"
	"carrel/dataloader"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// Execution is one operation to execute, with all that its resolvers may need. A subscription has one
// Execution, in which Viewer, Body and Event are new for each event.
type Execution struct {
	*graphql.OperationContext
	Viewer  *principal.Viewer
	Locales []string // that the request accepts, the preferred one first
	// Plans are those of the document. If it is nil, there is no plan of the whole operation, and each of
	// its pages is planned anew.
	Plans *PlanCache
	// Body is what the data is written to.
	Body    *answer.Body
	Event   any                        // of a subscription, as its Source has returned it
	Present graphql.ErrorPresenterFunc // returns errors as clients see them
	Loaders *dataloader.Loaders        // set by Execute
	// What its mutations did so far, one after the other: it determines a part of their price.
	Libraries int // that they concerned
	Keys      int // of leases, that they requested or released
	Guesses   int // that they answered: wrong secrets, and taken names, urls and e-mail addresses
}

// Executor executes operations.
type Executor interface {
	// Schema returns the schema that documents are validated against.
	Schema() *ast.Schema
	// Execute executes a query or a mutation, or writes the event of a subscription. The data is in the
	// Body; the errors are those of fields.
	Execute(ctx context.Context, e *Execution) gqlerror.List
	// Subscribe starts a subscription, which lasts until ctx ends. The errors say why it did not start.
	Subscribe(ctx context.Context, e *Execution) (Source, gqlerror.List)
}

// Source is the source of the events of a subscription. It is used by one goroutine at a time.
type Source interface {
	// Await waits until Next has something to return, or until ctx ends. It may return early; then
	// Next waits for the rest. Thousands of goroutines wait here for hours, so it needs much less
	// stack than Next.
	Await(ctx context.Context)
	// Next waits for the next event and returns it. It calls pay before it does more work for the
	// event; if pay returns false, the event is nil. After an error there are no more events, unless it is
	// ErrNotShown.
	Next(ctx context.Context, pay func() bool) (event any, err error)
	// Cursor returns a cursor, or "" if there is none. A subscription after it gets all events that
	// this one did not return, and may get recent ones again. It is called when pay has returned
	// false.
	Cursor() string
}

// ErrNotShown is the error of an event that its viewer may not see.
var ErrNotShown = errors.New("the event is not shown")

type executionKey struct{}

// In returns a context for the resolvers of the operation.
func (e *Execution) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, executionKey{}, e)
}

// ExecutionOf returns the Execution whose fields ctx resolves.
func ExecutionOf(ctx context.Context) *Execution { return ctx.Value(executionKey{}).(*Execution) }

// Resolving returns a context for the generated code, which collects its errors.
func (e *Execution) Resolving(ctx context.Context) context.Context {
	return graphql.WithResponseContext(graphql.WithOperationContext(e.In(ctx), e.OperationContext), e.Present, e.RecoverFunc)
}

// Generated executes operations without plans by the generated code. It writes answers to their Body:
// the generated Exec would write to a buffer without a limit.
type Generated struct{ schema *executableSchema }

var _ Executor = Generated{}

// NewGenerated returns the generated code with resolvers.
func NewGenerated(r ResolverRoot) Generated {
	return Generated{NewExecutableSchema(Config{Schema: Served(), Resolvers: r}).(*executableSchema)}
}

// Schema implements Executor.
func (g Generated) Schema() *ast.Schema { return g.schema.Schema() }

// Execute implements Executor.
func (g Generated) Execute(ctx context.Context, e *Execution) gqlerror.List {
	ctx, ec := g.prepare(ctx, e)
	var data graphql.Marshaler
	switch e.Operation.Operation {
	case ast.Mutation:
		data = ec._Mutation(ctx, e.Operation.SelectionSet)
	case ast.Subscription:
		data = ec.event(ctx, e.Event)
	default:
		data = ec._Query(ctx, e.Operation.SelectionSet)
	}
	data.MarshalGQL(e.Body)
	e.Body.Finish()
	return graphql.GetErrors(ctx)
}

func (g Generated) prepare(ctx context.Context, e *Execution) (context.Context, *executionContext) {
	if e.Plans == nil {
		e.Plans = NewPlanCache(e.RawQuery)
	}
	return e.Resolving(ctx), newExecutionContext(e.OperationContext, g.schema, nil)
}

// Page resolves a page that was read for the field of ctx, a context for the generated code. If an
// error makes it null, it is graphql.Null.
func (g Generated) Page(ctx context.Context, e *Execution, conn *library.LibraryConnection) graphql.Marshaler {
	ec := newExecutionContext(e.OperationContext, g.schema, nil)
	return ec._LibraryConnection(ctx, graphql.GetFieldContext(ctx).Field.Selections, conn)
}

// SourceResolver must be implemented by a ResolverRoot with subscriptions. The generated
// SubscriptionResolver, which has to return a channel for each subscription, is not used.
type SourceResolver interface {
	// LibraryChanged returns library.LibraryChange events.
	LibraryChanged(ctx context.Context, principalID string, after *string) (Source, error)
	// PasteCreated returns *paste.Paste events.
	PasteCreated(ctx context.Context, after *string) (Source, error)
}

// Subscribe implements Executor. The operation has one field.
func (g Generated) Subscribe(ctx context.Context, e *Execution) (source Source, errs gqlerror.List) {
	ctx, ec := g.prepare(ctx, e)
	field, resolve := ec.subscribed(), ec.Resolvers.(SourceResolver)
	prepare, start := ec.fieldContext_Subscription_libraryChanged, func(ctx context.Context) (any, error) {
		args := graphql.GetFieldContext(ctx).Args
		return resolve.LibraryChanged(ctx, args["principalId"].(string), args["after"].(*string))
	}
	if field.Name == "pasteCreated" {
		prepare, start = ec.fieldContext_Subscription_pasteCreated, func(ctx context.Context) (any, error) {
			return resolve.PasteCreated(ctx, graphql.GetFieldContext(ctx).Args["after"].(*string))
		}
	}
	graphql.ResolveField(ctx, e.OperationContext, field, prepare, start, nil,
		func(_ context.Context, _ ast.SelectionSet, started Source) graphql.Marshaler {
			source = started
			return graphql.Null
		}, true, true)
	return source, graphql.GetErrors(ctx)
}

// subscribed returns the field of a subscription.
func (ec *executionContext) subscribed() graphql.CollectedField {
	return graphql.CollectFields(ec.OperationContext, ec.Operation.SelectionSet, subscriptionImplementors)[0]
}

// event resolves an event of a subscription. Its field is not nullable.
func (ec *executionContext) event(ctx context.Context, event any) graphql.Marshaler {
	field := ec.subscribed()
	ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{Object: "Subscription", Field: field})
	data := graphql.NewFieldSet([]graphql.CollectedField{field})
	switch event := event.(type) {
	case library.LibraryChange:
		data.Values[0] = ec.marshalNLibraryChange2carrelᚋlibraryᚐLibraryChange(ctx, field.Selections, event)
	case *paste.Paste:
		data.Values[0] = ec.marshalNPaste2ᚖcarrelᚋpasteᚐPaste(ctx, field.Selections, event)
	}
	if data.Values[0] == graphql.Null {
		return graphql.Null
	}
	return data
}
