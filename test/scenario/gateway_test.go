package scenario

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"carrel/cassandra/cassandratest"
)

// Every wait of these tests is bounded. The bounds are long, because make test runs other tests at
// the same time.
const (
	startTimeout = time.Minute
	stopTimeout  = time.Minute
	answerWithin = time.Minute
)

// binary is the product, built once for all tests.
type binary struct{ path string }

// product is set only by TestMain.
var product binary

// The store of the gateways in these tests: a directory, or with -on cassandra a keyspace
// of a node that is started for all of them. On Cassandra, the tests of onCassandra run unless -run
// selects others.
var (
	on   = flag.String("on", "pebble", "the store of the tests: pebble, or cassandra")
	node cassandratest.Shared
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *on == "cassandra" {
		runOnly(onCassandra)
	}
	dir, err := os.MkdirTemp("", "carrel-scenario-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	product.path = filepath.Join(dir, "carrel")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", product.path, "carrel")
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

// gateway is a running process of the product on a store of its own.
type gateway struct {
	t      *testing.T
	binary string
	dir    string // contains the secret, and an embedded store
	store  string // for the command line
	secret []byte
	flags  []string
	cmd    *exec.Cmd
	url    string
	admin  string        // the base URL for operators
	output *bytes.Buffer // standard error
	log    *record       // standard output after its first line
	exited chan error
	client *http.Client
}

// record is the output of a process so far.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// serve starts a development gateway without rate limits on a new store, and stops it at
// the end of the test.
func serve(t *testing.T) *gateway {
	t.Helper()
	return serveWith(t, "--dev", "--rate-limit", "0")
}

// serveWith is serve with additional flags.
func serveWith(t *testing.T, flags ...string) *gateway {
	t.Helper()
	return serveBinary(t, product.path, flags...)
}

// serveBinary is serveWith for another build of the product.
func serveBinary(t *testing.T, binary string, flags ...string) *gateway {
	t.Helper()
	g := &gateway{t: t, binary: binary, flags: flags, dir: t.TempDir(), secret: []byte("a secret of at least thirty-two bytes")}
	if err := os.WriteFile(g.secretFile(), append(slices.Clone(g.secret), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	g.store = g.newStore()
	g.client = &http.Client{Timeout: answerWithin, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	g.start()
	t.Cleanup(func() {
		g.client.CloseIdleConnections()
		if g.cmd != nil {
			g.stop()
		}
	})
	return g
}

func (g *gateway) secretFile() string { return filepath.Join(g.dir, "secret") }

// newStore returns the name of an empty store.
func (g *gateway) newStore() string {
	g.t.Helper()
	if *on == "pebble" {
		return "pebble:" + filepath.Join(g.dir, "store")
	}
	if *on != "cassandra" {
		g.t.Fatalf("-on %s: the value must be pebble or cassandra", *on)
	}
	store := "cassandra://" + strings.Join(node.Hosts(g.t), ",") + "/" + node.Keyspace(g.t)
	if code, _, errs := g.run("migrate", "--store", store, "--cassandra-replication", "1"); code != 0 {
		g.t.Fatalf("migrate: exit code %d: %s", code, errs)
	}
	return store
}

// start runs the binary and waits for the log line that contains its address.
func (g *gateway) start() {
	g.t.Helper()
	g.cmd = exec.Command(g.binary, append([]string{"serve", "--listen", "127.0.0.1:0", "--store", g.store,
		"--auth-hs256-file", g.secretFile(), "--host-id", "test"}, g.flags...)...)
	g.output, g.log = &bytes.Buffer{}, &record{}
	g.cmd.Stderr = g.output
	stdout, err := g.cmd.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	first := make(chan string, 1)
	read := make(chan struct{})
	log := g.log
	go func() {
		defer close(read)
		lines := bufio.NewReader(stdout)
		line, _ := lines.ReadString('\n')
		first <- line
		_, _ = io.Copy(log, lines)
	}()
	g.exited = make(chan error, 1)
	cmd, exited := g.cmd, g.exited
	go func() {
		<-read // Wait closes the pipe, so wait for the last line first
		exited <- cmd.Wait()
	}()
	select {
	case line := <-first:
		var started struct {
			Msg, Addr string
			AdminAddr string `json:"admin_addr"`
		}
		if err := json.Unmarshal([]byte(line), &started); err != nil || started.Msg != "listening" {
			g.cmd = nil
			g.t.Fatalf("the first line is %q (%v); standard error:\n%s", line, err, g.output)
		}
		g.url, g.admin = "http://"+started.Addr, "http://"+started.AdminAddr
	case <-time.After(startTimeout):
		g.kill()
		g.t.Fatalf("no address within %s; standard error:\n%s", startTimeout, g.output)
	}
}

// in returns the gateway for use in a subtest.
func (g *gateway) in(t *testing.T) *gateway {
	part := *g
	part.t = t
	return &part
}

// stop sends SIGTERM, as an operator does, and requires exit code 0.
func (g *gateway) stop() {
	g.t.Helper()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatalf("signalling: %v", err)
	}
	g.ended()
}

// ended waits until the process has ended with exit code 0.
func (g *gateway) ended() {
	g.t.Helper()
	select {
	case err := <-g.exited:
		if err != nil {
			g.t.Errorf("after SIGTERM: %v\n%s", err, g.output)
		}
	case <-time.After(stopTimeout):
		g.kill()
		g.t.Errorf("it did not stop within %s", stopTimeout)
	}
	g.cmd = nil
}

// kill ends the process immediately, like a power failure.
func (g *gateway) kill() {
	g.t.Helper()
	if err := g.cmd.Process.Kill(); err != nil {
		g.t.Fatalf("killing: %v", err)
	}
	<-g.exited
	g.cmd = nil
}

// run runs a subcommand to its end, and returns its exit code and output.
func (g *gateway) run(args ...string) (code int, stdout, stderr string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, product.path, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		g.t.Fatalf("running %v: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// audit stops the gateway and audits its store. On a cluster it waits until the changes
// of a killed gateway are finished.
func (g *gateway) audit() {
	g.t.Helper()
	if g.cmd != nil {
		g.stop()
	}
	for until := time.Now().Add(startTimeout); ; {
		code, out, errs := g.run("audit", "--store", g.store)
		if code == 0 {
			return
		}
		if *on == "pebble" || time.Now().After(until) {
			g.t.Errorf("the audit found (exit code %d): %s\n%s", code, out, errs)
			return
		}
	}
}

// token signs a JWT without the product's code, as an issuer would.
func (g *gateway) token(sub string, roles ...string) string {
	now := time.Now().Unix()
	payload := map[string]any{"sub": sub, "iss": "carrel", "aud": "carrel", "iat": now, "exp": now + 3600}
	if len(roles) > 0 {
		payload["roles"] = roles
	}
	claims, err := json.Marshal(payload)
	if err != nil {
		g.t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	signed := b64([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + b64(claims)
	mac := hmac.New(sha256.New, g.secret)
	mac.Write([]byte(signed))
	return signed + "." + b64(mac.Sum(nil))
}

// answer is a GraphQL response.
type answer struct {
	Status int            `json:"-"`
	Data   map[string]any `json:"data"`
	Errors []struct {
		Message    string
		Path       []any
		Extensions map[string]any
	}
}

// code returns the code of the first error, or "".
func (a *answer) code() string {
	if len(a.Errors) == 0 {
		return ""
	}
	code, _ := a.Errors[0].Extensions["code"].(string)
	return code
}

// at returns the value at a path of keys in the data.
func (a *answer) at(path string) any {
	var v any = a.Data
	for _, key := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// userErrors returns the userErrors of a mutation's field, as "CODE path".
func (a *answer) userErrors(field string) []string {
	list, _ := a.at(field + ".userErrors").([]any)
	var all []string
	for _, e := range list {
		m := e.(map[string]any)
		var path []string
		if p, ok := m["field"].([]any); ok {
			for _, s := range p {
				path = append(path, s.(string))
			}
		}
		all = append(all, strings.TrimSpace(m["code"].(string)+" "+strings.Join(path, ".")))
	}
	return all
}

type vars = map[string]any

// post sends an operation; err is the error of the transport.
func (g *gateway) post(token, query string, variables vars) (*answer, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, g.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	a := &answer{Status: res.StatusCode}
	if err := json.NewDecoder(res.Body).Decode(a); err != nil {
		return nil, fmt.Errorf("status %d: %w", res.StatusCode, err)
	}
	return a, nil
}

// ask is post, and fails the test without a response.
func (g *gateway) ask(token, query string, variables vars) *answer {
	g.t.Helper()
	a, err := g.post(token, query, variables)
	if err != nil {
		g.t.Fatalf("posting: %v\n%s", err, g.output)
	}
	return a
}

// must is ask, and fails the test on any error, including userErrors.
func (g *gateway) must(token, query string, variables vars) *answer {
	g.t.Helper()
	a := g.ask(token, query, variables)
	if len(a.Errors) > 0 {
		g.t.Fatalf("errors: %+v\nof %s %v", a.Errors, query, variables)
	}
	for field := range a.Data {
		if errs := a.userErrors(field); len(errs) > 0 {
			g.t.Fatalf("userErrors: %v\nof %s %v", errs, query, variables)
		}
	}
	return a
}

const (
	createUser = `mutation($in: CreateUserInput!) { createUser(input: $in) { user { id } userErrors { code field message } } }`
	createGrp  = `mutation($in: CreateGroupInput!) { createGroup(input: $in) { group { id } userErrors { code field message } } }`
	setMembers = `mutation($in: SetGroupMembersInput!) { setGroupMembers(input: $in) { group { id } userErrors { code field message } } }`
	createItem = `mutation($in: CreateContentInput!) { createContent(input: $in) { content { id version title } fanOut { state libraries } userErrors { code field message } } }`
	updateItem = `mutation($in: UpdateContentInput!) { updateContent(input: $in) { content { id version title } libraryEdge { cursor } fanOut { state libraries } userErrors { code field message } } }`
	shareItem  = `mutation($in: ShareContentInput!) { shareContent(input: $in) { edges { cursor } fanOut { state libraries } userErrors { code field message } } }`
	removeItem = `mutation($in: RemoveFromLibraryInput!) { removeFromLibrary(input: $in) { removedContentId userErrors { code field message } } }`
	deleteItem = `mutation($in: DeleteContentInput!) { deleteContent(input: $in) { deletedContentId userErrors { code field message } } }`
	pageItems  = `query($id: ID!, $first: Int, $after: Cursor, $last: Int, $before: Cursor, $by: LibraryOrder, $shared: Boolean) {
		principal(id: $id) { library(first: $first, after: $after, last: $last, before: $before, orderBy: $by, includeShared: $shared) {
			bucket count { value precision } edges { cursor role node { id title } }
			pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
)

// user creates a user with a visibility and returns its token.
func (g *gateway) user(tenant, name, visibility string) string {
	g.t.Helper()
	token := g.token("u:" + tenant + ":" + name)
	g.must(token, createUser, vars{"in": vars{"tenant": tenant, "name": name, "displayName": name, "email": name + "@example.com",
		"visibility": visibility}})
	return token
}
