package session

import (
	"io"
	"net"
	"testing"
	"time"

	"carrel/cassandra/cassandratest"
)

// TestOpening_SilentAddressIsGivenUp: an address that does not answer is given up before the driver
// would, and one that answers is not.
func TestOpening_SilentAddressIsGivenUp(t *testing.T) {
	const long = time.Minute
	o := newOpening(long, true)
	conn, err := o.DialContext(t.Context(), "tcp", cassandratest.BlackHole(t, "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := conn.Read(make([]byte, 1)); err == nil || time.Since(began) > long/2 {
		t.Errorf("it ended after %s: %v", time.Since(began), err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if conn, err = o.DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	node, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = node.Close() }()
	if _, err := node.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if prompt, ok := conn.(*promptConn); !ok || prompt.silent.Stop() {
		t.Error("a connection that has answered would be closed")
	}
	_ = conn.Close()

	o.located()
	if conn, err = o.DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if _, ok := conn.(*promptConn); ok {
		t.Error("nodes of the cluster are given up too")
	}
	_ = conn.Close()
}
