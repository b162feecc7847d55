package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
)

// The source files of the schema for clients, and its path.
const (
	contractFile     = "schema.graphqls"
	federationFile   = "federation.graphqls"
	clientSchemaFile = "clients/schema.graphql"
)

const clientSchemaHead = "# The API as clients use it: schema.graphqls without what is for federation.\n# Made by `make generate`.\n\n"

// writeClientSchema writes the schema for compilers of clients, such as relay-compiler. They
// support neither the directives of federation nor a schema that consists only of an extension.
func writeClientSchema() error {
	contract, err := readSchema(contractFile)
	if err != nil {
		return err
	}
	federation, err := readSchema(federationFile)
	if err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString(clientSchemaHead)
	formatter.NewFormatter(&text, formatter.WithIndent("  ")).FormatSchemaDocument(forClients(contract, federation))
	if err := os.MkdirAll(filepath.Dir(clientSchemaFile), 0o755); err != nil {
		return err
	}
	return os.WriteFile(clientSchemaFile, []byte(text.String()), 0o644)
}

func readSchema(name string) (*ast.SchemaDocument, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	doc, err := parser.ParseSchema(&ast.Source{Name: name, Input: string(text)})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return doc, nil
}

// forClients removes the directives that federation defines from a contract.
func forClients(contract, federation *ast.SchemaDocument) *ast.SchemaDocument {
	without := func(list ast.DirectiveList) ast.DirectiveList {
		return slices.DeleteFunc(list, func(d *ast.Directive) bool { return federation.Directives.ForName(d.Name) != nil })
	}
	contract.SchemaExtension = slices.DeleteFunc(contract.SchemaExtension, func(e *ast.SchemaDefinition) bool {
		e.Directives = without(e.Directives)
		return len(e.Directives) == 0 && len(e.OperationTypes) == 0
	})
	for _, definition := range slices.Concat(contract.Definitions, contract.Extensions) {
		definition.Directives = without(definition.Directives)
		for _, value := range definition.EnumValues {
			value.Directives = without(value.Directives)
		}
		for _, field := range definition.Fields {
			field.Directives = without(field.Directives)
			for _, argument := range field.Arguments {
				argument.Directives = without(argument.Directives)
			}
		}
	}
	return contract
}
