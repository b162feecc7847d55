package nemesis

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"carrel/cassandra"
	"carrel/cassandra/session"
)

// TestStoreDown_ErrorsHaveCodes is the row of the table of hostile input, in test/scenario, that
// needs a cluster. However the store fails, a client receives a code and advice on how to go on,
// and nothing about hosts, statements or the driver.
func TestStoreDown_ErrorsHaveCodes(t *testing.T) {
	t.Parallel()
	host, keyspace := node.Hosts(t)[0], node.Keyspace(t)
	direct := newSite(t, []string{host}, keyspace, 1)
	broken := *direct
	proxy := newProxy(t, host)
	broken.store = "cassandra://" + proxy.address + "/" + keyspace
	// Timeouts are short, so that lost answers are given up soon.
	p := broken.serve("broken", "--cassandra-timeout", "1s", "--limit", "query-time=4s", "--limit", "mutation-time=6s")
	ann := p.user(t, "ann")
	p.must(t, ann, createItem, vars{"in": vars{"name": "x", "kind": "NOTE", "title": "0"}})

	secrets := []string{host, proxy.address, keyspace, "SELECT", "UPDATE", "INSERT", "FROM", "WHERE", "gocql",
		"the proxy says", "dial", "127.0.0"}
	refused := func(t *testing.T, query string, in vars, codes ...string) {
		t.Helper()
		a := p.post(ann, query, in)
		if a.err != nil || len(a.Errors) == 0 || !slices.Contains(codes, a.code) {
			t.Fatalf("got %v, want one of %v", a, codes)
		}
		body, err := json.Marshal(a.Errors)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if strings.Contains(string(body), secret) {
				t.Errorf("the client received %q: %s", secret, body)
			}
		}
	}
	title := func(text string) vars { return vars{"in": vars{"id": "c:acme:x", "title": text}} }

	for _, c := range []struct {
		name  string
		step  step
		fault faultKind
		query string
		in    vars
		codes []string
	}{
		{"no answer to a read", stepRead, loseAll, readItem, vars{"id": "c:acme:x"}, []string{"UNAVAILABLE", "TIMEOUT"}},
		{"connections cut in a read", stepRead, cutAll, readItem, vars{"id": "c:acme:x"}, []string{"UNAVAILABLE", "TIMEOUT"}},
		{"a decision without a response", stepDecide, loseAll, updateItem, title("1"), []string{"OUTCOME_UNKNOWN"}},
		{"too few nodes for a decision", stepDecide, refuseAll, updateItem, title("2"), []string{"UNAVAILABLE", "CONTENTION"}},
		{"connections cut in a decision", stepDecide, cutAll, updateItem, title("3"), []string{"OUTCOME_UNKNOWN"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			proxy.arm("content", c.step, c.fault)
			refused(t, c.query, c.in, c.codes...)
			if proxy.disarm() == 0 {
				t.Error("the fault hit no statement")
			}
			// Connections that were cut are reopened by the driver.
			until(t, answerWithin, "the store again", func() bool { return p.post(ann, readItem, vars{"id": "c:acme:x"}).verdict == done })
		})
	}
	t.Run("the node is stopped", func(t *testing.T) {
		proxy.die()
		refused(t, readItem, vars{"id": "c:acme:x"}, "UNAVAILABLE", "TIMEOUT")
		refused(t, readPage, vars{"id": "u:acme:ann"}, "UNAVAILABLE", "TIMEOUT")
		refused(t, updateItem, title("4"), "UNAVAILABLE", "TIMEOUT", "OUTCOME_UNKNOWN")
		for path, want := range map[string]string{"/livez": "alive\n", "/readyz": "not ready: the store does not answer\n"} {
			res, err := broken.client.Get(p.address() + path)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(res.Body)
			if err != nil || string(text) != want || (res.StatusCode == http.StatusOK) != (path == "/livez") {
				t.Errorf("%s: %d %q %v", path, res.StatusCode, text, err)
			}
			_ = res.Body.Close()
		}
		// The process cannot record its unfinished changes any more, which it reports. It
		// ends all the same.
		var exit *exec.ExitError
		if err := p.end(syscall.SIGTERM); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Error(err)
		}
	})
}

// TestStart_WaitsForEnoughNodes starts a gateway while too few nodes are up for its first reads. It
// retries, and serves as soon as enough nodes are up.
func TestStart_WaitsForEnoughNodes(t *testing.T) {
	t.Parallel()
	host, keyspace := node.Hosts(t)[0], node.Keyspace(t)
	s := newSite(t, []string{host}, keyspace, 1)
	s.serve("before") // stores the settings
	looker, err := cassandra.Open(t.Context(), session.Options{Hosts: []string{host}, Keyspace: keyspace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := looker.Close(); err != nil {
			t.Error(err)
		}
	})
	proxy := newProxy(t, host)
	s.store = "cassandra://" + proxy.address + "/" + keyspace
	for _, table := range []string{"schema_version", "gateway", "setting"} {
		t.Run(table, func(t *testing.T) {
			proxy.arm(table, stepRead, refuseAll)
			p := &process{site: s, binary: product.plain, name: table}
			started := make(chan error, 1)
			go func() { started <- p.start() }()
			until(t, startTimeout, "two refusals", func() bool { return proxy.met() > 1 || len(started) > 0 })
			proxy.disarm()
			if err := <-started; err != nil {
				t.Fatal(err)
			}
			// The presence mark of an earlier attempt would look like another process to the
			// next attempt.
			others, err := looker.Others(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			others = slices.DeleteFunc(others, func(o cassandra.Presence) bool { return o.Host != table })
			if len(others) != 1 {
				t.Errorf("the presence marks of one gateway are %v", others)
			}
			if err := p.end(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		})
	}
}
