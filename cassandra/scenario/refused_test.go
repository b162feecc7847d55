package scenario

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/cassandra/cassandratest"
)

// closedAddress returns an address on which nothing listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// TestUnusableCluster_OneLineError: for a cluster that cannot be used, every command prints one
// line without the password and exits with 1.
func TestUnusableCluster_OneLineError(t *testing.T) {
	t.Parallel()
	const canary = "a-password-that-must-not-be-printed"
	password, secret := written(t, canary+"\n"), written(t, "a secret of at least thirty-two bytes")
	closed, hosts, missing := closedAddress(t), strings.Join(node.Hosts(t), ","), node.NewKeyspace(t)
	store := migrated(t, node.NewKeyspace(t))
	session := driver(t, store)
	change := func(stmt string) {
		t.Helper()
		if err := session.Query(stmt).WithContext(t.Context()).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	// Changes of the schema only add, so the schema of a later program can be used.
	change(`INSERT INTO schema_version (part, version, name, checksum) VALUES (0, 99, 'of the future', 'x')`)
	must(t, "audit", "--store", store)

	keyspace := filepath.Base(store)
	for _, c := range []struct {
		name, store, says string
		before            func()
	}{
		{"unreachable", "cassandra://" + closed + "/carrel", "no node of the cluster answers at " + closed, func() {}},
		{"a missing keyspace", "cassandra://" + hosts + "/" + missing, "the keyspace " + missing + " does not exist: run carrel migrate",
			func() {}},
		{"another schema", store, "the schema of " + keyspace +
			" is not this program's (0001_tables.cql differs): export it with the program that made it, and import that into a new keyspace",
			func() {
				change(`UPDATE schema_version SET checksum = 'x' WHERE part = 0 AND version = 1`)
			}},
		{"no schema", store, "the keyspace " + keyspace + " has no schema: run carrel migrate", func() { change(`DROP TABLE schema_version`) }},
	} {
		c.before()
		for command, args := range map[string][]string{
			"serve":  {"serve", "--store", c.store, "--auth-hs256-file", secret, "--listen", "127.0.0.1:0"},
			"audit":  {"audit", "--store", c.store},
			"export": {"export", "--store", c.store},
			"copy":   {"copy", "--from", c.store, "--to", embedded(t)},
		} {
			t.Run(c.name+", "+command, func(t *testing.T) {
				begins := "carrel: opening the store: " + c.says
				if command == "copy" {
					begins = "carrel: copy: opening the store: " + c.says
				}
				wantOneLine(t, begins, []string{canary}, slices.Concat(args,
					[]string{"--cassandra-user", "ann", "--cassandra-password-file", password})...)
			})
		}
	}
}

// wantOneLine checks that a command fails with one line on standard error that contains no secret.
func wantOneLine(t *testing.T, begins string, secrets []string, args ...string) {
	t.Helper()
	code, out, errs := run(t, args...)
	if code != 1 || out != "" || !strings.HasPrefix(errs, begins) || strings.Count(errs, "\n") != 1 || !strings.HasSuffix(errs, "\n") {
		t.Errorf("exit %d: %q %q, want a line that starts with %q", code, out, errs, begins)
	}
	for _, secret := range secrets {
		if strings.Contains(out+errs, secret) {
			t.Errorf("it prints %q: %s", secret, errs)
		}
	}
}

// TestMigrate_DifferentReplicationIsReported: a migration does not silently change the replication
// of a keyspace to that of the flag.
func TestMigrate_DifferentReplicationIsReported(t *testing.T) {
	store := keyspace(t)
	wantOneLine(t, "carrel: migrating: the keyspace "+filepath.Base(store)+" has the replication {'class': 'NetworkTopologyStrategy', ", nil,
		"migrate", "--store", store, "--cassandra-replication", "3")
	if out := must(t, "migrate", "--store", store); out != "" {
		t.Errorf("a migration of a current schema prints %q", out)
	}
	must(t, "migrate", "--store", store, "--cassandra-replication", "1")
}

// TestSecuredCluster_IsConfiguredByFlags: flags configure what a secured node requires. If one of
// them is wrong, nothing is sent in the clear instead, although the node would accept that too.
func TestSecuredCluster_IsConfiguredByFlags(t *testing.T) {
	t.Parallel()
	c := cassandratest.StartSecured(t)
	store := "cassandra://" + strings.Join(c.Hosts, ",") + "/secured"
	right, wrong := written(t, "cassandra\n"), written(t, "a-password-that-must-not-be-printed")
	authorities, pair := []string{"--cassandra-ca", c.CA}, []string{"--cassandra-cert", c.Cert, "--cassandra-key", c.Key}
	name := []string{"--cassandra-server-name", cassandratest.SecuredName}
	with := func(command, password string, flags ...[]string) []string {
		args := []string{command, "--store", store, "--cassandra-user", "cassandra", "--cassandra-password-file", password}
		return append(args, slices.Concat(flags...)...)
	}
	must(t, with("migrate", right, authorities, pair, name, []string{"--cassandra-replication", "1"})...)
	must(t, with("audit", right, authorities, pair, name)...)
	must(t, with("audit", right, authorities, pair, []string{"--cassandra-skip-host-verification"})...)

	const noTLS, refused = "no TLS connection to the cluster at ", "the cluster at "
	for _, w := range []struct {
		name string
		args []string
		says string
	}{
		{"a wrong password", with("audit", wrong, authorities, pair, name), refused + c.Hosts[0] + " refuses the user or the password"},
		{"a stranger's authorities", with("audit", right, []string{"--cassandra-ca", c.Stranger}, pair, name), noTLS},
		{"a stranger's authorities, any name", with("audit", right,
			[]string{"--cassandra-ca", c.Stranger, "--cassandra-skip-host-verification"}, pair), noTLS},
		{"the address for a name", with("audit", right, authorities, pair), noTLS},
		{"a name alone", with("audit", right, name), noTLS},
		{"any name, of the system's authorities", with("audit", right, []string{"--cassandra-skip-host-verification"}), noTLS},
		{"no certificate of ours", with("audit", right, authorities, name), noTLS},
	} {
		t.Run(w.name, func(t *testing.T) {
			wantOneLine(t, "carrel: opening the store: "+w.says, []string{"a-password-that-must-not-be-printed"}, w.args...)
		})
	}
}
