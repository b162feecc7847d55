package edge

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"

	"carrel/answer"
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
	ended   bool
}

// results begins the subscription, which the caller ends.
func (h *Handler) results(ctx context.Context, caller auth.Caller, op *operation) *results {
	ctx, cancel := context.WithCancel(observe.Apart(ctx))
	r := &results{handler: h, caller: caller, op: op, cancel: cancel}
	ctx = h.contextOf(ctx, caller)
	r.respond, r.ctx = h.executor.DispatchOperation(ctx, op.OperationContext)
	op.account.bill(resolvingPrice(auth.ViewerFrom(ctx)))
	return r
}

// next waits for the next result; nil at the end. It is valid until the next
// call. A subscription for which no memory is free ends, so that its client
// subscribes again and misses nothing. The groups that were resolved for it are
// billed: the account may fall below zero, which refuses new operations alone.
func (r *results) next() *executed {
	r.op.release()
	if r.ended {
		return nil
	}
	if r.handler.awaiting != nil {
		r.handler.awaiting.Await(r.ctx, r.op.OperationContext)
	}
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	r.handler.begin(r.op, stop)
	ctx = r.handler.contextOf(ctx, r.caller)
	resp := r.respond(ctx)
	r.op.account.bill(resolvingPrice(auth.ViewerFrom(ctx)))
	if resp == nil {
		return nil
	}
	done, err := r.handler.outcome(r.op, resp)
	if err != nil {
		r.ended = errors.Is(err, answer.ErrNoMemory)
		return r.handler.unsentEvent(r.op, err)
	}
	return done
}

// end ends the subscription, and its source.
func (r *results) end() {
	r.cancel()
	r.op.release()
}
