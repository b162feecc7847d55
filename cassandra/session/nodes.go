package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
)

// silentAfter is how long a node may leave everything that it was asked without an
// answer until others are asked first. A collection of its garbage takes less
// as a rule; where it takes more, all that is lost is that another node
// coordinates for a moment.
const silentAfter = 400 * time.Millisecond

// nodes is the driver's policy of which node a statement is sent to: that of
// the policy within, with nodes that have fallen silent behind all others. A
// node that hangs, rather than being gone, keeps its connections, and it is a
// minute until the driver gives them up; so each statement sent to it would
// wait until its time is over.
//
// Compare-and-sets profit most: they are sent once, and while it is unknown
// whether one was applied its change cannot go on.
type nodes struct {
	gocql.HostSelectionPolicy
	now     func() time.Duration // since the policy was made: no clock that is set touches it
	opening *opening

	live sync.Map // of *pulse, by the node's id
}

// liveness is what is known of a node's answers.
//
// Requests without an answer are not counted: the driver does not tell of those
// on a connection that it closes itself, and a count would never be nothing
// again. So an answer settles all that was asked before it. A node that hangs
// after it is known for it when it is asked once more, by the driver's
// heartbeats within some seconds.
type liveness struct {
	pending atomic.Bool  // it was asked since it last answered
	since   atomic.Int64 // when it last answered, or was first asked after that; as nodes.now
	down    atomic.Bool  // the driver has no connection to it, or the cluster does not have it any more
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

// AddHost is called when the cluster has got a node.
func (n *nodes) AddHost(host *gocql.HostInfo) {
	n.opening.found(host)
	n.livenessOf(host).down.Store(false)
	n.HostSelectionPolicy.AddHost(host)
}

// SetPartitioner is called when the driver has looked at the cluster, before it
// connects to the nodes.
func (n *nodes) SetPartitioner(partitioner string) {
	n.opening.located()
	n.HostSelectionPolicy.SetPartitioner(partitioner)
}

// Ready implements the driver's ReadyPolicy.
func (n *nodes) Ready() bool { return n.opening.ready() }

// RemoveHost is called when the cluster has lost one.
func (n *nodes) RemoveHost(host *gocql.HostInfo) {
	n.livenessOf(host).down.Store(true)
	n.HostSelectionPolicy.RemoveHost(host)
}

// HostUp is called when the driver has a connection to a node again, on which
// the node has answered. What it owed is gone with those that it had.
func (n *nodes) HostUp(host *gocql.HostInfo) {
	p := n.livenessOf(host)
	p.pending.Store(false)
	p.down.Store(false)
	n.HostSelectionPolicy.HostUp(host)
}

// HostDown is called when it has none any more.
func (n *nodes) HostDown(host *gocql.HostInfo) {
	n.livenessOf(host).down.Store(true)
	n.HostSelectionPolicy.HostDown(host)
}

// StreamContext implements the driver's StreamObserver: it is told of every
// request and answer, those that keep connections alive included.
func (n *nodes) StreamContext(context.Context) gocql.StreamObserverContext { return n }

// StreamStarted is called when a request is sent. It is noted when before it is
// noted that it is: between the two the node owes nothing.
func (n *nodes) StreamStarted(s gocql.ObservedStream) {
	p := n.livenessOf(s.Host)
	if !p.pending.Load() {
		p.since.Store(int64(n.now()))
		p.pending.Store(true)
	}
}

// StreamFinished is called when its answer comes, however late.
func (n *nodes) StreamFinished(s gocql.ObservedStream) {
	p := n.livenessOf(s.Host)
	p.since.Store(int64(n.now()))
	p.pending.Store(false)
}

// StreamAbandoned is called when its connection fails before that, which is no
// answer.
func (n *nodes) StreamAbandoned(gocql.ObservedStream) {}

// quiet tells whether a node has given no answer for a while. It may not have
// been asked.
func (p *liveness) quiet(now time.Duration) bool {
	return now-time.Duration(p.since.Load()) > silentAfter
}

// silent tells whether a node was asked, and has given no answer for a while.
func (p *liveness) silent(now time.Duration) bool { return p.pending.Load() && p.quiet(now) }

// anySilent tells whether there is such a node among those that a statement may
// be sent to. A node that is gone may owe answers for as long as it is, and one
// that the driver had no id of yet for ever.
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

// isSilent tells of a node, by its id, that the caller waits for an answer of:
// it owes that one, whatever it has answered since it was asked.
func (n *nodes) isSilent(id string) bool {
	p, known := n.live.Load(id)
	return known && p.(*liveness).quiet(n.now())
}

// another tells whether a node other than the one given answers.
func (n *nodes) another(id string) (found bool) {
	now := n.now()
	n.live.Range(func(key, value any) bool {
		p := value.(*liveness)
		found = key != id && key != "" && !p.down.Load() && !p.silent(now)
		return !found
	})
	return found
}

// attempt is the context of a statement that may be sent to a second node. The
// driver hands it to the policy, which has no other way to know what it picks
// a node for.
type attempt struct {
	context.Context
	hedged   bool                   // beside a first try that takes long
	avoid    string                 // node that comes last; "" for none
	lastNode atomic.Pointer[string] // node picked last
	queued   atomic.Bool            // it has no place yet among the statements under way
}

// setQueued notes that the try begins to wait for its place, or has it.
func (t *attempt) setQueued(waits bool) {
	if t != nil {
		t.queued.Store(waits)
	}
}

func (t *attempt) avoids(host *gocql.HostInfo) bool {
	return t != nil && t.avoid != "" && t.avoid == host.HostID()
}

// recording has the nodes noted that are picked.
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
