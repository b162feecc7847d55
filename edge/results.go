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
	ended        bool
}

// results starts the subscription. The caller ends it.
func (h *Handler) results(ctx context.Context, caller auth.Caller, op *operation) *results {
	ctx, cancel := context.WithCancel(observe.WithoutCallSpans(ctx))
	ctx = graphql.WithOperationContext(auth.WithViewer(ctx, caller.Viewer()), op.OperationContext)
	op.share()
	r := &results{handler: h, caller: caller, op: op, ctx: ctx, cancel: cancel}
	r.subscription, r.refused = h.graph.Subscribe(h.collectErrors(ctx))
	op.account.bill(resolvingPrice(auth.ViewerFrom(ctx)))
	return r
}

// next waits for the next result. It returns nil at the end. The result is valid until the next
// call. If no memory is free, the subscription ends, and its client resubscribes and misses
// nothing. Resolved groups are charged afterwards: the balance may become negative, which only
// affects new operations.
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
	r.handler.begin(r.op, stop)
	r.op.share()
	ctx = r.handler.collectErrors(auth.WithViewer(ctx, r.caller.Viewer()))
	resp := r.subscription.Next(ctx)
	r.op.account.bill(resolvingPrice(auth.ViewerFrom(ctx)))
	if resp == nil {
		return nil
	}
	resp.Errors = append(resp.Errors, graphql.GetErrors(ctx)...)
	done, err := r.handler.outcome(r.op, resp)
	if err != nil {
		r.ended = errors.Is(err, answer.ErrNoMemory)
		return r.handler.unsentEvent(r.op, err)
	}
	return done
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
}
