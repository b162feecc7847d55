package edge

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/graph"
)

// execute runs a query or a mutation, by its plan if it has one, and otherwise by gqlgen's
// executor. It returns nil if ctx has ended before anything was run.
func (h *Handler) execute(ctx context.Context, op *operation) *graphql.Response {
	answered, started := h.graph.Answer(ctx, &graph.Request{Op: op.OperationContext, Pages: op.pages, Body: op.body})
	if answered {
		return &graphql.Response{}
	}
	op.share()
	if started != nil {
		return h.finish(started, op)
	}
	respond, ctx := h.executor.DispatchOperation(ctx, op.OperationContext)
	return respond(ctx)
}

// finish runs an operation that its plan has started but could not answer. It does what the
// executor does, except that it reports the end of ctx like any other error.
func (h *Handler) finish(ctx context.Context, op *operation) *graphql.Response {
	ctx = h.collectErrors(graphql.WithOperationContext(ctx, op.OperationContext))
	resp := h.graph.Exec(ctx)(ctx)
	resp.Errors = append(resp.Errors, graphql.GetErrors(ctx)...)
	return resp
}

// share makes the plans of the document and the body of the answer available to resolvers.
func (op *operation) share() {
	if op.pages != nil {
		graph.SetPages(op.OperationContext, op.pages)
	}
	graph.SetBody(op.OperationContext, op.body)
}
