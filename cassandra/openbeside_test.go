package cassandra

import (
	"net"
	"testing"
	"time"

	"carrel/cassandra/cassandratest"
	"carrel/cassandra/session"
	"carrel/library"
)

// TestOpen_SilentNodeDoesNotDelayIt opens a store while one of its addresses, which is also a node
// of the cluster, never answers. The driver alone would wait 18 s for it.
func TestOpen_SilentNodeDoesNotDelayIt(t *testing.T) {
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
	o := session.Options{Hosts: c.Hosts, Keyspace: "beside", Replication: map[string]int{"dc1": 1}}
	if err := Migrate(t.Context(), o, nil); err != nil {
		t.Fatal(err)
	}
	s := open(t, o)
	for _, stmt := range []string{
		"INSERT INTO system.peers_v2 (peer, peer_port, data_center, host_id, native_address, native_port, rack, " +
			"release_version, schema_version, tokens) VALUES ('127.255.77.1', 7000, 'dc1', " +
			"11111111-1111-4111-8111-111111111111, '127.255.77.1', 9042, 'r2', '5.0.6', 22222222-2222-4222-8222-222222222222, {'17'})",
		"INSERT INTO system.peers (peer, data_center, host_id, rpc_address, rack, release_version, schema_version, " +
			"tokens) VALUES ('127.255.77.1', 'dc1', 11111111-1111-4111-8111-111111111111, '127.255.77.1', 'r2', '5.0.6', " +
			"22222222-2222-4222-8222-222222222222, {'17'})",
	} {
		if err := s.session.Driver().Query(stmt).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	cassandratest.BlackHole(t, net.JoinHostPort(silent, "9042"))
	o.Hosts = append([]string{silent}, c.Hosts...)
	for range 3 { // the driver may start with any of them
		began := time.Now()
		opened := open(t, o)
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("it took %s", took)
		}
		if _, err := opened.Contents.Read(t.Context(), "c:t:x", library.ContentQuery{}); err != nil {
			t.Errorf("a read: %v", err)
		}
	}
}
