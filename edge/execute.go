package edge

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/graph"
)

// execute runs a query or a mutation: by its plan if it has one, and otherwise by gqlgen's
// executor. nil: the context had ended before it began.
func (h *Handler) execute(ctx context.Context, op *operation) *graphql.Response {
	answered, begun := h.graph.Answer(ctx, &graph.Request{Op: op.OperationContext, Pages: op.pages, Body: op.body})
	if answered {
		return &graphql.Response{}
	}
	op.share()
	if begun != nil {
		return h.finish(begun, op)
	}
	respond, ctx := h.executor.DispatchOperation(ctx, op.OperationContext)
	return respond(ctx)
}

// finish runs an operation that its plan has begun and could not answer. It does what the
// executor does, but that the context may have ended meanwhile: what came of that is
// reported like any other error.
func (h *Handler) finish(ctx context.Context, op *operation) *graphql.Response {
	ctx = h.collectErrors(graphql.WithOperationContext(ctx, op.OperationContext))
	resp := h.graph.Exec(ctx)(ctx)
	resp.Errors = append(resp.Errors, graphql.GetErrors(ctx)...)
	return resp
}

// share lets resolvers know the plans of the document and the body of the answer.
func (op *operation) share() {
	if op.pages != nil {
		graph.SetPages(op.OperationContext, op.pages)
	}
	graph.SetBody(op.OperationContext, op.body)
}
