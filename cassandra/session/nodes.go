package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
)

// silentAfter is how long a node may leave all requests unanswered before other nodes are
// preferred. Most garbage collections are shorter. After a longer one, another node coordinates for
// a moment, which does no harm.
const silentAfter = 400 * time.Millisecond

// nodes is the driver's policy for choosing nodes. It wraps another policy and moves
// silent nodes behind all others. A node that hangs keeps its connections, and the
// driver takes a minute to close them; until then each statement sent to the node would
// wait for its timeout.
//
// Compare-and-sets benefit most: they are sent once, and a change cannot continue until it is known
// whether its compare-and-set was applied.
type nodes struct {
	gocql.HostSelectionPolicy
	now     func() time.Duration // time since the policy was made, which no change of the clock affects
	opening *opening

	live sync.Map // *liveness by the node's id
}

// liveness records whether a node answers.
//
// It does not count the unanswered requests: the driver does not report those on
// connections that it closes itself, so a count would never return to zero. Instead, one
// answer counts for all earlier requests. If a node hangs after an answer, the next
// request to it shows that; the driver's heartbeats send one within seconds.
type liveness struct {
	pending atomic.Bool  // a request was sent after the last answer
	since   atomic.Int64 // time (nodes.now) of the last answer, or of the first request after it
	down    atomic.Bool  // the driver has no connection to it, or it has left the cluster
}

func newNodes(within gocql.HostSelectionPolicy, opening *opening) *nodes {
	began := time.Now()
	return &nodes{HostSelectionPolicy: within, opening: opening, now: func() time.Duration { return time.Since(began) }}
}

func (n *nodes) livenessOf(host *gocql.HostInfo) *liveness {
	id := host.HostID()
	if p, ok := n.live.Load(id); ok {
		return p.(*liveness)
	}
	p, _ := n.live.LoadOrStore(id, new(liveness))
	return p.(*liveness)
}

// AddHost implements the driver's HostStateNotifier: the cluster has a new node.
func (n *nodes) AddHost(host *gocql.HostInfo) {
	n.opening.found(host)
	n.livenessOf(host).down.Store(false)
	n.HostSelectionPolicy.AddHost(host)
}

// SetPartitioner is called after the driver has read the cluster's topology, before it
// connects to the nodes.
func (n *nodes) SetPartitioner(partitioner string) {
	n.opening.located()
	n.HostSelectionPolicy.SetPartitioner(partitioner)
}

// Ready implements the driver's ReadyPolicy.
func (n *nodes) Ready() bool { return n.opening.ready() }

// RemoveHost is called when a node has left the cluster.
func (n *nodes) RemoveHost(host *gocql.HostInfo) {
	n.livenessOf(host).down.Store(true)
	n.HostSelectionPolicy.RemoveHost(host)
}

// HostUp is called when the driver has connected to a node again, and the node has
// answered. Requests on earlier connections no longer count.
func (n *nodes) HostUp(host *gocql.HostInfo) {
	p := n.livenessOf(host)
	p.pending.Store(false)
	p.down.Store(false)
	n.HostSelectionPolicy.HostUp(host)
}

// HostDown is called when the driver has lost all connections to a node.
func (n *nodes) HostDown(host *gocql.HostInfo) {
	n.livenessOf(host).down.Store(true)
	n.HostSelectionPolicy.HostDown(host)
}

// StreamContext implements the driver's StreamObserver, which observes every request and
// answer, heartbeats included.
func (n *nodes) StreamContext(context.Context) gocql.StreamObserverContext { return n }

// StreamStarted is called when a request is sent. It stores the time before the flag:
// between the two stores the node has no pending request.
func (n *nodes) StreamStarted(s gocql.ObservedStream) {
	p := n.livenessOf(s.Host)
	if !p.pending.Load() {
		p.since.Store(int64(n.now()))
		p.pending.Store(true)
	}
}

// StreamFinished is called when an answer arrives, however late.
func (n *nodes) StreamFinished(s gocql.ObservedStream) {
	p := n.livenessOf(s.Host)
	p.since.Store(int64(n.now()))
	p.pending.Store(false)
}

// StreamAbandoned is called when a connection fails before the answer. That is not an
// answer, so it changes nothing.
func (n *nodes) StreamAbandoned(gocql.ObservedStream) {}

// quiet reports whether the last answer is older than silentAfter. Perhaps no request was sent
// since.
func (p *liveness) quiet(now time.Duration) bool {
	return now-time.Duration(p.since.Load()) > silentAfter
}

// silent reports whether a request has been unanswered for longer than silentAfter.
func (p *liveness) silent(now time.Duration) bool { return p.pending.Load() && p.quiet(now) }

// anySilent reports whether a node that the driver would use is silent. Nodes that are down do not
// count, nor does the entry for requests that were sent before the driver knew the node's id: they
// stay unanswered.
func (n *nodes) anySilent(now time.Duration) (found bool) {
	n.live.Range(func(id, value any) bool {
		p := value.(*liveness)
		found = id != "" && !p.down.Load() && p.silent(now)
		return !found
	})
	return found
}

// Pick implements the driver's HostSelectionPolicy.
func (n *nodes) Pick(q gocql.ExecutableQuery) gocql.NextHost {
	next := n.HostSelectionPolicy.Pick(q)
	now := n.now()
	var t *attempt
	if q != nil {
		t, _ = q.Context().(*attempt)
	}
	if (t == nil || t.avoid == "") && !n.anySilent(now) {
		return t.recording(next)
	}
	var first, last []gocql.SelectedHost
	for host := next(); host != nil; host = next() {
		if info := host.Info(); t.avoids(info) || n.livenessOf(info).silent(now) {
			last = append(last, host)
		} else {
			first = append(first, host)
		}
	}
	ordered := append(first, last...)
	return t.recording(func() gocql.SelectedHost {
		if len(ordered) == 0 {
			return nil
		}
		host := ordered[0]
		ordered = ordered[1:]
		return host
	})
}

// isSilent reports whether a node has not answered for longer than silentAfter, for a caller that
// waits for its answer.
func (n *nodes) isSilent(id string) bool {
	p, known := n.live.Load(id)
	return known && p.(*liveness).quiet(n.now())
}

// another reports whether a node other than the one given answers.
func (n *nodes) another(id string) (found bool) {
	now := n.now()
	n.live.Range(func(key, value any) bool {
		p := value.(*liveness)
		found = key != id && key != "" && !p.down.Load() && !p.silent(now)
		return !found
	})
	return found
}

// attempt is the context of a statement that may be sent to a second node. The driver
// passes it to the policy, which has no other way to know what it picks a node for.
type attempt struct {
	context.Context
	hedged   bool                   // it is a second attempt
	avoid    string                 // the node to ask last; "" for none
	lastNode atomic.Pointer[string] // the node that was picked last
	queued   atomic.Bool            // it waits at the gate
}

// setQueued records whether the attempt waits at the gate.
func (t *attempt) setQueued(waits bool) {
	if t != nil {
		t.queued.Store(waits)
	}
}

func (t *attempt) avoids(host *gocql.HostInfo) bool {
	return t != nil && t.avoid != "" && t.avoid == host.HostID()
}

// recording returns next with each picked node recorded.
func (t *attempt) recording(next gocql.NextHost) gocql.NextHost {
	if t == nil {
		return next
	}
	return func() gocql.SelectedHost {
		host := next()
		if host != nil {
			id := host.Info().HostID()
			t.lastNode.Store(&id)
		}
		return host
	}
}
