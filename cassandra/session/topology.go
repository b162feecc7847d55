package session

import (
	"sync"

	"github.com/gocql/gocql"
)

// heldTopology is a policy for choosing nodes that wraps another one, and tells it about the
// cluster's nodes only when the driver names the keyspace of the session.
//
// With each node that it learns of, the driver's token-aware policy reads how the keyspace is
// replicated. While the driver opens a session it does not know the version of the cluster yet. It
// reads the tables of Cassandra 2 then, which do not exist, and tries each statement four times. It
// names the keyspace after that, when it knows the version.
type heldTopology struct {
	gocql.HostSelectionPolicy

	mu    sync.Mutex
	held  []func() // calls for the other policy, in their order
	named bool     // the keyspace was named, and all held calls were made
}

func holdTopology(within gocql.HostSelectionPolicy) *heldTopology {
	return &heldTopology{HostSelectionPolicy: within}
}

// hold holds a call, or makes it if nothing is held any more.
func (h *heldTopology) hold(call func()) {
	h.mu.Lock()
	if !h.named {
		h.held = append(h.held, call)
		h.mu.Unlock()
		return
	}
	h.mu.Unlock()
	call()
}

// SetPartitioner is called after the driver has read the cluster's topology.
func (h *heldTopology) SetPartitioner(partitioner string) {
	h.hold(func() { h.HostSelectionPolicy.SetPartitioner(partitioner) })
}

// AddHost is called for each node of the cluster.
func (h *heldTopology) AddHost(host *gocql.HostInfo) {
	h.hold(func() { h.HostSelectionPolicy.AddHost(host) })
}

// RemoveHost is called when a node has left the cluster.
func (h *heldTopology) RemoveHost(host *gocql.HostInfo) {
	h.hold(func() { h.HostSelectionPolicy.RemoveHost(host) })
}

// HostUp is called when the driver has connected to a node again.
func (h *heldTopology) HostUp(host *gocql.HostInfo) {
	h.hold(func() { h.HostSelectionPolicy.HostUp(host) })
}

// HostDown is called when the driver has lost all connections to a node.
func (h *heldTopology) HostDown(host *gocql.HostInfo) {
	h.hold(func() { h.HostSelectionPolicy.HostDown(host) })
}

// KeyspaceChanged is called when a session has been opened, and when a keyspace was changed. The
// calls that it makes may send statements, so the mutex is not held meanwhile.
func (h *heldTopology) KeyspaceChanged(e gocql.KeyspaceUpdateEvent) {
	for calls := h.take(); len(calls) > 0; calls = h.take() {
		for _, call := range calls {
			call()
		}
	}
	h.HostSelectionPolicy.KeyspaceChanged(e)
}

// take returns the held calls. After it has returned none, no call is held any more.
func (h *heldTopology) take() []func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	calls := h.held
	h.held, h.named = nil, len(calls) == 0
	return calls
}
