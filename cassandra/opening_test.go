package cassandra

import (
	"io"
	"net"
	"testing"
	"time"

	"carrel/cassandra/cassandratest"
	"carrel/library"
)

// blackHole accepts connections at an address and never answers.
func blackHole(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-ended })
	return l.Addr().String()
}

// A store opens while one address of the options, which is a node of the cluster
// too, never answers. The driver would wait for it for 18 s.
func TestOpen_BesideANodeThatNeverAnswers(t *testing.T) {
	t.Parallel()
	const silent = "127.255.77.1"
	c, err := cassandratest.StartWith(t.Context(), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	o := Options{Hosts: c.Hosts, Keyspace: "beside", Replication: map[string]int{"dc1": 1}}
	if err := Migrate(t.Context(), o, nil); err != nil {
		t.Fatal(err)
	}
	s := open(t, o)
	for _, stmt := range []string{
		"INSERT INTO system.peers_v2 (peer, peer_port, data_center, host_id, native_address, native_port, rack, release_version, schema_version, tokens) VALUES ('127.255.77.1', 7000, 'dc1', 11111111-1111-4111-8111-111111111111, '127.255.77.1', 9042, 'r2', '5.0.6', 22222222-2222-4222-8222-222222222222, {'17'})",
		"INSERT INTO system.peers (peer, data_center, host_id, rpc_address, rack, release_version, schema_version, tokens) VALUES ('127.255.77.1', 'dc1', 11111111-1111-4111-8111-111111111111, '127.255.77.1', 'r2', '5.0.6', 22222222-2222-4222-8222-222222222222, {'17'})",
	} {
		if err := s.session.Query(stmt).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	blackHole(t, net.JoinHostPort(silent, "9042"))
	o.Hosts = append([]string{silent}, c.Hosts...)
	for range 3 { // the driver begins with any of them
		began := time.Now()
		beside := open(t, o)
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("it took %s", took)
		}
		if _, err := beside.Read(t.Context(), "c:t:x", library.ContentQuery{}); err != nil {
			t.Errorf("a reading: %v", err)
		}
	}
}

// An address that does not answer is given up before the driver's own time, and
// what answers is left alone.
func TestOpening_GivesUpWhoDoesNotAnswer(t *testing.T) {
	const long = time.Minute
	o := newOpening(long, true)
	conn, err := o.DialContext(t.Context(), "tcp", blackHole(t, "127.0.0.1:0"))
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
