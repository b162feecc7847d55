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
	"carrel/principal"
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
	unbegun      *refusal      // why the last event was not begun
	ended        bool
}

// results starts the subscription. The caller ends it.
func (h *Handler) results(ctx context.Context, caller auth.Caller, op *operation) *results {
	ctx, cancel := context.WithCancel(observe.WithoutCallSpans(ctx))
	viewer := caller.Viewer()
	ctx = graphql.WithOperationContext(auth.WithViewer(ctx, viewer), op.OperationContext)
	op.ctx = ctx
	r := &results{handler: h, caller: caller, op: op, ctx: ctx, cancel: cancel}
	if err := h.endRights(ctx, viewer); err != nil {
		op.keeps, r.refused = 0, h.unauthenticated(ctx, err).errs
		return r
	}
	if !h.bodies.Hold(op.account.holder(), op.keeps) {
		op.keeps, r.refused = 0, noRoom().errs
		return r
	}
	op.share()
	r.subscription, r.refused = h.graph.Subscribe(h.collectErrors(ctx))
	op.account.bill(resolvingPrice(viewer))
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
	viewer := r.caller.Viewer()
	ctx = r.handler.collectErrors(auth.WithViewer(ctx, viewer))
	r.op.texts.Store(0)
	resp := r.subscription.Next(ctx, func() bool { return r.begin(viewer) })
	defer func() { r.op.account.bill(resolvingPrice(viewer) + r.op.bytes()) }()
	switch {
	case r.unbegun != nil:
		r.ended = true
		return r.resumable()
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

// begin begins an event that has arrived: it reserves the memory for it, charges as much as for the same
// query, and takes the rights from the viewer that it has lost. It returns false if there is no memory, if
// the account has too few points, or if the rights cannot be read.
func (r *results) begin(v *principal.Viewer) bool {
	if err := r.handler.reserve(r.op); err != nil {
		r.unbegun = r.handler.unsent(err)
	} else if r.unbegun = r.op.account.event(r.op.price); r.unbegun == nil {
		if err := r.handler.endRights(r.op.ctx, v); err != nil {
			r.unbegun = r.handler.unauthenticated(r.op.ctx, err)
		}
	}
	return r.unbegun == nil
}

// resumable returns the last result of a subscription that ends because an event was not begun. It has a
// cursor after which another subscription continues.
func (r *results) resumable() *executed {
	if after := r.subscription.Cursor(); after != "" {
		r.unbegun.errs[0].Extensions["cursor"] = after
	}
	return &executed{errors: r.unbegun.errs}
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
