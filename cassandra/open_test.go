package cassandra

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gocql/gocql"

	"carrel/cassandra/cassandratest"
	"carrel/cassandra/session"
	"carrel/core/fault"
	"carrel/library"
)

// oneLine checks that an error for operators has one line and the code Unavailable.
func oneLine(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", want)
	}
	var shown *fault.Error
	if !errors.As(err, &shown) || shown.Code != fault.Unavailable {
		t.Fatalf("not a fault.Error: %v", err)
	}
	if !strings.Contains(shown.Msg, want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %q, want %q in it", err, want)
	}
}

func TestOptions_InvalidAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(file, []byte("not PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		o    session.Options
		want string
	}{
		{"no hosts", session.Options{Keyspace: "k"}, "at least one node"},
		{"an empty host", session.Options{Hosts: []string{"a", ""}, Keyspace: "k"}, "at least one node"},
		{"no keyspace", session.Options{Hosts: []string{"a"}}, "keyspace"},
		{"a keyspace that is a statement", session.Options{Hosts: []string{"a"}, Keyspace: "k; DROP"}, "keyspace"},
		{"a data centre that is a statement", session.Options{Hosts: []string{"a"}, Keyspace: "k", Replication: map[string]int{"dc'": 1}},
			"replication"},
		{"no replicas", session.Options{Hosts: []string{"a"}, Keyspace: "k", Replication: map[string]int{"dc1": 0}}, "replication"},
		{"a negative timeout", session.Options{Hosts: []string{"a"}, Keyspace: "k", Timeout: -time.Second}, "the timeout of a request is -1s"},
		{"a key without its certificate", session.Options{Hosts: []string{"a"}, Keyspace: "k", TLS: &session.TLS{KeyFile: file}},
			"a client certificate needs its key"},
		{"a certificate without its key", session.Options{Hosts: []string{"a"}, Keyspace: "k", TLS: &session.TLS{CertFile: file}},
			"a client certificate needs its key"},
		{"authorities that are missing", session.Options{Hosts: []string{"a"}, Keyspace: "k", TLS: &session.TLS{CAFile: file + "x"}},
			"cannot be read"},
		{"a CA file without certificates", session.Options{Hosts: []string{"a"}, Keyspace: "k", TLS: &session.TLS{CAFile: file}},
			"no certificate"},
		{"a pair of invalid files", session.Options{Hosts: []string{"a"}, Keyspace: "k", TLS: &session.TLS{CertFile: file, KeyFile: file}},
			"cannot be used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(t.Context(), c.o)
			oneLine(t, err, c.want)
			oneLine(t, Migrate(t.Context(), c.o, nil), c.want)
		})
	}
}

func TestOpen_UnreachableClusterIsReported(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), session.Options{Hosts: []string{address}, Keyspace: "k"})
	oneLine(t, err, "no node of the cluster answers at "+address)
}

// TestOpen_IsRetriedOnOtherNodes: a node that fails while the driver reads the topology through it
// does not keep a gateway from starting.
func TestOpen_IsRetriedOnOtherNodes(t *testing.T) {
	o := options(t)
	for _, hangs := range []int{
		1, // a second session is opened, and finds that the keyspace exists
		2, // the second session fails too
	} {
		n := newSlowNode(t, o.Hosts[0])
		n.mu.Lock()
		n.hangs = hangs
		n.mu.Unlock()
		through := o
		through.Hosts = []string{n.address}
		open(t, through)
	}
}

// refusals counts the answers of a node that are errors.
type refusals struct{ seen, frames atomic.Int64 }

func (r *refusals) ObserveFrameHeader(_ context.Context, h gocql.ObservedFrameHeader) {
	const opError = 0
	if r.frames.Add(1); h.Opcode == opError {
		r.seen.Add(1)
	}
}

// TestOpen_SendsNothingThatIsRefused: opening a session sends no statement that a node refuses. The
// driver alone would send some for each node, one after the other.
func TestOpen_SendsNothingThatIsRefused(t *testing.T) {
	o := options(t)
	cfg, err := o.Configure(o.Keyspace)
	if err != nil {
		t.Fatal(err)
	}
	r := &refusals{}
	cfg.FrameHeaderObserver = r
	connected, err := cfg.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer connected.Close()
	if r.seen.Load() != 0 || r.frames.Load() < 10 {
		t.Errorf("%d of %d answers are errors", r.seen.Load(), r.frames.Load())
	}
}

func TestOpen_NeedsTheSchemaOfThisProgram(t *testing.T) {
	o := session.Options{Hosts: node.Hosts(t), Keyspace: node.NewKeyspace(t), Replication: map[string]int{"": 1}}
	_, err := Open(t.Context(), o)
	oneLine(t, err, "does not exist: run carrel migrate")

	// Several concurrent migrations create one schema.
	var wait sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		wait.Go(func() { errs[i] = Migrate(t.Context(), o, nil) })
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("migration %d at the same time as others: %v", i, err)
		}
	}
	var steps []string
	if err := Migrate(t.Context(), o, func(step string) { steps = append(steps, step) }); err != nil || len(steps) != 0 {
		t.Fatalf("a repeated migration reports the steps %q, %v", steps, err)
	}
	s := open(t, o)
	for _, same := range []map[string]int{nil, {"dc1": 1}} {
		o := o
		o.Replication = same
		if err := Migrate(t.Context(), o, nil); err != nil {
			t.Errorf("the existing replication is refused: %v", err)
		}
	}
	for _, other := range []map[string]int{{"": 3}, {"dc1": 1, "dc2": 1}} {
		o := o
		o.Replication = other
		oneLine(t, Migrate(t.Context(), o, nil), "has the replication {'class': 'NetworkTopologyStrategy', 'dc1': 1}")
	}

	version := func(stmt string, args ...any) {
		t.Helper()
		if err := s.session.Driver().Query(stmt, args...).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	const another = "is not this program's (0001_tables.cql differs): export it with the program that made it, and " +
		"import that into a new keyspace"
	version("UPDATE schema_version SET checksum = 'x' WHERE part = 0 AND version = 1")
	_, err = Open(t.Context(), o)
	oneLine(t, err, another)
	oneLine(t, Migrate(t.Context(), o, nil), another)
	version("DELETE FROM schema_version WHERE part = 0 AND version IN (1, 2)")
	_, err = Open(t.Context(), o)
	oneLine(t, err, "has no schema: run carrel migrate")
	version("DROP TABLE schema_version")
	_, err = Open(t.Context(), o)
	oneLine(t, err, "has no schema: run carrel migrate")
}

// laterSchema returns the migrations of a made-up later program: those of this one, and one that
// adds a column and a table.
func laterSchema(t *testing.T) []migration {
	t.Helper()
	files := fstest.MapFS{"schema/0003_colours.cql": {Data: []byte(`-- A comment; with a semicolon.
ALTER TABLE content ADD IF NOT EXISTS colour text;
CREATE TABLE IF NOT EXISTS colour (name text PRIMARY KEY);
`)}}
	mine, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mine {
		text, err := schemaFiles.ReadFile("schema/" + m.name)
		if err != nil {
			t.Fatal(err)
		}
		files["schema/"+m.name] = &fstest.MapFile{Data: text}
	}
	all, err := migrationsOf(files)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d migrations, %v", len(all), err)
	}
	return all
}

// TestMigrate_AppliesALaterMigration migrates a keyspace of this program, with data, to a later
// schema. Both programs can use it then.
func TestMigrate_AppliesALaterMigration(t *testing.T) {
	o := ownOptions(t)
	s := open(t, o)
	mustCommit(t, s, creation("c:t:x", s.now()))
	later := laterSchema(t)
	oneLine(t, s.checkSchema(t.Context(), o.Keyspace, later), "is of version 2 and this program needs 3: run carrel migrate")
	for _, want := range [][]string{{"schema 0003_colours.cql"}, nil} {
		var steps []string
		err := migrate(t.Context(), o, later, func(step string) { steps = append(steps, step) })
		if err != nil || !slices.Equal(steps, want) {
			t.Fatalf("the migration reports the steps %q, want %q; %v", steps, want, err)
		}
	}
	if err := s.checkSchema(t.Context(), o.Keyspace, later); err != nil {
		t.Error(err)
	}
	for _, stmt := range []string{
		"UPDATE content SET colour = 'red' WHERE content_id = 'c:t:y' AND kind = 0 AND key = '~'", "INSERT INTO colour (name) VALUES ('red')",
	} {
		exec(t, s, stmt)
	}
	rows, err := open(t, o).Contents.Read(t.Context(), "c:t:x", library.ContentQuery{})
	if err != nil || rows.Header.Title != "Title" {
		t.Errorf("the item is %+v, %v", rows, err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("a gateway that runs meanwhile: %v", err)
	}
	exec(t, s, "UPDATE schema_version SET checksum = 'x' WHERE part = 0 AND version = 3")
	oneLine(t, migrate(t.Context(), o, later, nil), "(0003_colours.cql differs)")
}

func TestMigrations_AreNumberedFromOne(t *testing.T) {
	for _, names := range [][]string{{"0002_b.cql"}, {"0001_a.cql", "0001_b.cql"}, {"0001_a.cql", "0003_b.cql"}, {"a.cql"}} {
		files := fstest.MapFS{}
		for _, name := range names {
			files["schema/"+name] = &fstest.MapFile{}
		}
		if _, err := migrationsOf(files); err == nil || !strings.Contains(err.Error(), "its number must be") {
			t.Errorf("%q: %v", names, err)
		}
	}
}

// TestMigrate_KeepsItsClaimOrEnds: a migration renews its claim while it runs. Without the claim it
// changes nothing more, because another migration may be running.
func TestMigrate_KeepsItsClaimOrEnds(t *testing.T) {
	o := session.Options{Hosts: node.Hosts(t), Keyspace: node.NewKeyspace(t), Replication: map[string]int{"": 1}}
	var mine *session.Session
	var steps []string
	const longer = 600 // seconds, so that even a slow test sees it shortened
	err := migrate(t.Context(), o, laterSchema(t), func(step string) {
		if !strings.HasPrefix(step, "schema ") {
			return
		}
		steps = append(steps, step)
		switch len(steps) {
		case 1:
			var err error
			if mine, err = session.Connect(t.Context(), &o, o.Keyspace); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(mine.Close)
			_, current, err := mine.DecideOne(t.Context(), "look", unclaim, "nobody")
			if err != nil {
				t.Fatal(err)
			}
			owner := current["name"]
			applied, _, err := mine.DecideOne(t.Context(), "lengthen",
				fmt.Sprintf("UPDATE schema_version USING TTL %d SET name = ? WHERE part = 0 AND version = 0 IF name = ?", longer), owner, owner)
			if err != nil || !applied {
				t.Fatalf("the claim cannot be extended: %v", err)
			}
		case 2:
			var left int
			if err := mine.Driver().Query("SELECT TTL(name) FROM schema_version WHERE part = 0 AND version = 0").Scan(&left); err != nil ||
				left > 120 {
				t.Errorf("the claim was not renewed: it ends in %d s, %v", left, err)
			}
			if err := mine.Driver().Query("DELETE FROM schema_version WHERE part = 0 AND version = 0 IF EXISTS").Exec(); err != nil {
				t.Fatal(err)
			}
		}
	})
	oneLine(t, err, "its claim of the schema has expired")
	if len(steps) != 2 {
		t.Errorf("without a claim it reports the steps %q", steps)
	}
	done, err := newStore(mine).versions(t.Context(), true)
	if err != nil || len(done) != 1 {
		t.Errorf("the applied migrations are %v, %v", done, err)
	}
	if err := Migrate(t.Context(), o, nil); err != nil {
		t.Errorf("it cannot be repeated: %v", err)
	}
	open(t, o)
}

// TestOpen_SeveralDataCentresNeedAName: with several data centres, a migration and a gateway must
// know whose nodes make decisions before anything is decided.
func TestOpen_SeveralDataCentresNeedAName(t *testing.T) {
	t.Parallel()
	c, err := cassandratest.StartWith(t.Context(), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	o := session.Options{Hosts: c.Hosts, Keyspace: "several", Replication: map[string]int{"dc1": 1}}
	s, err := session.Connect(t.Context(), &o, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Driver().Query("INSERT INTO system.peers (peer, data_center) VALUES ('127.255.255.254', 'elsewhere')").Exec(); err != nil {
		t.Fatal(err)
	}
	const want = "the cluster has the data centres dc1, elsewhere: configure the one that this process uses"
	oneLine(t, Migrate(t.Context(), o, nil), want)
	if made, err := s.ReadTexts(t.Context(), "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?",
		o.Keyspace); err != nil || len(made) > 0 {
		t.Errorf("a keyspace was created: %v, %v", made, err)
	}
	named := o
	named.DataCentre = "dc1"
	if err := Migrate(t.Context(), named, nil); err != nil {
		t.Fatal(err)
	}
	open(t, named)
	_, err = Open(t.Context(), o)
	oneLine(t, err, want)
}

func TestOpen_UnknownDataCentreIsRefused(t *testing.T) {
	o := options(t)
	o.DataCentre = "dc1"
	open(t, o)
	o.DataCentre = "elsewhere"
	_, err := Open(t.Context(), o)
	oneLine(t, err, "elsewhere")
}

func TestStore_ClosedStoreIsUnavailable(t *testing.T) {
	s, err := Open(t.Context(), options(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = s.Contents.Read(t.Context(), "c:t:x", library.ContentQuery{})
	if fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a reading: %v", err)
	}
	_, err = s.Contents.Commit(t.Context(), creation("c:t:x", someTime))
	if fault.CodeOf(err) != fault.Unavailable || fault.MayHaveCommitted(err) {
		t.Errorf("a commit: %v", err)
	}
}

func TestMigrations_OnlyAddAndCanBeRepeated(t *testing.T) {
	all, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if len(m.statements) == 0 || len(m.checksum) != 64 {
			t.Errorf("%s: %d statements, checksum %q", m.name, len(m.statements), m.checksum)
		}
		for _, stmt := range m.statements {
			adds := strings.HasPrefix(stmt, "CREATE TABLE IF NOT EXISTS ") || strings.HasPrefix(stmt, "ALTER TABLE ") &&
				strings.Contains(stmt, " ADD IF NOT EXISTS ")
			if !adds {
				t.Errorf("%s: %q does not only add, or cannot be repeated", m.name, stmt)
			}
		}
	}
}
