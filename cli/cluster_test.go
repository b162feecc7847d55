package cli

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"carrel/edge/certificate/certificatetest"
)

// The first byte that a client sends: of a TLS handshake, or of a request in version 4 of
// Cassandra's protocol.
const (
	firstOfTLS   = 0x16
	firstOfPlain = 0x04
)

// listener accepts connections like a node, closes them without an answer, and records the first
// byte that it received.
func listener(t *testing.T) (address string, first *atomic.Uint32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	first = new(atomic.Uint32)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var b [1]byte
			if _, err := io.ReadFull(conn, b[:]); err == nil {
				first.CompareAndSwap(0, uint32(b[0]))
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return l.Addr().String(), first
}

// Every flag about certificates implies TLS. Otherwise a password would be sent unencrypted if
// --cassandra-tls was forgotten.
func TestCluster_AnyTLSFlagEnablesTLS(t *testing.T) {
	_, cert, key := certificatetest.New(t)
	password := file(t, "password", "canary")
	for name, c := range map[string]struct {
		flags []string
		first uint32
	}{
		"none of them":     {nil, firstOfPlain},
		"tls":              {[]string{"--cassandra-tls"}, firstOfTLS},
		"authorities":      {[]string{"--cassandra-ca", cert}, firstOfTLS},
		"certificate, key": {[]string{"--cassandra-cert", cert, "--cassandra-key", key}, firstOfTLS},
		"a name":           {[]string{"--cassandra-server-name", "node.example"}, firstOfTLS},
		"any name":         {[]string{"--cassandra-skip-host-verification"}, firstOfTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, first := listener(t)
			args := append([]string{"audit", "--store", "cassandra://" + address + "/k", "--cassandra-user", "ann",
				"--cassandra-password-file", password}, c.flags...)
			code, out, errs := command(t, args...)
			if code != ExitFailed || out != "" || strings.Count(errs, "\n") != 1 || strings.Contains(errs, "canary") {
				t.Errorf("exit %d: %s%s", code, out, errs)
			}
			if got := first.Load(); got != c.first {
				t.Errorf("the first byte sent is %#x, want %#x", got, c.first)
			}
		})
	}
}

// A timeout that is not above the default timeouts of nodes is accepted, because the nodes may have
// shorter ones, but the log has a warning.
func TestCluster_WarnsOfATimeoutBelowTheNodes(t *testing.T) {
	for _, c := range []struct {
		time  string
		warns bool
	}{{"5s", true}, {"1s", true}, {"5001ms", false}, {"6s", false}} {
		t.Run(c.time, func(t *testing.T) {
			t.Parallel()
			address, _ := listener(t)
			code, _, errs := command(t, "audit", "--store", "cassandra://"+address+"/k", "--cassandra-timeout", c.time)
			if warns := strings.Contains(errs, "cassandra-timeout is not above the nodes' own timeouts"); code != ExitFailed || warns != c.warns {
				t.Errorf("exit %d: %s", code, errs)
			}
		})
	}
}
