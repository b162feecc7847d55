package session

import (
	"slices"
	"testing"

	"github.com/gocql/gocql"
)

// notified is a policy that records what it is told.
type notified struct {
	gocql.HostSelectionPolicy
	calls []string
	// named is called when the keyspace was named or has changed; it may be nil.
	named func()
}

func (n *notified) note(what string, h *gocql.HostInfo) {
	n.calls = append(n.calls, what+" "+h.HostID())
}

func (n *notified) SetPartitioner(p string)      { n.calls = append(n.calls, "partitioner "+p) }
func (n *notified) AddHost(h *gocql.HostInfo)    { n.note("add", h) }
func (n *notified) RemoveHost(h *gocql.HostInfo) { n.note("remove", h) }
func (n *notified) HostDown(h *gocql.HostInfo)   { n.note("down", h) }

func (n *notified) HostUp(h *gocql.HostInfo) {
	n.note("up", h)
	if n.named != nil {
		n.named()
	}
}

func (n *notified) KeyspaceChanged(e gocql.KeyspaceUpdateEvent) {
	n.calls = append(n.calls, "keyspace "+e.Keyspace)
}

// TestHeldTopology_IsToldWhenTheKeyspaceIsNamed: the other policy gets all calls in their order, the
// first ones when the keyspace is named, and later ones at once.
func TestHeldTopology_IsToldWhenTheKeyspaceIsNamed(t *testing.T) {
	n := &notified{}
	h := holdTopology(n)
	a, b := newThreeNodes(t).a, newThreeNodes(t).b
	want := func(when string, calls ...string) {
		t.Helper()
		if !slices.Equal(n.calls, calls) {
			t.Errorf("%s: got %q, want %q", when, n.calls, calls)
		}
		n.calls = nil
	}
	h.SetPartitioner("p")
	h.AddHost(a)
	h.HostUp(a)
	h.HostDown(a)
	h.AddHost(b)
	h.RemoveHost(b)
	want("before the keyspace is named")
	n.named = func() { h.AddHost(b) } // comes meanwhile
	h.KeyspaceChanged(gocql.KeyspaceUpdateEvent{Keyspace: "k"})
	want("when it is named", "partitioner p", "add a", "up a", "down a", "add b", "remove b", "add b", "keyspace k")
	n.named = nil
	h.SetPartitioner("q")
	h.AddHost(a)
	h.HostDown(a)
	h.HostUp(a)
	h.RemoveHost(a)
	want("later", "partitioner q", "add a", "down a", "up a", "remove a")
	h.KeyspaceChanged(gocql.KeyspaceUpdateEvent{Keyspace: "k"})
	want("when it has changed", "keyspace k")
}
