package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/auth"
	"carrel/dataloader"
	"carrel/graph"
	"carrel/library"
	"carrel/paste"
)

// NewSchema returns the executable schema. Each operation has its own loaders for the viewer of its
// context, and planned pages.
func NewSchema(r *Root) graph.ExecutableSchema {
	return schema{graph.NewSchema(graph.Config{Schema: graph.Served(), Resolvers: newSubscription(r)}), r}
}

type schema struct {
	graph.ExecutableSchema
	root *Root
}

// Exec prepares a query or a mutation with its own loaders. An operation that Answer has started
// keeps its loaders, and its page is not planned again.
func (s schema) Exec(ctx context.Context) graphql.ResponseHandler {
	known := outcomesIn(ctx)
	if known == nil {
		s.prepare(ctx)
	} else {
		op := graphql.GetOperationContext(ctx)
		op.ResolverMiddleware = known.replay(op.ResolverMiddleware)
	}
	handle := s.ExecutableSchema.Exec(ctx)
	return func(ctx context.Context) *graphql.Response {
		if known == nil {
			ctx = s.root.withLoaders(ctx)
		}
		return handle(ctx)
	}
}

// Subscribe starts a subscription with its own resolvers, which pass its events to the generated
// code.
func (s schema) Subscribe(ctx context.Context) (graph.Subscription, gqlerror.List) {
	s.prepare(ctx)
	sub := newSubscription(s.root)
	writer, errs := graph.NewSchema(graph.Config{Schema: s.Schema(), Resolvers: sub}).Subscribe(ctx)
	if errs != nil {
		return nil, errs
	}
	sub.writer = writer
	return sub, nil
}

// prepare enables the plans of an operation's pages, in its own OperationContext.
func (s schema) prepare(ctx context.Context) {
	op := graphql.GetOperationContext(ctx)
	op.ResolverMiddleware = s.withPlans(op.ResolverMiddleware)
}

func (r *Root) withLoaders(ctx context.Context) context.Context {
	return dataloader.With(ctx, dataloader.New(r.People, r.Library, r.Pages, auth.ViewerFrom(ctx), r.Loaded))
}

// withPlans returns a middleware that replaces a page by one that its plan has written. gqlgen
// writes such a value unchanged, because it is a Marshaler.
func (s schema) withPlans(resolve graphql.FieldMiddleware) graphql.FieldMiddleware {
	return func(ctx context.Context, next graphql.Resolver) (any, error) {
		res, err := resolve(ctx, next)
		if err != nil {
			return res, err
		}
		switch conn := res.(type) {
		case *library.LibraryConnection:
			return s.root.planned(ctx, conn), nil
		case *paste.Connection:
			if m, ok := graph.WritePastes(ctx, conn, graph.BodyOf(graphql.GetOperationContext(ctx))); ok {
				return m, nil
			}
		}
		return res, nil
	}
}
