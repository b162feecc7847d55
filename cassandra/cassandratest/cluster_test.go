package cassandratest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"go.uber.org/goleak"
)

// asOwner makes this test binary start a node and wait instead of running its tests.
const asOwner = "CASSANDRATEST_START_AND_WAIT"

func TestMain(m *testing.M) {
	if os.Getenv(asOwner) != "" {
		startAndWait()
	}
	// After it was closed, the driver still waits for schema agreement for a while.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/gocql/gocql.(*controlConn).awaitSchemaAgreement"))
}

// startAndWait starts a node, prints its directory and process id, and waits
// to be killed.
func startAndWait() {
	c, err := Start(context.Background(), 1)
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("started", c.dir, c.nodes[0].process.Pid)
	select {}
}

// start starts a cluster that is stopped at the end of the test.
func start(t *testing.T, nodes int) *Cluster {
	t.Helper()
	t.Setenv("CASSANDRA_HOSTS", "")
	c, err := Start(t.Context(), nodes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// session connects to a cluster and requires two of three replicas.
func session(t *testing.T, c *Cluster) *gocql.Session {
	t.Helper()
	cfg := gocql.NewCluster(c.Hosts...)
	cfg.ProtoVersion = 4
	cfg.Consistency = gocql.Quorum
	cfg.ReconnectInterval = time.Second
	// When a node comes up, the driver would sleep 10 s before it uses the node, even after the
	// session is closed.
	cfg.Events.DisableNodeStatusEvents = true
	cfg.Logger = silent{}
	s, err := cfg.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// run runs a statement and retries while nodes restart.
func run(t *testing.T, s *gocql.Session, stmt string, dest ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()
	for {
		q := s.Query(stmt).WithContext(ctx)
		err := q.Exec()
		if len(dest) > 0 {
			err = q.Scan(dest...)
		}
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", stmt, err)
		case <-ticks.C:
		}
	}
}

func TestStart_OneNodeCanBePausedRestartedAndKilled(t *testing.T) {
	c := start(t, 1)
	s := session(t, c)
	run(t, s, "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
	run(t, s, "CREATE TABLE k.t (id int PRIMARY KEY, v int)")
	run(t, s, "INSERT INTO k.t (id, v) VALUES (1, 7)")

	if err := c.Pause(0); err != nil {
		t.Fatal(err)
	}
	if stopped, err := paused(c.nodes[0].process.Pid); err != nil || !stopped {
		t.Errorf("a paused node has stopped: %v, %v", stopped, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.Query("SELECT v FROM k.t WHERE id = 1").WithContext(ctx).Exec(); err == nil {
		t.Error("a paused node answers")
	}
	if err := c.Resume(0); err != nil {
		t.Fatal(err)
	}
	if stopped, err := paused(c.nodes[0].process.Pid); err != nil || stopped {
		t.Errorf("a node that goes on has stopped: %v, %v", stopped, err)
	}
	var v int
	run(t, s, "SELECT v FROM k.t WHERE id = 1", &v)
	if err := c.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	v = 0
	if run(t, s, "SELECT v FROM k.t WHERE id = 1", &v); v != 7 {
		t.Errorf("v is %d after a restart", v)
	}

	// Java starts without the archive of classes if it cannot use it, and says nothing.
	pid := c.nodes[0].process.Pid
	_, archive, _ := strings.Cut(commandOf(pid), "-XX:SharedArchiveFile=")
	if archive, _, _ = strings.Cut(archive, ".jsa"); archive == "" {
		t.Error("the node has no archive of classes")
	}
	if maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid)); err == nil && !strings.Contains(string(maps), archive) {
		t.Errorf("the node does not use the archive of classes %s", archive)
	}

	// The temporary files of a node are removed, even if it is killed.
	dir, n := c.dir, c.nodes[0]
	if unpacked, err := os.ReadDir(temporary(n.dir)); err != nil || len(unpacked) == 0 {
		t.Errorf("the temporary files of a node: %v, %v", unpacked, err)
	}
	if err := c.Kill(0); err != nil {
		t.Fatal(err)
	}
	if n.running() || c.Pause(0) == nil {
		t.Error("a killed node still runs")
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of a stopped cluster: %v", err)
	}
}

// TestShared_KeyspaceIsDroppedAfterItsTest: a keyspace is dropped at the end of its test, and a
// node that ends unexpectedly is reported with the end of its log.
func TestShared_KeyspaceIsDroppedAfterItsTest(t *testing.T) {
	t.Setenv("CASSANDRA_HOSTS", "")
	var shared Shared
	hosts := shared.Hosts(t)
	s := session(t, &Cluster{Hosts: hosts})
	t.Run("a keyspace that was made", func(t *testing.T) {
		run(t, s, "CREATE KEYSPACE "+shared.NewKeyspace(t)+" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
	})
	t.Run("a keyspace that was not", func(t *testing.T) { shared.NewKeyspace(t) })
	var left int
	if run(t, s, "SELECT count(*) FROM system_schema.keyspaces", &left); left != ownKeyspaces {
		t.Errorf("there are %d keyspaces, want only Cassandra's own", left)
	}

	keyspacesAreUsedAgain(t, &shared, s)

	n := shared.cluster.nodes[0]
	if err := shared.cluster.Lost(); err != nil {
		t.Errorf("a running node is reported as lost: %v", err)
	}
	if err := os.WriteFile(filepath.Join(n.dir, "hs_err_pid7.log"), []byte("# SIGSEGV (0xb)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := n.process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-n.ended
	log := lines(n.logFile())
	lost, pause, reported, again := shared.cluster.Lost(), shared.cluster.Pause(0), shared.reportLost(), shared.reportLost()
	for name, err := range map[string]error{"Lost": lost, "Pause": pause, "a test": reported, "Stop": shared.Stop()} {
		for _, want := range []string{"ended by itself: signal: killed", string(log[len(log)-1]), "# SIGSEGV (0xb)"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s does not contain %q: %v", name, want, err)
			}
		}
	}
	if again != nil {
		t.Errorf("the loss is reported to another test too: %v", again)
	}
}

// keyspacesAreUsedAgain checks that the next test uses the keyspace of the former one with empty
// tables, and that tests at the same time use different ones.
func keyspacesAreUsedAgain(t *testing.T, shared *Shared, s *gocql.Session) {
	t.Helper()
	var former string
	t.Run("a test that makes tables", func(t *testing.T) {
		former = shared.Keyspace(t)
		run(t, s, "CREATE KEYSPACE "+former+" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
		run(t, s, "CREATE TABLE "+former+".schema_version (part tinyint, version int, checksum text, PRIMARY KEY ((part), version))")
		run(t, s, "INSERT INTO "+former+".schema_version (part, version, checksum) VALUES (0, 1, 'x')")
		run(t, s, "CREATE TABLE "+former+".t (id int PRIMARY KEY, v int)")
		// Rows of the future would hide those of the next test if they were deleted.
		run(t, s, "INSERT INTO "+former+".t (id, v) VALUES (1, 1) USING TIMESTAMP 9000000000000000")
	})
	t.Run("the next test", func(t *testing.T) {
		if got := shared.Keyspace(t); got != former {
			t.Errorf("it uses %s, want %s", got, former)
		}
		if got := shared.Keyspace(t); got == former {
			t.Errorf("two tests use %s", got)
		}
		var rows, migrations int
		run(t, s, "SELECT count(*) FROM "+former+".t", &rows)
		run(t, s, "SELECT count(*) FROM "+former+".schema_version", &migrations)
		if rows != 0 || migrations != 1 {
			t.Errorf("%d rows and %d migrations are left, want 0 and 1", rows, migrations)
		}
		run(t, s, "INSERT INTO "+former+".t (id, v) VALUES (1, 2)")
		if run(t, s, "SELECT v FROM "+former+".t WHERE id = 1", &rows); rows != 2 {
			t.Errorf("the row is %d, want 2", rows)
		}
	})
	if t.Failed() {
		return // the keyspace may be gone, and run would wait for it
	}
	host := shared.Hosts(t)[0]
	const version = "UPDATE %s.schema_version SET checksum = '%s' WHERE part = 0 AND version = 1"
	for change, undo := range map[string]string{
		"ALTER TABLE " + former + ".t ADD w int": "ALTER TABLE " + former + ".t DROP w",
		fmt.Sprintf(version, former, "y"):        fmt.Sprintf(version, former, "x"),
	} {
		run(t, s, change)
		if err := shared.giveBack(t, host, former); err == nil || !strings.Contains(err.Error(), "NewKeyspace") {
			t.Errorf("after %q the keyspace is used again: %v", change, err)
		}
		run(t, s, undo)
	}
}

// ownKeyspaces is the number of keyspaces in system_schema.keyspaces on an empty node.
const ownKeyspaces = 5

// TestStart_ThreeNodesTolerateOneFailure: any one of three nodes may be down, and nodes restart in
// any order.
func TestStart_ThreeNodesTolerateOneFailure(t *testing.T) {
	c := start(t, 3)
	s := session(t, c)
	run(t, s, "CREATE KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 3}")
	run(t, s, "CREATE TABLE k.t (id int PRIMARY KEY, v int)")
	if err := c.Kill(0); err != nil {
		t.Fatal(err)
	}
	run(t, s, "INSERT INTO k.t (id, v) VALUES (1, 7)")
	if err := c.Restart(t.Context(), 1); err != nil {
		t.Fatalf("a node restarts while the first one is down: %v", err)
	}
	run(t, s, "INSERT INTO k.t (id, v) VALUES (1, 8)")
	for i := 1; i < 3; i++ {
		if err := c.Kill(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Restart(t.Context(), 2, 1); err != nil {
		t.Fatalf("two nodes restart first: %v", err)
	}
	run(t, s, "INSERT INTO k.t (id, v) VALUES (1, 9)")
	if err := c.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := 0
	if run(t, s, "SELECT v FROM k.t WHERE id = 1", &v); v != 9 {
		t.Errorf("v is %d, want 9", v)
	}
}

// TestStart_RemovesOrphanedNodes: a node ends when its starter is killed, and the next start
// removes its files.
func TestStart_RemovesOrphanedNodes(t *testing.T) {
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), asOwner+"=1", "CASSANDRA_HOSTS=")
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var dir string
	var pid int
	if _, err := fmt.Sscanf(line, "started %s %d", &dir, &pid); err != nil {
		t.Fatalf("the owner printed %q", line)
	}
	if !strings.Contains(commandOf(pid), dir) {
		t.Fatalf("process %d is not the node in %s", pid, dir)
	}
	if err := sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ownerFile)); err != nil {
		t.Fatalf("a cluster with a live owner was removed: %v", err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // it was killed
	if err := sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of a dead owner: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for strings.Contains(commandOf(pid), dir) {
		select {
		case <-ctx.Done():
			t.Fatal("the node of a dead owner still runs")
		case <-ticks.C:
		}
	}
}

func TestStart_ReportsWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes int
		env   map[string]string
		want  string
	}{
		{"two nodes", 2, nil, "1 or 3 nodes"},
		{"no Java", 1, map[string]string{"PATH": t.TempDir(), "JAVA_HOME": ""}, "install openjdk-17-jre-headless"},
		{"a JAVA_HOME without Java", 1, map[string]string{"JAVA_HOME": t.TempDir()}, "install openjdk-17-jre-headless"},
		{"another Java", 1, map[string]string{"JAVA_HOME": otherJava(t)}, "openjdk version \"21.0.1\""},
		{"no Maven", 1, map[string]string{"JAVA_HOME": javaHome(t), "PATH": t.TempDir(), "XDG_CACHE_HOME": t.TempDir(), "HOME": t.TempDir()},
			"install maven"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("CASSANDRA_HOSTS", "")
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			_, err := Start(t.Context(), c.nodes)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, want %q in one line", err, c.want)
			}
		})
	}
}

// otherJava returns the home of a fake Java of another version.
func otherJava(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho 'openjdk version \"21.0.1\" 2023-10-17' >&2\n"
	if err := os.WriteFile(filepath.Join(home, "bin", "java"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return home
}

// javaHome returns the home of the Java on this machine.
func javaHome(t *testing.T) string {
	t.Helper()
	java, err := javaPath(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if java, err = filepath.EvalSymlinks(java); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(java))
}

func TestStart_ExternalClusterIsNotControlled(t *testing.T) {
	t.Setenv("CASSANDRA_HOSTS", "127.0.0.9,127.0.0.10")
	c, err := Start(t.Context(), 3)
	if err != nil || len(c.Hosts) != 2 || c.Owned() {
		t.Fatalf("%+v, %v", c, err)
	}
	for name, err := range map[string]error{"Kill": c.Kill(0), "Pause": c.Pause(1), "Restart": c.Restart(t.Context(), 0)} {
		if !errors.Is(err, errNotOwned) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}
