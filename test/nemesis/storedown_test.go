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

// TestRow49TheStoreIsDown is the row of the hostile table (scenario) that needs
// a cluster: whatever becomes of the store, a client is told a code, how to go
// on, and nothing of hosts, statements or the driver.
func TestRow49TheStoreIsDown(t *testing.T) {
	t.Parallel()
	host, keyspace := node.Hosts(t)[0], node.Keyspace(t)
	whole := newSite(t, []string{host}, keyspace, 1)
	broken := *whole
	proxy := newProxy(t, host)
	broken.store = "cassandra://" + proxy.address + "/" + keyspace
	// Times are short, so that what never comes is given up soon.
	p := broken.serve("broken", "--cassandra-timeout", "1s", "--limit", "query-time=4s", "--limit", "mutation-time=6s")
	ann := p.user(t, "ann")
	p.must(t, ann, createItem, vars{"in": vars{"name": "x", "kind": "NOTE", "title": "0"}})

	secrets := []string{host, proxy.address, keyspace, "SELECT", "UPDATE", "INSERT", "FROM", "WHERE", "gocql", "the proxy says", "dial", "127.0.0"}
	refused := func(t *testing.T, query string, in vars, codes ...string) {
		t.Helper()
		a := p.post(ann, query, in)
		if a.err != nil || len(a.Errors) == 0 || !slices.Contains(codes, a.code) {
			t.Fatalf("it is answered by %v; one of %v is right", a, codes)
		}
		told, err := json.Marshal(a.Errors)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if strings.Contains(string(told), secret) {
				t.Errorf("the client is told %q: %s", secret, told)
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
		{"no answer to a reading", stepRead, loseAll, readItem, vars{"id": "c:acme:x"}, []string{"UNAVAILABLE", "TIMEOUT"}},
		{"connections cut in a reading", stepRead, cutAll, readItem, vars{"id": "c:acme:x"}, []string{"UNAVAILABLE", "TIMEOUT"}},
		{"a decision of which nothing is heard", stepDecide, loseAll, updateItem, title("1"), []string{"OUTCOME_UNKNOWN"}},
		{"too few nodes for a decision", stepDecide, refuseAll, updateItem, title("2"), []string{"UNAVAILABLE", "CONTENTION"}},
		{"connections cut in a decision", stepDecide, cutAll, updateItem, title("3"), []string{"OUTCOME_UNKNOWN"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			proxy.arm("content", c.step, c.fault)
			refused(t, c.query, c.in, c.codes...)
			if proxy.disarm() == 0 {
				t.Error("no statement met the fault")
			}
			// Connections that were cut come back by themselves.
			until(t, answerWithin, "the store again", func() bool { return p.post(ann, readItem, vars{"id": "c:acme:x"}).verdict == done })
		})
	}
	t.Run("the node is gone", func(t *testing.T) {
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
		// What it has under way cannot be written down any more, which it tells. It
		// ends all the same.
		var told *exec.ExitError
		if err := p.end(syscall.SIGTERM); err != nil && (!errors.As(err, &told) || told.ExitCode() != 1) {
			t.Error(err)
		}
	})
}

// TestAGatewayStartsBesideTrouble: one that starts while nodes are too few for
// what it reads then looks again, and serves as soon as they are enough.
func TestAGatewayStartsBesideTrouble(t *testing.T) {
	t.Parallel()
	host, keyspace := node.Hosts(t)[0], node.Keyspace(t)
	s := newSite(t, []string{host}, keyspace, 1)
	s.serve("before") // the settings stand
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
			until(t, startWithin, "two refusals", func() bool { return proxy.met() > 1 || len(started) > 0 })
			proxy.disarm()
			if err := <-started; err != nil {
				t.Fatal(err)
			}
			// What a try has left would be another process to the next one.
			others, err := looker.Others(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			others = slices.DeleteFunc(others, func(o cassandra.Presence) bool { return o.Host != table })
			if len(others) != 1 {
				t.Errorf("the marks of one gateway are %v", others)
			}
			if err := p.end(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		})
	}
}
