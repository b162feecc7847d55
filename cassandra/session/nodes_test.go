package session

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocql/gocql"
)

// fixedOrder is a policy that always returns the same nodes.
type fixedOrder struct {
	gocql.HostSelectionPolicy
	hosts []*gocql.HostInfo
}

type picked struct{ host *gocql.HostInfo }

func (p picked) Info() *gocql.HostInfo { return p.host }
func (p picked) Mark(error)            {}

func (f *fixedOrder) Pick(gocql.ExecutableQuery) gocql.NextHost {
	rest := f.hosts
	return func() gocql.SelectedHost {
		if len(rest) == 0 {
			return nil
		}
		host := rest[0]
		rest = rest[1:]
		return picked{host}
	}
}

func (*fixedOrder) AddHost(*gocql.HostInfo)    {}
func (*fixedOrder) RemoveHost(*gocql.HostInfo) {}
func (*fixedOrder) HostUp(*gocql.HostInfo)     {}
func (*fixedOrder) HostDown(*gocql.HostInfo)   {}

// threeNodes are a, b and c, with a clock that the test sets.
type threeNodes struct {
	*nodes
	t       *testing.T
	a, b, c *gocql.HostInfo
	clock   time.Duration
}

func newThreeNodes(t *testing.T) *threeNodes {
	host := func(id string) *gocql.HostInfo {
		h := new(gocql.HostInfo)
		h.SetHostID(id)
		return h
	}
	n := &threeNodes{t: t, a: host("a"), b: host("b"), c: host("c")}
	n.nodes = newNodes(&fixedOrder{hosts: []*gocql.HostInfo{n.a, n.b, n.c}}, newOpening(time.Second, false))
	n.now = func() time.Duration { return n.clock }
	return n
}

func (n *threeNodes) pass(d time.Duration) { n.clock += d }

func (n *threeNodes) asked(h *gocql.HostInfo)    { n.StreamStarted(gocql.ObservedStream{Host: h}) }
func (n *threeNodes) answered(h *gocql.HostInfo) { n.StreamFinished(gocql.ObservedStream{Host: h}) }
func (n *threeNodes) cut(h *gocql.HostInfo)      { n.StreamAbandoned(gocql.ObservedStream{Host: h}) }

// order returns the nodes in the order in which a statement would be sent to them.
func (n *threeNodes) order(ctx context.Context) []string {
	var ids []string
	next := n.Pick(new(gocql.Query).WithContext(ctx))
	for h := next(); h != nil; h = next() {
		ids = append(ids, h.Info().HostID())
	}
	return ids
}

func (n *threeNodes) wantOrder(why string, want ...string) {
	n.t.Helper()
	if got := n.order(n.t.Context()); !slices.Equal(got, want) {
		n.t.Errorf("%s: the order is %v, want %v", why, got, want)
	}
}

// A node that is down has no pending request, but must not count as one that answers.
func TestNodes_DownNodeDoesNotCountAsAnswering(t *testing.T) {
	n := newThreeNodes(t)
	for _, h := range []*gocql.HostInfo{n.a, n.b, n.c} {
		n.AddHost(h)
	}
	if !n.another("a") {
		t.Error("all are up, but none other than a answers")
	}
	n.HostDown(n.b)
	if !n.another("a") || !n.another("b") {
		t.Error("c answers")
	}
	n.RemoveHost(n.c)
	if n.another("a") || !n.another("b") {
		t.Error("a is the only one")
	}
	n.HostUp(n.b)
	if !n.another("a") {
		t.Error("b is there again")
	}
	n.RemoveHost(n.b)
	n.AddHost(n.c)
	if !n.another("a") || !n.another("c") {
		t.Error("a and c answer")
	}
}

func TestNodes_SilentNodeIsPickedLast(t *testing.T) {
	n := newThreeNodes(t)
	n.wantOrder("no request yet", "a", "b", "c")
	n.asked(n.a)
	n.pass(silentAfter)
	n.wantOrder("a still has time", "a", "b", "c")
	n.pass(1)
	n.wantOrder("a is silent", "b", "c", "a")
	if !n.another("a") || !n.another("b") {
		t.Error("another node than a, and than b, should answer")
	}
	n.asked(n.b)
	n.pass(silentAfter + 1)
	n.wantOrder("b too", "c", "a", "b")
	if !n.another("a") || n.another("c") {
		t.Error("only c answers, so there is no other node")
	}
	n.asked(n.c)
	n.pass(silentAfter + 1)
	n.wantOrder("if all are silent, the order does not change", "a", "b", "c")
	n.answered(n.a)
	n.wantOrder("a has answered, however late", "a", "b", "c")
	n.asked(n.a)
	n.pass(silentAfter + 1)
	n.answered(n.b)
	n.wantOrder("only b has answered", "b", "a", "c")
	n.cut(n.a)
	n.wantOrder("a failed connection is not an answer", "b", "a", "c")
	n.answered(n.a)
	n.wantOrder("a has answered too", "a", "b", "c")
}

// A node that answers one of many requests is slow but not silent. A caller that waits for
// another of them need not send one more to see that the node has stopped answering.
func TestNodes_AnyAnswerEndsSilence(t *testing.T) {
	n := newThreeNodes(t)
	for range 3 {
		n.asked(n.a)
	}
	for range 2 {
		n.pass(silentAfter)
		n.wantOrder("a is slow", "a", "b", "c")
		n.answered(n.a)
		n.asked(n.a)
	}
	n.answered(n.a)
	n.pass(silentAfter)
	if n.isSilent("a") {
		t.Error("a still has time")
	}
	n.pass(1)
	if !n.isSilent("a") {
		t.Error("a caller that waits for a must see that it is silent")
	}
	n.wantOrder("a caller that does not wait for a picks it first", "a", "b", "c")
	n.asked(n.a)
	n.wantOrder("it has time again", "a", "b", "c")
	n.pass(silentAfter + 1)
	n.wantOrder("a is silent", "b", "c", "a")
}

// The driver does not report the unanswered requests of a connection that it closes, also
// when it does so because other nodes report the node as down.
func TestNodes_HostUpForgetsPendingRequests(t *testing.T) {
	n := newThreeNodes(t)
	n.asked(n.a)
	n.HostDown(n.a)
	n.HostUp(n.a)
	n.pass(silentAfter + 1)
	n.wantOrder("a's pending requests are gone with its connections", "a", "b", "c")
	if !n.another("b") {
		t.Error("a answers")
	}
	n.answered(n.a) // an earlier request, however late
	n.asked(n.a)
	n.pass(silentAfter + 1)
	n.wantOrder("a is silent again", "b", "c", "a")
	if n.HostDown(n.a); n.anySilent(n.clock) {
		t.Error("a node that is gone cannot be picked, so the order does not matter")
	}
}

// The driver closes its control connection too, and reports neither that the node is down
// nor that it is up again.
func TestNodes_AnswerCountsForEarlierRequests(t *testing.T) {
	n := newThreeNodes(t)
	n.asked(n.a)
	n.pass(silentAfter + 1)
	n.wantOrder("a is silent", "b", "c", "a")
	n.asked(n.a) // on another connection
	n.answered(n.a)
	n.pass(silentAfter + 1)
	n.wantOrder("a has answered since", "a", "b", "c")
	n.asked(new(gocql.HostInfo)) // before the driver knows its id
	n.pass(silentAfter + 1)
	if n.anySilent(n.clock) {
		t.Error("a node without an id is never picked")
	}
	if !n.another("b") {
		t.Error("a answers")
	}
}

func TestNodes_SecondAttemptPicksAnotherNode(t *testing.T) {
	n := newThreeNodes(t)
	first := &attempt{Context: t.Context()}
	next := n.Pick(new(gocql.Query).WithContext(first))
	if first.lastNode.Load() != nil {
		t.Error("a node was recorded before it was picked")
	}
	next()
	if asked := first.lastNode.Load(); asked == nil || *asked != "a" {
		t.Fatalf("recorded was %v", asked)
	}
	next() // a retry
	if asked := first.lastNode.Load(); *asked != "b" {
		t.Errorf("recorded was %s", *asked)
	}
	if got, want := n.order(&attempt{Context: t.Context(), avoid: "a"}), []string{"b", "c", "a"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
	n.asked(n.b)
	n.pass(silentAfter + 1)
	if got, want := n.order(&attempt{Context: t.Context(), avoid: "a"}), []string{"c", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

// A conditional write is given up if its node is silent and another one answers, so that
// the caller can ask that one.
func TestDecideBy_GivesUpOnASilentNode(t *testing.T) {
	for _, c := range []struct {
		name    string
		silent  bool
		another bool
		took    time.Duration
		err     error
	}{
		{"the node is silent and another answers", true, true, giveUpAfter, errSilent},
		{"all are silent", true, false, 5 * time.Second, nil},
		{"the node is slow with this request alone", false, true, 5 * time.Second, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newThreeNodes(t)
				start := time.Now()
				n.now = func() time.Duration { return time.Since(start) }
				ctx, end := context.WithCancel(t.Context())
				defer end()
				begins := func(h *gocql.HostInfo, answers bool) {
					n.asked(h)
					for answers {
						n.asked(h)
						select {
						case <-time.After(silentAfter / 2):
							n.answered(h)
						case <-ctx.Done():
							return
						}
					}
				}
				go begins(n.a, !c.silent)
				go begins(n.b, c.another)
				go begins(n.c, false)
				synctest.Wait()
				began := time.Now()
				err := (&Session{nodes: n.nodes}).decideBy(ctx, func(ctx context.Context) error {
					n.Pick(new(gocql.Query).WithContext(ctx))()
					select {
					case <-time.After(5 * time.Second):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				if took := time.Since(began); took != c.took || err != c.err {
					t.Errorf("it ended with %v after %s, want %v after %s", err, took, c.err, c.took)
				}
				if err != nil && notApplied(err) {
					t.Error("it is reported as not applied")
				}
			})
		})
	}
}
