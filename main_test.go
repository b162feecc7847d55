package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"carrel/cli"
	"carrel/config"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

const testSecret = "0123456789abcdef0123456789abcdef"

// firstLine is the output of runServer. It returns the first line as soon as it is written.
type firstLine struct {
	mu    sync.Mutex
	grown *sync.Cond
	all   bytes.Buffer
	line  chan []byte
}

func newFirstLine() *firstLine {
	f := &firstLine{line: make(chan []byte, 1)}
	f.grown = sync.NewCond(&f.mu)
	return f
}

// await blocks until text was written.
func (f *firstLine) await(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !bytes.Contains(f.all.Bytes(), []byte(text)) {
		f.grown.Wait()
	}
}

func (f *firstLine) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	had := bytes.IndexByte(f.all.Bytes(), '\n') >= 0
	f.all.Write(p)
	f.grown.Broadcast()
	if line, _, ok := bytes.Cut(f.all.Bytes(), []byte("\n")); ok && !had {
		f.line <- bytes.Clone(line)
	}
	return len(p), nil
}

func (f *firstLine) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all.String()
}

// file writes a file and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// served is a running gateway.
type served struct {
	t           *testing.T
	out         *firstLine
	addr, admin string
	client      *http.Client
	scheme      string
	stop        context.CancelFunc
	ended       chan error
}

// testConfig returns a configuration with its own store and ports.
func testConfig(t *testing.T) config.Config {
	c := config.Config{
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0",
		AuthHS256File: file(t, "secret", testSecret+"\n"), HostID: "test",
	}
	c.Store = "pebble:" + filepath.Join(t.TempDir(), "store")
	return c
}

// serve starts a gateway and waits until it listens.
func serve(t *testing.T, cfg config.Config) *served {
	t.Helper()
	return serveTo(t, cfg, func(out *firstLine) io.Writer { return out })
}

// serveTo starts a gateway whose output is wrapped by to.
func serveTo(t *testing.T, cfg config.Config, to func(*firstLine) io.Writer) *served {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &served{t: t, out: newFirstLine(), stop: stop, ended: make(chan error, 1), scheme: "http",
		client: &http.Client{Transport: &http.Transport{}}}
	go func() { s.ended <- runServer(ctx, cfg, to(s.out)) }()
	select {
	case line := <-s.out.line:
		var seen struct {
			Msg   string
			Addr  string
			Admin string `json:"admin_addr"`
		}
		if err := json.Unmarshal(line, &seen); err != nil || seen.Msg != "listening" {
			t.Fatalf("the first line is %s", line)
		}
		s.addr, s.admin = seen.Addr, seen.Admin
	case err := <-s.ended:
		t.Fatalf("the gateway ended: %v", err)
	case <-time.After(20 * time.Second):
		t.Fatal("the gateway does not listen")
	}
	t.Cleanup(s.end)
	return s
}

// end stops the gateway and waits for it.
func (s *served) end() {
	if s.stop == nil {
		return
	}
	s.client.CloseIdleConnections()
	s.stop()
	s.stop = nil
	if err := <-s.ended; err != nil {
		s.t.Errorf("the gateway ended with %v\n%s", err, s.out)
	}
}

func (s *served) get(addr, path string) (int, string) {
	s.t.Helper()
	resp, err := s.client.Get(s.scheme + "://" + addr + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// graphql sends a query, with a token if there is one, and returns the body.
func (s *served) graphql(token, query string) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, s.scheme+"://"+s.addr+"/graphql", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// command runs a command line and returns its exit code and output.
func command(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e strings.Builder
	code = cli.Execute(context.Background(), args, cli.Streams{Out: &o, Err: &e}, runServer)
	return code, o.String(), e.String()
}

// tokenFor creates a token with the token command.
func tokenFor(t *testing.T, secretFile, sub string, roles ...string) string {
	t.Helper()
	args := []string{"token", "--hs256-file", secretFile, "--sub", sub}
	for _, r := range roles {
		args = append(args, "--role", r)
	}
	code, out, errs := command(t, args...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	return strings.TrimSpace(out)
}
