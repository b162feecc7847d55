package edge

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/auth"
	"carrel/observe"
)

// An awaiting schema tells when a subscription has something to answer, so that
// thousands of them need not wait on stacks as large as answering takes.
type awaiting interface {
	Await(ctx context.Context, op *graphql.OperationContext)
}

// results are those of a subscription, until it ends or its context does. Each
// is written for a viewer of its own, so that rights are those of its moment.
type results struct {
	handler *Handler
	caller  auth.Caller
	op      *operation
	ctx     context.Context
	cancel  context.CancelFunc
	respond graphql.ResponseHandler
}

// results begins the subscription, which the caller ends.
func (h *Handler) results(ctx context.Context, caller auth.Caller, op *operation) *results {
	ctx, cancel := context.WithCancel(observe.Apart(ctx))
	r := &results{handler: h, caller: caller, op: op, cancel: cancel}
	r.respond, r.ctx = h.executor.DispatchOperation(h.contextOf(ctx, caller), op.OperationContext)
	return r
}

// next waits for the next result; nil at the end.
func (r *results) next() *graphql.Response {
	if r.handler.awaiting != nil {
		r.handler.awaiting.Await(r.ctx, r.op.OperationContext)
	}
	resp := r.respond(r.handler.contextOf(r.ctx, r.caller))
	if resp != nil {
		r.handler.limit(resp)
	}
	return resp
}

// end ends the subscription, and its source.
func (r *results) end() { r.cancel() }
