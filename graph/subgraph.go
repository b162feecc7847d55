package graph

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"

	"carrel/library"
)

// Subgraph is what composition is told of this schema.
type Subgraph struct{ SDL string }

// additions is the file that defines what every composer defines itself.
const additions = "federation.graphqls"

// NewSubgraph makes the schema as composers take it, of the very files that
// the generated code was made of, with their descriptions. It leaves out
//   - node and nodes: each subgraph resolves them for its own types alone, so
//     that composers refuse them in two subgraphs, @shareable or not;
//   - @oneOf, of which Federation 2.7 does not know;
//   - the definitions that composers bring.
func NewSubgraph() (*Subgraph, error) {
	own := make([]*ast.Source, 0, len(sources))
	for _, s := range sources {
		if path.Base(s.Name) != additions {
			own = append(own, s)
		}
	}
	doc, err := parser.ParseSchemas(own...)
	if err != nil {
		return nil, fmt.Errorf("read the schema for composition: %w", err)
	}
	for _, defs := range []ast.DefinitionList{doc.Definitions, doc.Extensions} {
		for _, def := range defs {
			compose(def)
		}
	}
	var sdl strings.Builder
	formatter.NewFormatter(&sdl, formatter.WithIndent("  ")).FormatSchemaDocument(doc)
	return &Subgraph{SDL: sdl.String()}, nil
}

// compose takes out of a definition what composers refuse.
func compose(def *ast.Definition) {
	def.Directives = slices.DeleteFunc(def.Directives, func(d *ast.Directive) bool { return d.Name == "oneOf" })
	if def.Name == "Query" {
		def.Fields = slices.DeleteFunc(def.Fields, func(f *ast.FieldDefinition) bool { return f.Name == "node" || f.Name == "nodes" })
	}
}

// SubgraphResolver is what a ResolverRoot has to be too. gqlgen keeps the names
// _entities and _service for its own plugin, which starts a goroutine for each
// reference and drops its place from the error, and so leaves both out of
// QueryResolver.
type SubgraphResolver interface {
	// Entities answers references in their order.
	Entities(ctx context.Context, representations []*Representation) ([]library.Node, error)
	// Subgraph is told to composers.
	Subgraph(ctx context.Context) (*Subgraph, error)
}

var errNoSubgraph = errors.New("the resolvers are no SubgraphResolver")

// __resolve_entities has the name that generated code calls. It answers a
// []library.Node, and nil after an error: an empty list would say that there
// was nothing to be found.
func (ec *executionContext) __resolve_entities(ctx context.Context, representations []*Representation) any {
	r, ok := ec.Resolvers.(SubgraphResolver)
	if !ok {
		ec.Error(ctx, errNoSubgraph)
		return nil
	}
	entities, err := r.Entities(ctx, representations)
	if err != nil {
		ec.Error(ctx, err)
		return nil
	}
	return entities
}

// __resolve__service likewise.
func (ec *executionContext) __resolve__service(ctx context.Context) (Subgraph, error) {
	r, ok := ec.Resolvers.(SubgraphResolver)
	if !ok {
		return Subgraph{}, errNoSubgraph
	}
	s, err := r.Subgraph(ctx)
	if err != nil {
		return Subgraph{}, err
	}
	return *s, nil
}
