package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGeneratedCodeIsCurrent generates once more, in a copy of what the
// generator reads, and holds that the result is what stands in the tree.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	module, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	for _, pattern := range []string{"go.mod", "go.sum", "gqlgen.yml", "*.graphqls", "graph/*.go", "library/*.go"} {
		copyFiles(t, module, pattern, copied)
	}
	if err := os.Remove(filepath.Join(copied, "graph", "generated.go")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(copied)
	if err := generate("."); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(copied, "graph", "generated.go"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(module, "graph", "generated.go"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("graph/generated.go is not what the schema gives; run `go generate ./graph` (-tree +generated):\n%s", cmp.Diff(string(want), string(got)))
	}
	if _, err := os.Stat(filepath.Join(copied, "graph", "models_gen.go")); !os.IsNotExist(err) {
		t.Errorf("graph/models_gen.go was generated (stat: %v)", err)
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
