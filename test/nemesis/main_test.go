package nemesis

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"carrel/cassandra/cassandratest"
)

// node is shared by all tests of this package except TestNemesis and TestNodeDeath_AtEveryStep.
var node cassandratest.Shared

// product is the pair of built binaries; only TestMain sets it.
var product binaries

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

// run builds the product, runs the tests, and removes everything again.
func run(m *testing.M) (code int) {
	report := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	dir, err := os.MkdirTemp("", "carrel-nemesis-")
	if err != nil {
		report(err)
		return code
	}
	defer func() { report(os.RemoveAll(dir)) }()
	if product, err = build(dir); err != nil {
		report(err)
		return code
	}
	code = m.Run()
	report(node.Stop())
	if code == 0 {
		// The driver keeps checking the schema agreement of nodes for a while after it
		// was closed.
		report(goleak.Find(goleak.IgnoreAnyFunction("github.com/gocql/gocql.(*controlConn).awaitSchemaAgreement")))
	}
	return code
}
