package graph

import (
	"bytes"
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/answer"
)

// bodyOf is the name by which an operation has the Body of its next answer.
const bodyOf = "carrel.body"

// SetBody sets where the next answer of op is written, which then is not in
// the Response. Without a Body it is, and has no bounds.
func SetBody(op *graphql.OperationContext, body *answer.Body) { op.Stats.SetExtension(bodyOf, body) }

// BodyOf returns where the answer of op is written; nil without SetBody.
func BodyOf(op *graphql.OperationContext) *answer.Body {
	body, _ := op.Stats.GetExtension(bodyOf).(*answer.Body)
	return body
}

// NewSchema returns the generated schema, whose answers go to the Body of their
// operation. The generated Exec writes into a buffer that has no bounds, and
// that a subscription keeps as large as its longest event was.
func NewSchema(c Config) graphql.ExecutableSchema {
	return schema{NewExecutableSchema(c).(*executableSchema)}
}

type schema struct{ *executableSchema }

// Exec prepares one operation, which is run by calling the result: once, or for
// each event of a subscription.
func (s schema) Exec(ctx context.Context) graphql.ResponseHandler {
	op := graphql.GetOperationContext(ctx)
	ec := newExecutionContext(op, s.executableSchema, nil)
	below := op.Operation.SelectionSet
	if op.Operation.Operation == ast.Subscription {
		next := ec._Subscription(ctx, below)
		return func(ctx context.Context) *graphql.Response { return respond(op, next(ctx)) }
	}
	resolve := ec._Query
	if op.Operation.Operation == ast.Mutation {
		resolve = ec._Mutation
	}
	done := false
	return func(ctx context.Context) *graphql.Response {
		if done {
			return nil
		}
		done = true
		return respond(op, resolve(ctx, below))
	}
}

// respond writes the answer; there is none where data is nil.
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
