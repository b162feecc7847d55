package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/core/input"
	"carrel/graph"
	"carrel/principal"
)

// begin returns the viewer of a mutation. The mutations of one operation run one after another.
// begin forgets what was loaded for the previous one, so that each returns things as they are after
// it.
func (m mutations) begin(ctx context.Context) *principal.Viewer {
	loaders(ctx).Forget()
	return viewer(ctx)
}

// userErrors converts an error of the domain for a payload. A refused mutation may answer a guess:
// whether a secret is that of a paste, or whether a name, a url or an e-mail address is in use.
func userErrors(ctx context.Context, err error) ([]graph.UserError, error) {
	faults, err := graph.UserErrors(err)
	for _, f := range faults {
		if f.Code == graph.CodeWrongSecret || f.Code == graph.CodeTaken {
			graph.ExecutionOf(ctx).Guesses++
		}
	}
	return faults, err
}

// concerns counts the libraries that a mutation concerned.
func concerns(ctx context.Context, libraries int) { graph.ExecutionOf(ctx).Libraries += libraries }

// optional converts an input field for the domain.
func optional[T any](o graphql.Omittable[T]) input.Optional[T] {
	v, set := o.ValueOK()
	return input.Optional[T]{Set: set, Value: v}
}

// given returns the value of a field that has a default. An explicit null becomes the zero value:
// the domain refuses it, except for a Boolean, where it means false.
func given[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}
