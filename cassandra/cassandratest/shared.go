package cassandratest

import (
	"context"
	"errors"
	"sync"
	"testing"
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
	free      []string // the keyspaces that Keyspace can return again
	schema    []string // what describe returns for each of them
	reported  bool     // the end of the node was reported
}

// Hosts returns the addresses of the node. The test fails with the reason if the node cannot be
// started, or ends unexpectedly during the test.
func (s *Shared) Hosts(t testing.TB) []string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil && s.err == nil {
		// The node outlives the first test that needs it.
		s.cluster, s.err = startUnlessGiven(context.WithoutCancel(t.Context()), 1, settings{Tombstones: fewTombstones})
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

// How many tombstones a read may meet: by default, and on the nodes of Shared. Tests of what happens
// beyond the limit need a fifth of the time there.
const (
	defaultTombstones = 100_000
	fewTombstones     = 20_000
)

// Tombstones returns how many tombstones a read may meet. A node refuses a read that meets more.
func (s *Shared) Tombstones(t testing.TB) int {
	t.Helper()
	s.Hosts(t)
	if !s.cluster.Owned() {
		return defaultTombstones
	}
	return fewTombstones
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

// Stop stops the node, if it was started, or drops the keyspaces that it made on a cluster of
// CASSANDRA_HOSTS.
func (s *Shared) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil {
		return nil
	}
	var failed error
	if !s.cluster.Owned() {
		for _, keyspace := range s.free {
			failed = errors.Join(failed, drop(context.Background(), s.cluster.Hosts[0], keyspace))
		}
	}
	return errors.Join(failed, s.cluster.Stop())
}
