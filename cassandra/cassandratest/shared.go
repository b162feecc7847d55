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
	told      bool // that the node has ended by itself
}

// Hosts are the addresses of the node. A test that cannot have it fails, and
// says why, also where the node ends by itself while the test has it.
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
	t.Cleanup(func() {
		if err := s.tellLost(); err != nil {
			t.Error(err)
		}
	})
	return s.cluster.Hosts
}

// Dir is where the node keeps its files; empty for one of CASSANDRA_HOSTS.
func (s *Shared) Dir(t testing.TB) string {
	t.Helper()
	s.Hosts(t)
	return s.cluster.dir
}

// tellLost tells once that the node has ended by itself: the test that had it
// then is the one to look at.
func (s *Shared) tellLost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told {
		return nil
	}
	err := s.cluster.Lost()
	s.told = err != nil
	return err
}

// alive tells whether there is a node that can be asked for something.
func (s *Shared) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster.Lost() == nil
}

// Keyspace is the name of a keyspace that no other test uses, now or later: on
// a cluster of CASSANDRA_HOSTS those of others may stand. It is dropped at the
// end of the test: the tables of all tests together are more than a node has
// memory for.
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

// drop drops a keyspace, if it was made.
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
