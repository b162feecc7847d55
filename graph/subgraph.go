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

// Subgraph is this schema as composers see it.
type Subgraph struct{ SDL string }

// federationFile is the file with the definitions that every composer has built in.
const federationFile = "federation.graphqls"

// NewSubgraph returns the schema for composers, built from the files that the generated code was
// made from, with their descriptions. It does not contain
//
//   - node and nodes: each subgraph resolves them only for its own types, so composers
//     refuse them in two subgraphs, @shareable or not;
//   - @oneOf, which Federation 2.7 does not know;
//   - the definitions that composers have built in.
func NewSubgraph() (*Subgraph, error) {
	own := make([]*ast.Source, 0, len(sources))
	for _, s := range sources {
		if path.Base(s.Name) != federationFile {
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

// compose removes what composers refuse from a definition.
func compose(def *ast.Definition) {
	def.Directives = slices.DeleteFunc(def.Directives, func(d *ast.Directive) bool { return d.Name == "oneOf" })
	if def.Name == "Query" {
		def.Fields = slices.DeleteFunc(def.Fields, func(f *ast.FieldDefinition) bool { return f.Name == "node" || f.Name == "nodes" })
	}
}

// SubgraphResolver must be implemented by a ResolverRoot too. gqlgen reserves the names _entities
// and _service for its own plugin, and therefore leaves both fields out of QueryResolver. The
// plugin is not used: it starts a goroutine for each reference, and its errors do not contain the
// index of the reference.
type SubgraphResolver interface {
	// Entities returns the objects of references in their order.
	Entities(ctx context.Context, representations []Representation) ([]library.Node, error)
	// Subgraph returns the schema for composers.
	Subgraph(ctx context.Context) (*Subgraph, error)
}

var errNoSubgraph = errors.New("the resolvers do not implement SubgraphResolver")

// __resolve_entities has the name that generated code calls. It returns a []library.Node, and nil
// after an error, because an empty list would mean that nothing was found.
func (ec *executionContext) __resolve_entities(ctx context.Context, representations []Representation) any {
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

// __resolve__service has the name that generated code calls, too.
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
