package cassandratest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Shared is one node for all tests of a test binary, started by the first test
// that asks for it. A test binary has it as a variable, and stops it in
// TestMain:
//
//	var node cassandratest.Shared
//
//	func TestMain(m *testing.M) {
//		code := m.Run()
//		if err := node.Stop(); err != nil { ... }
//		os.Exit(code)
//	}
type Shared struct {
	mu        sync.Mutex
	cluster   *Cluster
	err       error
	keyspaces int
}

// Hosts are the addresses of the node. A test that cannot have it fails, and
// says why.
func (s *Shared) Hosts(t testing.TB) []string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil && s.err == nil {
		// The node outlives the test that is the first to ask for it.
		s.cluster, s.err = Start(context.WithoutCancel(t.Context()), 1)
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.cluster.Hosts
}

// Keyspace is the name of a keyspace that no other test uses, now or later: on
// a cluster of CASSANDRA_HOSTS earlier ones may still stand.
func (s *Shared) Keyspace(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keyspaces++
	return fmt.Sprintf("test_%d_%d", time.Now().UnixNano(), s.keyspaces)
}

// Stop stops the node, if it was started.
func (s *Shared) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil {
		return nil
	}
	return s.cluster.Stop()
}
