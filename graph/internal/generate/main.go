// Command generate generates the code in graph, and clients/schema.graphql, from the schema. It uses
// gqlgen as a library, so that the version in go.mod runs and no other tool must be installed. Run
// it by `go generate ./graph`.
package main

import (
	"fmt"
	"os"

	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate DIR, where DIR holds gqlgen.yml")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate works in dir, because the paths in gqlgen.yml are relative to it.
func generate(dir string) error {
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("enter the module: %w", err)
	}
	cfg, err := config.LoadConfig("gqlgen.yml")
	if err != nil {
		return fmt.Errorf("read gqlgen.yml: %w", err)
	}
	if err := api.Generate(cfg); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	return writeClientSchema()
}
