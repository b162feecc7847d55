package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
)

// TestGeneratedCode_IsCurrent generates again in a copy of the generator's input and compares the
// result with the tree.
func TestGeneratedCode_IsCurrent(t *testing.T) {
	module, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	for _, pattern := range []string{"go.mod", "go.sum", "gqlgen.yml", "*.graphqls", "graph/*.go", "library/*.go",
		"principal/*.go", "lease/*.go", "note/*.go", "paste/*.go", "core/*/*.go", "answer/*.go"} {
		copyFiles(t, module, pattern, copied)
	}
	for _, made := range []string{"generated.go", "models_gen.go"} {
		if err := os.Remove(filepath.Join(copied, "graph", made)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(copied)
	if err := generate("."); err != nil {
		t.Fatal(err)
	}
	wantCurrent(t, module, copied, "graph/generated.go")
	wantCurrent(t, module, copied, "graph/models_gen.go")
	wantCurrent(t, module, copied, clientSchemaFile)
}

// wantCurrent compares a file of the tree with the generated one.
func wantCurrent(t *testing.T, module, copied, name string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(copied, name))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(module, name))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is out of date; run `go generate ./graph` (-tree +generated):\n%s", name, cmp.Diff(string(want), string(got)))
	}
}

// TestClientSchema_HoldsNothingOfFederation: everything that federation defines is removed,
// wherever it is used, and all else is kept.
func TestClientSchema_HoldsNothingOfFederation(t *testing.T) {
	read := func(text string) *ast.SchemaDocument {
		doc, err := parser.ParseSchema(&ast.Source{Input: text})
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	federation := read(`directive @key(fields: String) on OBJECT directive @tag(name: String) on OBJECT directive @link(url: String) on SCHEMA directive @share on OBJECT`)
	doc := forClients(read(`extend schema @link(url: "x") extend schema @link(url: "y") { query: Q }
		"A."
		type A @key(fields: "id") @share { "Of it." id(first: Int = 1 @tag(name: "x") @deprecated): ID @tag(name: "x") @deprecated(reason: "old") }
		enum E @tag(name: "x") { ONE @tag(name: "x") @deprecated TWO }
		input I @oneOf @share { a: Int @tag(name: "x") }
		scalar S @specifiedBy(url: "z") @tag(name: "x")
		union U @tag(name: "x") = A
		extend type A @key(fields: "b") { b: Int @share }`), federation)
	want := read(`extend schema { query: Q }
		"A."
		type A { "Of it." id(first: Int = 1 @deprecated): ID @deprecated(reason: "old") }
		enum E { ONE @deprecated TWO }
		input I @oneOf { a: Int }
		scalar S @specifiedBy(url: "z")
		union U = A
		extend type A { b: Int }`)
	if diff := cmp.Diff(text(want), text(doc)); diff != "" {
		t.Error(diff)
	}
}

func text(doc *ast.SchemaDocument) string {
	var b strings.Builder
	formatter.NewFormatter(&b).FormatSchemaDocument(doc)
	return b.String()
}

// TestClientSchema_IsASchemaByItself: the file in the tree can be loaded without any other file.
func TestClientSchema_IsASchemaByItself(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("../../..", clientSchemaFile))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: string(b)})
	if err != nil {
		t.Fatal(err)
	}
	if schema.Query == nil || schema.Mutation == nil || schema.Subscription == nil || schema.Types["Content"].Description == "" ||
		schema.Types["_Entity"] != nil {
		t.Errorf("it is not the API's schema: %v", schema.Query)
	}
}

func copyFiles(t *testing.T, from, pattern, to string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(from, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: found %d files: %v", pattern, len(names), err)
	}
	for _, name := range names {
		relative, err := filepath.Rel(from, name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(to, relative)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
