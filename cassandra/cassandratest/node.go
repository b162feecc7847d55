package cassandratest

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"text/template"
	"time"
)

//go:embed cassandra.yaml.tmpl
var yaml string

//go:embed logback.xml
var logback []byte

// Modules that Java 17 encapsulates and Cassandra 5.0 accesses.
var (
	exported = []string{
		"java.base/jdk.internal.misc", "java.base/java.lang.ref", "java.management.rmi/com.sun.jmx.remote.internal.rmi",
		"java.rmi/sun.rmi.registry", "java.rmi/sun.rmi.server", "java.sql/java.sql", "jdk.unsupported/sun.misc",
		"jdk.compiler/com.sun.tools.javac.file", "jdk.attach/sun.tools.attach",
	}
	opened = []string{
		"java.base/java.lang.module", "java.base/jdk.internal.loader", "java.base/jdk.internal.ref",
		"java.base/jdk.internal.reflect", "java.base/jdk.internal.math", "java.base/jdk.internal.module",
		"java.base/jdk.internal.util.jar", "java.base/sun.nio.ch", "java.base/java.io", "java.base/java.lang",
		"java.base/java.lang.reflect", "java.base/java.util",
		"jdk.management/com.sun.management.internal", "jdk.compiler/com.sun.tools.javac",
	}
)

// node is one Cassandra process, which may not be running.
type node struct {
	java, lib string
	dir       string
	address   string
	classes   string // the argument of Java about the archive of classes
	forgetful bool   // as in settings
	process   *os.Process
	ended     chan struct{} // closed when the process has ended; nil before the first start
	how       string        // how it ended; read after ended is closed
	wanted    atomic.Bool   // its end is expected
}

// settings are the values for the template of cassandra.yaml.
type settings struct {
	Token, Address, Seeds, Dir, Lines string
	// Durable: acknowledged writes are synced in the commit log.
	Durable bool
	// Forgetful: the node may lose its tables when it is killed.
	Forgetful bool
	// Tombstones is Cassandra's tombstone_failure_threshold: a read that meets more tombstones fails.
	// Cluster.start replaces 0 by defaultTombstones.
	Tombstones int
	classes    string // as in node
}

// newNode writes the node's configuration into its own directory.
func newNode(java, lib, dir string, n int, s settings) (*node, error) {
	s.Dir = dir
	conf := filepath.Join(dir, "conf")
	for _, folder := range []string{conf, temporary(dir)} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	var text bytes.Buffer
	if err := template.Must(template.New("cassandra.yaml").Parse(yaml)).Execute(&text, s); err != nil {
		return nil, err
	}
	for name, content := range map[string][]byte{
		"cassandra.yaml":              text.Bytes(),
		"logback.xml":                 logback,
		"cassandra-rackdc.properties": fmt.Appendf(nil, "dc=dc1\nrack=r%d\n", n+1),
	} {
		if err := os.WriteFile(filepath.Join(conf, name), content, 0o644); err != nil {
			return nil, err
		}
	}
	return &node{java: java, lib: lib, dir: dir, address: s.Address, classes: s.classes, forgetful: s.Forgetful}, nil
}

// temporary returns the folder for the temporary files of a node in dir. A killed node does not
// remove them, so they are removed with dir.
func temporary(dir string) string { return filepath.Join(dir, "tmp") }

// arguments returns the arguments of the Java process.
func (n *node) arguments() ([]string, error) {
	agents, err := filepath.Glob(filepath.Join(n.lib, "jamm-*.jar"))
	if err != nil || len(agents) != 1 {
		return nil, fmt.Errorf("the folder %s is incomplete: remove it to download it again", n.lib)
	}
	conf := filepath.Join(n.dir, "conf")
	args := []string{
		"-Xms512m", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError",
		"-javaagent:" + agents[0],
		"-Dcassandra.config=file://" + filepath.Join(conf, "cassandra.yaml"),
		"-Dlogback.configurationFile=file://" + filepath.Join(conf, "logback.xml"),
		"-Dcassandra-rackdc.properties=file://" + filepath.Join(conf, "cassandra-rackdc.properties"),
		"-Dcassandra.storagedir=" + n.dir,
		"-Dcassandra-foreground=yes",
		"-Djava.io.tmpdir=" + temporary(n.dir), "-XX:-UsePerfData",
		// A node need not wait for gossip to settle: AwaitAll waits until the nodes see each other.
		"-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.ring_delay_ms=1000",
		// With a delay of 0, a node that waits for others tries to make its role all the time.
		"-Dcassandra.superuser_setup_delay_ms=100",
		// An idle node takes 2 % of a core to read its clock every 2 ms.
		"-Dcassandra.approximate_time_precision_ms=20",
		"-Dcassandra.consistent.rangemovement=false",
		"-Djdk.attach.allowAttachSelf=true", "-Djava.net.preferIPv4Stack=true",
		// Java uses an archive of classes beside an agent only with this option.
		"-XX:+UnlockDiagnosticVMOptions", "-XX:+AllowArchivingWithJavaAgent", n.classes,
	}
	if n.forgetful {
		// Each test creates a keyspace. That takes a quarter of the time if the schema tables are
		// not flushed after each statement; they are in the commit log anyway.
		args = append(args, "-Dcassandra.test.flush_local_schema_changes=false")
	}
	for _, e := range exported {
		args = append(args, "--add-exports", e+"=ALL-UNNAMED")
	}
	for _, o := range opened {
		args = append(args, "--add-opens", o+"=ALL-UNNAMED")
	}
	// The archive of classes is valid for this class path only, so it is the same for all nodes.
	return append(args, "-cp", filepath.Join(n.lib, "*"), "org.apache.cassandra.service.CassandraDaemon"), nil
}

// start starts the process. It does not wait until the node answers.
func (n *node) start() error {
	args, err := n.arguments()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(n.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	cmd := exec.Command(n.java, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, log, log
	cmd.SysProcAttr = attributes()
	started, ended := make(chan error), make(chan struct{})
	n.wanted.Store(false)
	go func() {
		// The kernel ends the node when the thread that started it ends, so a separate thread lives
		// as long as the node.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		_ = log.Close()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the process state has the same information
			n.how = cmd.ProcessState.String()
		}
	}()
	if err := <-started; err != nil {
		<-ended
		return fmt.Errorf("starting Cassandra: %w", err)
	}
	n.process, n.ended = cmd.Process, ended
	return os.WriteFile(filepath.Join(n.dir, pidFile), strconv.AppendInt(nil, int64(n.process.Pid), 10), 0o644)
}

func (n *node) logFile() string { return filepath.Join(n.dir, "system.log") }

// running reports whether the process is running.
func (n *node) running() bool {
	if n.ended == nil {
		return false
	}
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

// signal sends a signal to the node's process.
func (n *node) signal(s syscall.Signal) error {
	if !n.running() {
		return errors.Join(fmt.Errorf("the node %s is not running", n.address), n.lost())
	}
	return n.process.Signal(s)
}

// pause stops the process and waits until all its threads have stopped.
func (n *node) pause(timeout time.Duration) error {
	if err := n.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for {
		if stopped, err := paused(n.process.Pid); err != nil || stopped {
			return err
		}
		select {
		case <-ticks.C:
		case <-limit.C:
			return fmt.Errorf("the node %s did not stop within %s", n.address, timeout)
		}
	}
}

// end stops the process, if it runs, and waits for it. It kills the process if that takes longer
// than timeout. It fails if the process had ended unexpectedly.
func (n *node) end(s syscall.Signal, timeout time.Duration) error {
	if err := n.lost(); err != nil {
		n.wanted.Store(true) // this end is expected
		return err
	}
	n.wanted.Store(true)
	if !n.running() {
		return nil
	}
	if err := n.process.Signal(s); err != nil && n.running() {
		return err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-n.ended:
		return nil
	case <-timer.C:
	}
	if err := n.process.Kill(); err != nil && n.running() {
		return err
	}
	<-n.ended
	return nil
}

// awaitAnswer waits until the node answers a query.
func (n *node) awaitAnswer(ctx context.Context) error {
	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()
	for {
		err := ask(ctx, n.address, "SELECT release_version FROM system.local", false)
		if err == nil {
			return nil
		}
		select {
		case <-n.ended:
			n.wanted.Store(true) // reported here
			return fmt.Errorf("the node %s ended before it answered (%s): %s", n.address, n.how, n.lastError())
		case <-ctx.Done():
			return fmt.Errorf("the node %s did not answer in time (%w): %s", n.address, err, n.lastError())
		case <-ticks.C:
		}
	}
}
