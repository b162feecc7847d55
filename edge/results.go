package edge

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/answer"
	"carrel/auth"
	"carrel/graph"
	"carrel/observe"
)

// results are the results of a subscription until it or its context ends. Each is written for a new
// Viewer, so that access rights are current.
type results struct {
	handler      *Handler
	caller       auth.Caller
	op           *operation
	ctx          context.Context
	cancel       context.CancelFunc
	subscription graph.Subscription
	refused      gqlerror.List // why the subscription did not start
	unpaid       *refusal      // why the last event was not paid for
	ended        bool
}

// results starts the subscription. The caller ends it.
func (h *Handler) results(ctx context.Context, caller auth.Caller, op *operation) *results {
	ctx, cancel := context.WithCancel(observe.WithoutCallSpans(ctx))
	ctx = graphql.WithOperationContext(auth.WithViewer(ctx, caller.Viewer()), op.OperationContext)
	op.ctx = ctx
	r := &results{handler: h, caller: caller, op: op, ctx: ctx, cancel: cancel}
	if !h.bodies.Hold(op.account.holder(), op.keeps) {
		op.keeps, r.refused = 0, noRoom().errs
		return r
	}
	op.share()
	r.subscription, r.refused = h.graph.Subscribe(h.collectErrors(ctx))
	op.account.bill(resolvingPrice(auth.ViewerFrom(ctx)))
	return r
}

// next waits for the next result. It returns nil at the end. The result is valid until the next
// call. If no memory is free, the subscription ends, and its client resubscribes and misses
// nothing. The same applies if the account has too few points for an event. Resolved groups are
// charged afterwards, so the balance may become negative.
func (r *results) next() *executed {
	r.op.release()
	switch {
	case r.ended:
		return nil
	case r.refused != nil:
		r.ended = true
		return &executed{errors: r.handler.firstErrors(r.refused)}
	}
	r.subscription.Await(r.ctx)
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	if ctx.Err() != nil {
		return nil
	}
	r.op.ctx = ctx
	r.handler.begin(r.op, stop)
	r.op.share()
	ctx = r.handler.collectErrors(auth.WithViewer(ctx, r.caller.Viewer()))
	r.op.texts.Store(0)
	resp := r.subscription.Next(ctx, r.pay)
	defer func() { r.op.account.bill(resolvingPrice(auth.ViewerFrom(ctx)) + r.op.bytes()) }()
	switch {
	case r.unpaid != nil:
		r.ended = true
		return r.outOfPoints()
	case resp == nil && errors.Is(r.op.body.Err(), answer.ErrNoMemory):
		r.ended = true
		return r.handler.unsentEvent(r.op, answer.ErrNoMemory)
	case resp == nil:
		return nil
	}
	resp.Errors = append(resp.Errors, graphql.GetErrors(ctx)...)
	done, err := r.handler.outcome(r.op, resp)
	switch {
	case errors.Is(err, answer.ErrEnded): // nobody waits for the event
		return nil
	case err != nil:
		r.ended = errors.Is(err, answer.ErrNoMemory)
		return r.handler.unsentEvent(r.op, err)
	}
	return done
}

// pay reserves the memory for an event, and charges as much as for the same query. It returns false if
// there is no memory, or if the account has too few points.
func (r *results) pay() bool {
	if r.handler.reserve(r.op) != nil {
		return false
	}
	r.unpaid = r.op.account.event(r.op.price)
	return r.unpaid == nil
}

// outOfPoints returns the last result of a subscription that an empty account ends. It has a cursor
// after which another subscription continues.
func (r *results) outOfPoints() *executed {
	if after := r.subscription.Cursor(); after != "" {
		r.unpaid.errs[0].Extensions["cursor"] = after
	}
	return &executed{errors: r.unpaid.errs}
}

// collectErrors returns a context that collects the errors of resolvers, as the executor's context
// does for a query.
func (h *Handler) collectErrors(ctx context.Context) context.Context {
	return graphql.WithResponseContext(ctx, h.presenter.present, recovered)
}

// end ends the subscription and its source.
func (r *results) end() {
	r.cancel()
	r.op.release()
	r.handler.bodies.Free(r.op.account.holder(), r.op.keeps)
}
