package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
)

// outcomes are the results of the reads of a planned operation, in case the executor has to answer
// it after all. The executor then runs the operation from the start, and uses the outcomes instead
// of calling resolvers. So only the generated code reports errors and propagates nulls, and nothing
// is read or charged twice.
type outcomes struct {
	object result // of the field of Query
	page   result // of the field library below it
}

// result is the result of a read.
type result struct {
	read     bool
	value    any
	err      error
	panicked any // if nil, it did not panic
}

// run calls read, stores its error or panic, and reports whether it succeeded.
func (o *result) run(ctx context.Context, op *graphql.OperationContext, read func() error) bool {
	o.read = true
	defer func() {
		if v := recover(); v != nil {
			// The error contains the stack of the panic.
			o.panicked = op.RecoverFunc(ctx, v)
		}
	}()
	o.err = read()
	return o.err == nil
}

// resolve returns the result, or panics with it, like the resolver that was called.
func (o *result) resolve(context.Context) (any, error) {
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.value, o.err
}

type outcomesKey struct{}

// outcomesIn returns the outcomes in ctx, or nil.
func outcomesIn(ctx context.Context) *outcomes {
	o, _ := ctx.Value(outcomesKey{}).(*outcomes)
	return o
}

// replay resolves fields with their outcomes, and all others with resolve.
func (o *outcomes) replay(resolve graphql.FieldMiddleware) graphql.FieldMiddleware {
	return func(ctx context.Context, next graphql.Resolver) (any, error) {
		switch field := graphql.GetFieldContext(ctx); {
		case field.Object == "Query" && o.object.read:
			next = o.object.resolve
		case field.Field.Name == "library" && field.Parent != nil && field.Parent.Object == "Query" && o.page.read:
			next = o.page.resolve
		}
		return resolve(ctx, next)
	}
}
