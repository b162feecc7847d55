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
	handler *Handler
	caller  auth.Caller
	op      *operation
	ctx     context.Context
	cancel  context.CancelFunc
	source  graph.Source
	refused gqlerror.List // why the subscription did not start
	unbegun *refusal      // why the last event was not begun
	ended   bool
}

// results starts the subscription. The caller ends it.
func (h *Handler) results(ctx context.Context, caller auth.Caller, op *operation) *results {
	ctx, cancel := context.WithCancel(observe.WithoutCallSpans(ctx))
	ctx = graphql.WithOperationContext(ctx, op.OperationContext) // for the log of errors
	op.ctx, op.Viewer = ctx, caller.Viewer()
	r := &results{handler: h, caller: caller, op: op, ctx: ctx, cancel: cancel}
	if err := h.endRights(ctx, op.Viewer); err != nil {
		op.keeps, r.refused = 0, h.unauthenticated(ctx, err).errs
		return r
	}
	if !h.bodies.Hold(op.account.holder(), op.keeps) {
		op.keeps, r.refused = 0, noRoom().errs
		return r
	}
	r.source, r.refused = h.graph.Subscribe(ctx, &op.Execution)
	op.account.bill(resolvingPrice(op.Viewer))
	return r
}

// next waits for the next result. It returns nil at the end. The result is valid until the next
// call. If no memory is free, the subscription ends, and its client resubscribes and misses
// nothing. The same applies if the account has too few points for an event. Resolved groups are
// charged afterwards, so the balance may become negative.
func (r *results) next() *executed {
	for {
		if done, again := r.await(); !again {
			return done
		}
	}
}

// await waits for the next event. again reports that it is not shown, so that the next one is to be awaited.
func (r *results) await() (done *executed, again bool) {
	r.op.release()
	r.op.Event, r.op.Loaders = nil, nil // a subscription that waits keeps nothing of its last event
	switch {
	case r.ended:
		return nil, false
	case r.refused != nil:
		r.ended = true
		return &executed{errors: r.handler.firstErrors(r.refused)}, false
	}
	r.source.Await(r.ctx)
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	if ctx.Err() != nil {
		return nil, false
	}
	r.op.ctx, r.op.Viewer = ctx, r.caller.Viewer()
	r.handler.begin(r.op, stop)
	r.op.texts.Store(0)
	defer func() { r.op.account.bill(resolvingPrice(r.op.Viewer) + r.op.bytes()) }()
	event, err := r.source.Next(ctx, r.begin)
	switch {
	case r.unbegun != nil:
		r.ended = true
		return r.resumable(), false
	case errors.Is(err, graph.ErrNotShown):
		return nil, true
	case err != nil:
		r.ended = true
		if ctx.Err() != nil {
			return nil, false
		}
		return &executed{errors: gqlerror.List{r.handler.presenter.present(ctx, err)}}, false
	case event == nil:
		return nil, false
	}
	r.op.Event = event
	done, err = r.handler.outcome(r.op, r.handler.graph.Execute(ctx, &r.op.Execution))
	switch {
	case errors.Is(err, answer.ErrEnded): // nobody waits for the event
		return nil, false
	case err != nil:
		r.ended = errors.Is(err, answer.ErrNoMemory)
		return r.handler.unsentEvent(r.op, err), false
	}
	return done, false
}

// begin begins an event that has arrived: it reserves the memory for it, charges as much as for the same
// query, and takes the rights from the viewer that it has lost. It returns false if there is no memory, if
// the account has too few points, or if the rights cannot be read.
func (r *results) begin() bool {
	if err := r.handler.reserve(r.op); err != nil {
		r.unbegun = r.handler.unsent(err)
	} else if r.unbegun = r.op.account.event(r.op.price); r.unbegun == nil {
		if err := r.handler.endRights(r.op.ctx, r.op.Viewer); err != nil {
			r.unbegun = r.handler.unauthenticated(r.op.ctx, err)
		}
	}
	return r.unbegun == nil
}

// resumable returns the last result of a subscription that ends because an event was not begun. It has a
// cursor after which another subscription continues.
func (r *results) resumable() *executed {
	if after := r.source.Cursor(); after != "" {
		r.unbegun.errs[0].Extensions["cursor"] = after
	}
	return &executed{errors: r.unbegun.errs}
}

// end ends the subscription and its source.
func (r *results) end() {
	r.cancel()
	r.op.release()
	r.handler.bodies.Free(r.op.account.holder(), r.op.keeps)
}
