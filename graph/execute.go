package graph

import (
	"bytes"
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/answer"
)

// bodyExtension is the name of the extension of an operation that stores the Body of its next
// answer.
const bodyExtension = "carrel.body"

// SetBody sets the Body to which the next answer of op is written. Without a Body, the answer is in
// the Response and has no size limit.
func SetBody(op *graphql.OperationContext, body *answer.Body) {
	op.Stats.SetExtension(bodyExtension, body)
}

// BodyOf returns the Body that SetBody has set for op, or nil.
func BodyOf(op *graphql.OperationContext) *answer.Body {
	body, _ := op.Stats.GetExtension(bodyExtension).(*answer.Body)
	return body
}

// ExecutableSchema is a schema whose subscriptions are read event by event. Exec only runs queries
// and mutations.
type ExecutableSchema interface {
	graphql.ExecutableSchema
	// Subscribe starts the subscription that is the operation of ctx. It lasts until ctx ends. The
	// errors say why it did not start.
	Subscribe(ctx context.Context) (Subscription, gqlerror.List)
	// Answer answers an operation by its plan, if it has one, and writes the data to the Body. It
	// reports whether it did; then there are no errors. If it has read something but did not
	// answer, Exec must be called with started, which contains what was read. Otherwise started is
	// nil.
	Answer(ctx context.Context, r *Request) (answered bool, started context.Context)
}

// Request is an operation to be answered, with the plans of its document and the Body for its
// answer.
type Request struct {
	Op    *graphql.OperationContext
	Pages *Pages // if nil, there are no plans
	Body  *answer.Body
}

// Subscription is a running subscription. It is used by one goroutine at a time.
type Subscription interface {
	// Await waits until Next has something to return, or until ctx ends. It may return early; then
	// Next waits for the rest. Thousands of goroutines wait here for hours, so it needs much less
	// stack than Next.
	Await(ctx context.Context)
	// Next waits for the next event and returns its response, or nil at the end. The values of ctx,
	// such as the viewer, apply to this event only. Next calls pay before it computes the event. If
	// pay returns false, the subscription ends without the event.
	Next(ctx context.Context, pay func() bool) *graphql.Response
	// Cursor returns a cursor, or "" if there is none. A subscription after it gets all events that
	// this one did not return, and may get recent ones again. It is called when pay has returned
	// false.
	Cursor() string
}

// NewSchema returns the generated schema, which writes answers to the Body of their operation. The
// generated Exec writes to a buffer without a limit, which a subscription keeps at the size of its
// longest event.
func NewSchema(c Config) ExecutableSchema {
	return schema{NewExecutableSchema(c).(*executableSchema)}
}

type schema struct{ *executableSchema }

// Exec prepares a query or a mutation, which is run once by calling the result.
func (s schema) Exec(ctx context.Context) graphql.ResponseHandler {
	op, ec := s.execution(ctx)
	resolve := ec._Query
	switch op.Operation.Operation {
	case ast.Mutation:
		resolve = ec._Mutation
	case ast.Subscription:
		return graphql.OneShot(graphql.ErrorResponse(ctx, "a subscription is started by Subscribe"))
	}
	done := false
	return func(ctx context.Context) *graphql.Response {
		if done {
			return nil
		}
		done = true
		return respond(op, resolve(ctx, op.Operation.SelectionSet))
	}
}

// Answer implements ExecutableSchema. Plans are executed by package resolvers.
func (s schema) Answer(context.Context, *Request) (bool, context.Context) {
	return false, nil
}

// Subscribe implements ExecutableSchema.
func (s schema) Subscribe(ctx context.Context) (Subscription, gqlerror.List) {
	op, ec := s.execution(ctx)
	next := ec._Subscription(ctx, op.Operation.SelectionSet)
	if errs := graphql.GetErrors(ctx); errs != nil {
		return nil, errs
	}
	return &generated{op, next}, nil
}

// execution prepares the operation of ctx.
func (s schema) execution(ctx context.Context) (*graphql.OperationContext, *executionContext) {
	op := graphql.GetOperationContext(ctx)
	if PagesOf(op) == nil {
		SetPages(op, NewPages(op.RawQuery))
	}
	return op, newExecutionContext(op, s.executableSchema, nil)
}

// generated is a subscription that the generated code runs. It takes each event from the channel
// that its resolver has returned.
type generated struct {
	op   *graphql.OperationContext
	next func(context.Context) graphql.Marshaler
}

// Await implements Subscription. The generated code waits in Next.
func (*generated) Await(context.Context) {}

// Next implements Subscription. It pays before it waits, because the generated code computes an event
// as soon as it arrives.
func (g *generated) Next(ctx context.Context, pay func() bool) *graphql.Response {
	if !pay() {
		return nil
	}
	return respond(g.op, g.next(ctx))
}

// Cursor implements Subscription. The generated code knows no positions.
func (*generated) Cursor() string { return "" }

// respond writes the answer. It returns nil if data is nil.
func respond(op *graphql.OperationContext, data graphql.Marshaler) *graphql.Response {
	if data == nil {
		return nil
	}
	if body := BodyOf(op); body != nil {
		data.MarshalGQL(body)
		body.Finish()
		return &graphql.Response{}
	}
	var buf bytes.Buffer
	data.MarshalGQL(&buf)
	return &graphql.Response{Data: buf.Bytes()}
}
