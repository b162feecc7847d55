package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/auth"
	"carrel/dataloader"
	"carrel/graph"
	"carrel/library"
)

// NewSchema is the schema, ready to be executed: each operation with loaders
// of its own for the viewer of its context, and with planned pages.
func NewSchema(r *Root) graphql.ExecutableSchema {
	return schema{graph.NewSchema(graph.Config{Schema: graph.Served(), Resolvers: newStream(r)}), r}
}

type schema struct {
	graphql.ExecutableSchema
	root *Root
}

// Exec prepares one operation; its OperationContext belongs to it alone. Each
// answer of it, of which a subscription has many, gets loaders of its own.
func (s schema) Exec(ctx context.Context) graphql.ResponseHandler {
	op := graphql.GetOperationContext(ctx)
	op.ResolverMiddleware = s.withPlans(op.ResolverMiddleware)
	if op.Operation.Operation == ast.Subscription {
		return s.subscribe(ctx)
	}
	handle := s.ExecutableSchema.Exec(ctx)
	return func(ctx context.Context) *graphql.Response {
		return handle(s.withLoaders(ctx))
	}
}

// subscribe opens a stream of its own for a subscription. Loaders are made for
// an event when there is one: a subscription waits for hours, and thousands do.
func (s schema) subscribe(ctx context.Context) graphql.ResponseHandler {
	source := newStream(s.root)
	graphql.GetOperationContext(ctx).Stats.SetExtension(streamOf, source)
	write := graph.NewSchema(graph.Config{Schema: s.Schema(), Resolvers: source}).Exec(ctx)
	return func(ctx context.Context) *graphql.Response {
		return source.event(ctx, s.withLoaders, write)
	}
}

// streamOf is the name by which an operation has its stream.
const streamOf = "carrel.stream"

// Await waits until a subscription has something to answer. The executor could
// wait for it as well, but on a stack that is several times as large.
func (schema) Await(ctx context.Context, op *graphql.OperationContext) {
	if source, ok := op.Stats.GetExtension(streamOf).(*stream); ok && source.following != nil && !source.over {
		source.following.Await(ctx)
	}
}

func (s schema) withLoaders(ctx context.Context) context.Context {
	return dataloader.With(ctx, dataloader.New(s.root.Library, auth.ViewerFrom(ctx), s.root.Loaded))
}

// withPlans lets a page be answered by its plan: gqlgen takes what a middleware
// answers in the place of a value as it is, if it can write itself.
func (s schema) withPlans(resolve graphql.FieldMiddleware) graphql.FieldMiddleware {
	return func(ctx context.Context, next graphql.Resolver) (any, error) {
		res, err := resolve(ctx, next)
		if conn, ok := res.(*library.LibraryConnection); ok && err == nil {
			return s.root.planned(ctx, conn), nil
		}
		return res, err
	}
}
