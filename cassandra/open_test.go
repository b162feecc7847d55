package cassandra

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/library"
)

// oneLine checks an error that an operator reads: it says one thing, in one
// line, and is of code Unavailable.
func oneLine(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", want)
	}
	var shown *library.Error
	if !errors.As(err, &shown) || shown.Code != library.Unavailable {
		t.Fatalf("not an error of the domain: %v", err)
	}
	if !strings.Contains(shown.Msg, want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %q, want %q in it", err, want)
	}
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(file, []byte("not PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"no hosts", Options{Keyspace: "k"}, "at least one node"},
		{"an empty host", Options{Hosts: []string{"a", ""}, Keyspace: "k"}, "at least one node"},
		{"no keyspace", Options{Hosts: []string{"a"}}, "keyspace"},
		{"a keyspace that is a statement", Options{Hosts: []string{"a"}, Keyspace: "k; DROP"}, "keyspace"},
		{"a data centre that is a statement", Options{Hosts: []string{"a"}, Keyspace: "k", Replication: map[string]int{"dc'": 1}}, "replication"},
		{"no replicas", Options{Hosts: []string{"a"}, Keyspace: "k", Replication: map[string]int{"dc1": 0}}, "replication"},
		{"a time that has passed", Options{Hosts: []string{"a"}, Keyspace: "k", Timeout: -time.Second}, "the time of a request is -1s"},
		{"a key without its certificate", Options{Hosts: []string{"a"}, Keyspace: "k", TLS: &TLS{KeyFile: file}}, "go together"},
		{"a certificate without its key", Options{Hosts: []string{"a"}, Keyspace: "k", TLS: &TLS{CertFile: file}}, "go together"},
		{"authorities that are missing", Options{Hosts: []string{"a"}, Keyspace: "k", TLS: &TLS{CAFile: file + "x"}}, "cannot be read"},
		{"authorities that are none", Options{Hosts: []string{"a"}, Keyspace: "k", TLS: &TLS{CAFile: file}}, "no certificate"},
		{"a pair that is none", Options{Hosts: []string{"a"}, Keyspace: "k", TLS: &TLS{CertFile: file, KeyFile: file}}, "cannot be used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(t.Context(), c.o)
			oneLine(t, err, c.want)
			oneLine(t, Migrate(t.Context(), c.o, nil), c.want)
		})
	}
}

func TestReplication(t *testing.T) {
	for _, c := range []struct {
		factors map[string]int
		want    string
	}{
		{nil, "{'class': 'NetworkTopologyStrategy', 'replication_factor': 3}"},
		{map[string]int{"": 1}, "{'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"},
		{map[string]int{"b": 3, "a": 2}, "{'class': 'NetworkTopologyStrategy', 'a': 2, 'b': 3}"},
	} {
		if got := (&Options{Replication: c.factors}).replication(); got != c.want {
			t.Errorf("%v: %s, not %s", c.factors, got, c.want)
		}
	}
}

func TestOpenNobodyAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Options{Hosts: []string{address}, Keyspace: "k"})
	oneLine(t, err, "no node of the cluster answers at "+address)
}

func TestOpenAndMigrate(t *testing.T) {
	o := Options{Hosts: node.Hosts(t), Keyspace: node.Keyspace(t), Replication: map[string]int{"": 1}}
	_, err := Open(t.Context(), o)
	oneLine(t, err, "does not exist: run carrel migrate")

	// Several operators at the same time make one schema.
	var wait sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		wait.Go(func() { errs[i] = Migrate(t.Context(), o, nil) })
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("migration %d beside others: %v", i, err)
		}
	}
	var steps []string
	if err := Migrate(t.Context(), o, func(step string) { steps = append(steps, step) }); err != nil || len(steps) != 0 {
		t.Fatalf("a repeated migration does %q, %v", steps, err)
	}
	s := open(t, o)

	all, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	version := func(stmt string, args ...any) {
		t.Helper()
		if err := s.session.Query(stmt, args...).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	version("INSERT INTO schema_version (part, version, name, checksum) VALUES (0, ?, 'of the future', 'x')", len(all)+1)
	open(t, o)
	version("UPDATE schema_version SET checksum = 'x' WHERE part = 0 AND version = ?", len(all))
	_, err = Open(t.Context(), o)
	oneLine(t, err, "checksums differ")
	oneLine(t, Migrate(t.Context(), o, nil), "checksums differ")
	version("DELETE FROM schema_version WHERE part = 0 AND version = ?", len(all))
	_, err = Open(t.Context(), o)
	oneLine(t, err, "run carrel migrate")
	version("DROP TABLE schema_version")
	_, err = Open(t.Context(), o)
	oneLine(t, err, "has no schema: run carrel migrate")
}

func TestOpenInAnotherDataCentre(t *testing.T) {
	o := options(t)
	o.DataCentre = "dc1"
	open(t, o)
	o.DataCentre = "elsewhere"
	_, err := Open(t.Context(), o)
	oneLine(t, err, "elsewhere")
}

func TestClosedStoreIsUnavailable(t *testing.T) {
	s, err := Open(t.Context(), options(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = s.Read(t.Context(), "c:t:x", library.ContentQuery{})
	if library.CodeOf(err) != library.Unavailable {
		t.Errorf("a reading: %v", err)
	}
	_, err = s.Commit(t.Context(), creation("c:t:x", someTime))
	if library.CodeOf(err) != library.Unavailable || library.MayHaveCommitted(err) {
		t.Errorf("a commit: %v", err)
	}
}

func TestMigrationFiles(t *testing.T) {
	all, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if len(m.statements) == 0 || len(m.checksum) != 64 {
			t.Errorf("%s: %d statements, checksum %q", m.name, len(m.statements), m.checksum)
		}
		for _, stmt := range m.statements {
			adds := strings.HasPrefix(stmt, "CREATE TABLE IF NOT EXISTS ") || strings.HasPrefix(stmt, "ALTER TABLE ") && strings.Contains(stmt, " ADD IF NOT EXISTS ")
			if !adds {
				t.Errorf("%s: %q does not only add, or cannot be repeated", m.name, stmt)
			}
		}
	}
}
