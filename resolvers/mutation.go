package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/auth"
	"carrel/core/input"
	"carrel/dataloader"
	"carrel/principal"
)

// begin gives the viewer of a mutation. The mutations of one operation run one
// after another; what was loaded for the one before is forgotten, so that each
// shows things as it left them.
func (m mutations) begin(ctx context.Context) *principal.Viewer {
	dataloader.From(ctx).Forget()
	return auth.ViewerFrom(ctx)
}

// optional is an input field as the domain takes it.
func optional[T any](o graphql.Omittable[T]) input.Optional[T] {
	v, set := o.ValueOK()
	return input.Optional[T]{Set: set, Value: v}
}

// given is the value of a field that has a default: zero stands for an explicit
// null, which the domain refuses.
func given[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}
