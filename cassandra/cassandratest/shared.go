package cassandratest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Shared is one node for all tests of a test binary. The first test that asks for it starts it, and
// TestMain stops it:
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
	reported  bool // the end of the node was reported
}

// Hosts returns the addresses of the node. The test fails with the reason if the node cannot be
// started, or ends unexpectedly during the test.
func (s *Shared) Hosts(t testing.TB) []string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil && s.err == nil {
		// The node outlives the first test that needs it.
		s.cluster, s.err = Start(context.WithoutCancel(t.Context()), 1)
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	t.Cleanup(func() {
		if err := s.reportLost(); err != nil {
			t.Error(err)
		}
	})
	return s.cluster.Hosts
}

// Dir returns the directory of the node's files. It is empty for a node of CASSANDRA_HOSTS.
func (s *Shared) Dir(t testing.TB) string {
	t.Helper()
	s.Hosts(t)
	return s.cluster.dir
}

// reportLost reports once that the node has ended unexpectedly, to the test that was running then.
func (s *Shared) reportLost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reported {
		return nil
	}
	err := s.cluster.Lost()
	s.reported = err != nil
	return err
}

// alive reports whether a node is running.
func (s *Shared) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster.Lost() == nil
}

// Keyspace returns the name of a keyspace that no other test uses, not even on a cluster of
// CASSANDRA_HOSTS. The keyspace is dropped at the end of the test, because a node does not have
// enough memory for the tables of all tests.
func (s *Shared) Keyspace(t testing.TB) string {
	t.Helper()
	host := s.Hosts(t)[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keyspaces++
	name := fmt.Sprintf("test_%d_%d", time.Now().UnixNano(), s.keyspaces)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), startWithin)
		defer cancel()
		if err := drop(ctx, host, name); err != nil && s.alive() {
			t.Errorf("dropping the keyspace %s: %v", name, err)
		}
	})
	return name
}

// drop drops a keyspace if it exists.
func drop(ctx context.Context, host, keyspace string) error {
	session, err := connect(host, startWithin)
	if err != nil {
		return err
	}
	defer session.Close()
	return session.Query("DROP KEYSPACE IF EXISTS " + keyspace).WithContext(ctx).Exec()
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
