package nemesis

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"carrel/cassandra/cassandratest"
)

// node is the one that the tests of this package share, but for the nemesis.
var node cassandratest.Shared

// product is the path of the built binary; TestMain alone sets it.
var product string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "carrel-nemesis-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	product = filepath.Join(dir, "carrel")
	build := exec.Command("go", "build", "-o", product, "carrel")
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	if err := node.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	_ = os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
