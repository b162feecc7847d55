package cli

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"carrel/edge/certificate/certificatetest"
)

// First bytes of what a client sends: the handshake of TLS, or a request of
// Cassandra's protocol in version 4.
const (
	firstOfTLS   = 0x16
	firstOfClear = 0x04
)

// listener takes connections as a node does, answers none, and keeps the first
// byte that was sent.
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

// Whoever names a certificate, a key or a name in one means TLS: a password
// must not go over the wire in the clear because one more flag was missing.
func TestCluster_AnyTLSFlagEnablesTLS(t *testing.T) {
	_, cert, key := certificatetest.New(t)
	password := file(t, "password", "canary")
	for name, c := range map[string]struct {
		flags []string
		first uint32
	}{
		"none of them":     {nil, firstOfClear},
		"tls":              {[]string{"--cassandra-tls"}, firstOfTLS},
		"authorities":      {[]string{"--cassandra-ca", cert}, firstOfTLS},
		"certificate, key": {[]string{"--cassandra-cert", cert, "--cassandra-key", key}, firstOfTLS},
		"a name":           {[]string{"--cassandra-server-name", "node.example"}, firstOfTLS},
		"any name":         {[]string{"--cassandra-skip-host-verification"}, firstOfTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, first := listener(t)
			args := append([]string{"audit", "--store", "cassandra://" + address + "/k", "--cassandra-user", "ann", "--cassandra-password-file", password}, c.flags...)
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

// A shorter timeout is right for nodes that are configured for it, so it is accepted, with a
// warning of its effect on all others.
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
