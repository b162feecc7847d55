package cassandra

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"carrel/cassandra/cassandratest"
	"carrel/cassandra/session"
)

// node is shared by all tests of this package.
var node cassandratest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := node.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if code == 0 {
		// After it was closed, the driver still waits for schema agreement for a while, and tries a few times to connect to the
		// node.
		if err := goleak.Find(goleak.IgnoreAnyFunction("github.com/gocql/gocql.(*controlConn).awaitSchemaAgreement"),
			goleak.IgnoreAnyFunction("github.com/gocql/gocql.(*hostConnPool).connect")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// options returns options with a keyspace for this test, with empty tables.
func options(t testing.TB) session.Options {
	t.Helper()
	return migrated(t, node.Keyspace(t))
}

// ownOptions is options for a test that changes the tables or the migrations of its keyspace.
func ownOptions(t testing.TB) session.Options {
	t.Helper()
	return migrated(t, node.NewKeyspace(t))
}

// migrated returns options with a keyspace after a migration.
func migrated(t testing.TB, keyspace string) session.Options {
	t.Helper()
	o := session.Options{Hosts: node.Hosts(t), Keyspace: keyspace, Replication: map[string]int{"": 1}}
	if err := Migrate(t.Context(), o, func(step string) { t.Log(step) }); err != nil {
		t.Fatal(err)
	}
	return o
}

// open opens a store that is closed at the end of the test.
func open(t testing.TB, o session.Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
