package nemesis

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Every wait for a process is bounded, but so generously that no machine is too slow for it. A
// client without an answer within answerWithin does not know the outcome, which is no failure.
const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 2 * time.Minute
	exitTimeout  = 20 * time.Second
	runTimeout   = 10 * time.Minute
	answerWithin = 20 * time.Second
)

// secret signs the tokens of these tests.
const secret = "a secret of at least thirty-two bytes"

// site is a keyspace of a cluster, and what gateways need to serve it.
type site struct {
	t          *testing.T
	store      string // for the command line
	secretFile string
	client     *http.Client
}

// newSite creates the keyspace with carrel migrate, as an operator does.
func newSite(t *testing.T, hosts []string, keyspace string, replicas int) *site {
	t.Helper()
	s := &site{t: t, store: "cassandra://" + strings.Join(hosts, ",") + "/" + keyspace, secretFile: filepath.Join(t.TempDir(), "secret")}
	if err := os.WriteFile(s.secretFile, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.client = &http.Client{Timeout: answerWithin, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	t.Cleanup(s.client.CloseIdleConnections)
	if out, err := s.run("migrate", "--store", s.store, "--cassandra-replication", fmt.Sprint(replicas)); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	return s
}

// run runs a command of the product to its end.
func (s *site) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), runTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, product.plain, args...).CombinedOutput()
	return string(out), err
}

// audit waits until nothing is in flight and requires a clean audit.
func (s *site) audit() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), runTimeout)
	defer cancel()
	for {
		out, err := s.run("audit", "--store", s.store)
		if err == nil {
			s.t.Logf("the audit: %s", strings.Join(strings.Fields(out), " "))
			return
		}
		if ctx.Err() != nil {
			s.t.Errorf("the audit is not clean after %s: %v\n%s", runTimeout, err, out)
			return
		}
	}
}

// process is a gateway: the built binary, which may be killed and started again.
type process struct {
	site   *site
	binary string
	name   string
	flags  []string

	mu     sync.Mutex
	cmd    *exec.Cmd
	url    string
	admin  string // URL of the metrics' listener
	log    *tail
	exited chan error
}

// tail keeps the end of the output of a process.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailLength = 32 << 10

// Write implements io.Writer.
func (l *tail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	l.text = l.text[max(0, len(l.text)-tailLength):]
	return len(b), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// serve starts a gateway with additional flags; it is stopped at the end of the test.
func (s *site) serve(name string, flags ...string) *process {
	return s.serveWith(product.plain, name, flags...)
}

// serveAhead starts a gateway whose clock is 2 s ahead, with additional flags.
func (s *site) serveAhead(name string, flags ...string) *process {
	return s.serveWith(product.ahead, name, flags...)
}

func (s *site) serveWith(binary, name string, flags ...string) *process {
	s.t.Helper()
	p := &process{site: s, binary: binary, name: name, flags: flags}
	if err := p.start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := p.end(syscall.SIGTERM); err != nil {
			s.t.Errorf("stopping the gateway %s: %v", name, err)
		}
	})
	return p
}

// start runs the binary and waits for the log line that contains its address.
func (p *process) start() error {
	cmd := exec.Command(p.binary, append([]string{"serve", "--listen", "127.0.0.1:0", "--store", p.site.store,
		"--auth-hs256-file", p.site.secretFile, "--host-id", p.name, "--dev"}, p.flags...)...)
	log := &tail{}
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	first, read, exited := make(chan string, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(read)
		lines := bufio.NewReader(stdout)
		line, _ := lines.ReadString('\n')
		first <- line
		_, _ = io.Copy(log, lines)
	}()
	go func() {
		<-read // Wait closes the pipe, so wait for the last line first
		exited <- cmd.Wait()
	}()
	limit := time.NewTimer(startTimeout)
	defer limit.Stop()
	var line string
	select {
	case line = <-first:
	case <-limit.C:
	}
	var started struct {
		Msg, Addr string
		Admin     string `json:"admin_addr"`
	}
	if err := json.Unmarshal([]byte(line), &started); err != nil || started.Msg != "listening" {
		giveUp(cmd, exited)
		return fmt.Errorf("the gateway %s says %q instead of its address: %s", p.name, line, log)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.url, p.admin, p.log, p.exited = cmd, "http://"+started.Addr, "http://"+started.Admin, log, exited
	return nil
}

// giveUp ends a process that hangs, with a stack trace in its log unless even that takes
// too long.
func giveUp(cmd *exec.Cmd, exited <-chan error) {
	_ = cmd.Process.Signal(syscall.SIGQUIT)
	limit := time.AfterFunc(exitTimeout, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	<-exited
}

// end ends the process by a signal, if it runs; after SIGTERM it must exit cleanly.
func (p *process) end(with syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return nil
	}
	cmd := p.cmd
	p.cmd = nil
	if err := cmd.Process.Signal(with); err != nil {
		err = fmt.Errorf("the gateway %s ended by itself: %w, %w", p.name, err, <-p.exited)
		return fmt.Errorf("%w: %s", err, p.log)
	}
	limit := time.NewTimer(stopTimeout)
	defer limit.Stop()
	select {
	case err := <-p.exited:
		if with == syscall.SIGTERM && err != nil {
			return fmt.Errorf("%w: %s", err, p.log)
		}
		return nil
	case <-limit.C:
		giveUp(cmd, p.exited)
		return fmt.Errorf("it did not end within %s: %s", stopTimeout, p.log)
	}
}

// signal sends a signal that does not end the process.
func (p *process) signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Signal(s)
}

func (p *process) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.url
}

// adminAddress returns the URL of the listener for operators.
func (p *process) adminAddress() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.admin
}
