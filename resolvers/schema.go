package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/dataloader"
	"carrel/graph"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// NewSchema returns the executor of operations.
func NewSchema(r *Root) graph.Executor { return schema{graph.NewGenerated(r), r} }

type schema struct {
	graph.Generated
	root *Root
}

// Execute implements graph.Executor. Each operation, and each event, has its own loaders. An operation
// with a plan is executed by it, and all others by the generated code, with plans of their pages.
func (s schema) Execute(ctx context.Context, e *graph.Execution) gqlerror.List {
	e.Loaders = dataloader.New(s.root.PeopleByID, s.root.ItemsByID, s.root.Notes, e.Viewer, s.root.Loaded)
	if r := s.planned(ctx, e); r != nil {
		return r.execute(ctx)
	}
	resolve := e.ResolverMiddleware
	defer func() { e.ResolverMiddleware = resolve }()
	e.ResolverMiddleware = s.root.withPlans(resolve)
	return s.Generated.Execute(ctx, e)
}

// viewer returns the viewer of the operation whose fields ctx resolves.
func viewer(ctx context.Context) *principal.Viewer { return graph.ExecutionOf(ctx).Viewer }

// loaders returns the loaders of the operation whose fields ctx resolves.
func loaders(ctx context.Context) *dataloader.Loaders { return graph.ExecutionOf(ctx).Loaders }

// withPlans returns a middleware that replaces a page by one that its plan has written. gqlgen
// writes such a value unchanged, because it is a Marshaler.
func (r *Root) withPlans(resolve graphql.FieldMiddleware) graphql.FieldMiddleware {
	return func(ctx context.Context, next graphql.Resolver) (any, error) {
		res, err := resolve(ctx, next)
		if err != nil {
			return res, err
		}
		switch conn := res.(type) {
		case *library.LibraryConnection:
			return r.written(ctx, conn), nil
		case *paste.Connection:
			if m, ok := graph.WritePastes(ctx, conn, graph.ExecutionOf(ctx).Body); ok {
				return m, nil
			}
		}
		return res, nil
	}
}
