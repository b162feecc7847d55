package scenario

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/cassandra"
	"carrel/cassandra/cassandratest"
	"carrel/cassandra/session"
)

// Every wait of these tests is bounded, generously enough for any machine.
const (
	startTimeout = 5 * time.Minute
	stopTimeout  = 5 * time.Minute
	runTimeout   = 10 * time.Minute
	answerWithin = 2 * time.Minute
)

var (
	// node is shared by all tests of this package.
	node cassandratest.Shared
	// product is the built binary. TestMain sets it.
	product string
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "carrel-scenario-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	product = filepath.Join(dir, "carrel")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", product, "carrel")
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
	os.Exit(code)
}

// keyspace returns the name for the command line of a keyspace whose tables are empty.
func keyspace(t *testing.T) string {
	t.Helper()
	return migrated(t, node.Keyspace(t))
}

// migrated creates the tables of a keyspace with carrel migrate, as an operator does, and returns
// its name for the command line.
func migrated(t *testing.T, name string) string {
	t.Helper()
	store := "cassandra://" + strings.Join(node.Hosts(t), ",") + "/" + name
	must(t, "migrate", "--store", store, "--cassandra-replication", "1")
	return store
}

// embedded returns the name of a store that does not exist yet.
func embedded(t *testing.T) string { return "pebble:" + filepath.Join(t.TempDir(), "store") }

// opened opens a keyspace in this process.
func opened(t *testing.T, store string) *cassandra.Store {
	t.Helper()
	hosts, name, _ := strings.Cut(strings.TrimPrefix(store, "cassandra://"), "/")
	s, err := cassandra.Open(t.Context(), session.Options{Hosts: strings.Split(hosts, ","), Keyspace: name})
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

// run runs a command and waits for its end.
func run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	c := begin(t, args...)
	c.wait(runTimeout)
	return c.cmd.ProcessState.ExitCode(), c.out.String(), c.errs.String()
}

// must is run for a command that must succeed. It returns standard output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := run(t, args...)
	if code != 0 {
		t.Fatalf("carrel %s: exit %d\n%s\n%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// process is a running command.
type process struct {
	t         *testing.T
	cmd       *exec.Cmd
	out, errs bytes.Buffer
	exited    chan struct{}
}

// begin starts a command, which is killed at the end of the test if it still runs.
func begin(t *testing.T, args ...string) *process {
	t.Helper()
	c := &process{t: t, cmd: exec.Command(product, args...), exited: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.errs
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.exited)
		_ = c.cmd.Wait() // the state has the result
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.exited
	})
	return c
}

// wait waits until the process has ended.
func (c *process) wait(within time.Duration) {
	c.t.Helper()
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-c.exited:
	case <-limit.C:
		c.t.Fatalf("%v has not ended within %s", c.cmd.Args, within)
	}
}

// running reports whether the process is running.
func (c *process) running() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// gateway is a process that runs carrel serve.
type gateway struct {
	*process
	url string
}

// serve starts a gateway and waits until it prints its address.
func serve(t *testing.T, store, host string) *gateway {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a secret of at least thirty-two bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	c := &process{t: t, exited: make(chan struct{})}
	c.cmd = exec.Command(product, "serve", "--listen", "127.0.0.1:0", "--store", store, "--auth-hs256-file", secret, "--host-id", host)
	c.cmd.Stdout, c.cmd.Stderr = w, &c.errs
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.exited)
		_ = c.cmd.Wait()
		_ = w.Close() // of an in-memory pipe
	}()
	first := make(chan string, 1)
	go func() {
		lines := bufio.NewReader(r)
		line, _ := lines.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, lines)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.exited
	})
	limit := time.NewTimer(startTimeout)
	defer limit.Stop()
	var line string
	select {
	case line = <-first:
	case <-limit.C:
	}
	var entry struct{ Msg, Addr string }
	if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Msg != "listening" {
		_ = c.cmd.Process.Kill()
		<-c.exited
		t.Fatalf("the gateway printed %q instead of its address: %s", line, c.errs.String())
	}
	return &gateway{c, "http://" + entry.Addr}
}

// end stops the gateway as an operator does.
func (g *gateway) end() {
	g.t.Helper()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	g.wait(stopTimeout)
	if code := g.cmd.ProcessState.ExitCode(); code != 0 {
		g.t.Errorf("after SIGTERM: exit %d: %s", code, g.errs.String())
	}
}

// kill stops the gateway as a power failure would.
func (g *gateway) kill() {
	g.t.Helper()
	if err := g.cmd.Process.Kill(); err != nil {
		g.t.Fatal(err)
	}
	<-g.exited
}

// get sends a GET request to the gateway.
func (g *gateway) get(path string) (status int, text string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), answerWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+path, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}
