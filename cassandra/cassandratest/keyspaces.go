package cassandratest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gocql/gocql"
)

// schemaTable is the table in which carrel migrate lists what it did. It is never emptied.
const schemaTable = "schema_version"

// Keyspace returns the name of a keyspace that no other test uses at the same time, not even on a
// cluster of CASSANDRA_HOSTS. It does not exist yet, or its tables are those of carrel migrate, and
// empty. The test runs carrel migrate in both cases, and must not change the tables: it takes ten
// times as long to make and drop a keyspace as to empty it, so the next test uses it again.
func (s *Shared) Keyspace(t testing.TB) string {
	t.Helper()
	host := s.Hosts(t)[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	var name string
	if last := len(s.free) - 1; last >= 0 {
		name, s.free = s.free[last], s.free[:last]
	} else {
		name = s.newName()
	}
	t.Cleanup(func() {
		if t.Failed() || !s.alive() {
			s.dropAfter(t, host, name)
		} else if err := s.giveBack(t, host, name); err != nil {
			t.Errorf("the keyspace %s cannot be used again: %v", name, err)
			s.dropAfter(t, host, name)
		}
	})
	return name
}

// NewKeyspace returns the name of a keyspace that does not exist, and drops it at the end of the
// test. It is for tests that change tables, or make them step by step.
func (s *Shared) NewKeyspace(t testing.TB) string {
	t.Helper()
	host := s.Hosts(t)[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.newName()
	t.Cleanup(func() { s.dropAfter(t, host, name) })
	return name
}

// newName returns the name of a keyspace that nobody uses.
func (s *Shared) newName() string {
	s.keyspaces++
	return fmt.Sprintf("test_%d_%d", time.Now().UnixNano(), s.keyspaces)
}

// giveBack empties the tables of a keyspace, for the next test that calls Keyspace. It returns an
// error if the test has changed the tables.
func (s *Shared) giveBack(t testing.TB, host, keyspace string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), startTimeout)
	defer cancel()
	session, err := connect(host, startTimeout)
	if err != nil {
		return err
	}
	defer session.Close()
	tables, schema, err := describe(ctx, session, keyspace)
	if err != nil || len(tables) == 0 {
		return err
	}
	s.mu.Lock()
	if s.schema == nil {
		s.schema = schema
	}
	same := slices.Equal(schema, s.schema)
	s.mu.Unlock()
	if !same {
		return fmt.Errorf("the test has changed its tables, so it must call NewKeyspace")
	}
	for _, table := range tables {
		if table == schemaTable {
			continue
		}
		if err := session.Query("TRUNCATE " + keyspace + "." + table).WithContext(ctx).Exec(); err != nil {
			return fmt.Errorf("emptying %s: %w", table, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, keyspace)
	return nil
}

// describe returns the tables of a keyspace, and its schema: the columns of its tables, and the
// migrations that it lists.
func describe(ctx context.Context, session *gocql.Session, keyspace string) (tables, schema []string, err error) {
	columns := session.Query("SELECT table_name, column_name, type FROM system_schema.columns WHERE keyspace_name = ?",
		keyspace).WithContext(ctx).Iter()
	var table, column, kind string
	for columns.Scan(&table, &column, &kind) {
		if !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
		schema = append(schema, table+" "+column+" "+kind)
	}
	if err := columns.Close(); err != nil || !slices.Contains(tables, schemaTable) {
		return tables, schema, err
	}
	migrations := session.Query("SELECT version, checksum FROM " + keyspace + "." + schemaTable +
		" WHERE part = 0 AND version > 0").WithContext(ctx).Iter()
	var (
		version  int
		checksum string
	)
	for migrations.Scan(&version, &checksum) {
		schema = append(schema, fmt.Sprintf("migration %d %s", version, checksum))
	}
	return tables, schema, migrations.Close()
}

// dropAfter drops a keyspace at the end of its test, because a node does not have enough memory for
// the tables of all tests.
func (s *Shared) dropAfter(t testing.TB, host, keyspace string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), startTimeout)
	defer cancel()
	if err := drop(ctx, host, keyspace); err != nil && s.alive() {
		t.Errorf("dropping the keyspace %s: %v", keyspace, err)
	}
}

// drop drops a keyspace if it exists.
func drop(ctx context.Context, host, keyspace string) error {
	session, err := connect(host, startTimeout)
	if err != nil {
		return err
	}
	defer session.Close()
	return session.Query("DROP KEYSPACE IF EXISTS " + keyspace).WithContext(ctx).Exec()
}
