package edge

import (
	"context"
	"iter"

	"github.com/99designs/gqlgen/graphql"

	"carrel/auth"
	"carrel/observe"
)

// results are those of a subscription, until it ends or ctx does. Each is
// written for a viewer of its own, so that rights are those of its moment.
func (h *Handler) results(ctx context.Context, caller auth.Caller, op *operation) iter.Seq[*graphql.Response] {
	return func(yield func(*graphql.Response) bool) {
		ctx, cancel := context.WithCancel(observe.Apart(ctx))
		defer cancel() // which ends the source
		respond, ctx := h.executor.DispatchOperation(h.contextOf(ctx, caller), op.OperationContext)
		for {
			resp := respond(h.contextOf(ctx, caller))
			if resp == nil {
				return
			}
			h.limit(resp)
			if !yield(resp) {
				return
			}
		}
	}
}
