package nemesis

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"carrel/cassandra/cassandratest"
	"carrel/core/commit"
)

const (
	// deathWithin exceeds the time that a statement waits for the death of the node.
	deathWithin = 30 * time.Second
	// allAtTheirSteps is how long all operations may take to reach their steps. Soon after that
	// they give up what they have not begun to decide.
	allAtTheirSteps = 4 * time.Second
)

// death is the death of a node in the middle of many parallel operations.
type death struct {
	armed chan *proxy
	// begin is closed when all operations are armed, and over when the node answers
	// again.
	begin, over chan struct{}
}

// await announces that a statement will wait for the death, and returns when all of them
// do.
func (d *death) await(p *proxy) {
	d.armed <- p
	<-d.begin
}

// strike kills the node when the statements of n encounters wait for that, and restarts
// it. It returns how many did wait, when the processes without a fault are connected
// again.
func (d *death) strike(t *testing.T, r *fixture, cluster *cassandratest.Cluster, n int) (met int) {
	t.Helper()
	defer close(d.over)
	var proxies []*proxy
	for range n {
		proxies = append(proxies, <-d.armed)
	}
	close(d.begin)
	limit := time.After(allAtTheirSteps)
	for _, p := range proxies {
		select {
		case <-p.held:
			met++
		case <-limit:
			p.busy.Store(true)
			limit = time.After(0)
		}
	}
	for _, p := range proxies {
		close(p.letGo)
	}
	if err := cluster.Kill(0); err != nil {
		t.Error(err)
	}
	if err := cluster.Restart(t.Context(), 0); err != nil {
		t.Error(err)
	}
	for _, instance := range []*instance{r.healthy, r.aheadBy(t, lapsed), r.aheadBy(t, 2*lapsed), r.aheadBy(t, 2*untilExpiry)} {
		until(t, runTimeout, "the node again", func() bool {
			_, err := commit.OpenLists(t.Context(), instance.store.Journal)
			return err == nil
		})
	}
	return met
}

// TestNodeDeath_AtEveryStep kills the node with kill -9 while operations that take names, write
// texts and change pastes are each at one of their steps. At half of the steps the request is just
// arriving; at the others the node has answered. When the node is back, the stored state is what
// clients were answered, and no name is held without an owner.
func TestNodeDeath_AtEveryStep(t *testing.T) {
	cluster, err := cassandratest.StartDurable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	r := fixtureOn(t, cluster.Hosts[0], "death")
	defer r.close(t)
	r.aheadBy(t, lapsed)
	r.aheadBy(t, 2*lapsed)
	r.aheadBy(t, 2*untilExpiry)
	d := &death{armed: make(chan *proxy), begin: make(chan struct{}), over: make(chan struct{})}
	n, met := 0, 0
	t.Run("steps", func(t *testing.T) {
		var wait sync.WaitGroup
		defer wait.Wait()
		for _, op := range slices.Concat(urlOperations, textOperations, leaseOperations, pasteOperations) {
			for _, s := range op.steps {
				n++
				c := encounter{r: r, op: op, step: s, fault: []faultKind{nodeBefore, nodeAfter}[n%2], death: d}
				c.id = fmt.Sprintf("%sdeath-%d", op.of.prefix, n)
				wait.Go(func() {
					t.Run(fmt.Sprintf("%s/%s/%s", op.name, s, c.fault), func(t *testing.T) {
						c.play(t)
						for _, wrong := range c.wrong {
							t.Error(wrong)
						}
					})
				})
			}
		}
		met = d.strike(t, r, cluster, n)
	})
	if t.Logf("%d of %d operations were at their step when the node died", met, n); met == 0 {
		t.Error("the node died while no operation was running")
	}
	r.clean(t)
}
