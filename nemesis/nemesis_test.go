package nemesis

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"carrel/cassandra"
	"carrel/cassandra/cassandratest"
	"carrel/library"
)

var (
	seedFlag    = flag.Uint64("seed", 1, "what the faults and the load of TestNemesis are drawn from")
	minutesFlag = flag.Int("minutes", 0, "how long TestNemesis goes on with further rounds of faults; 0: one round")
)

// Times of the nemesis.
const (
	calm         = 2 * time.Second // between two faults
	refuseWithin = 5 * time.Second // PROTOCOL.md: where no compare-and-set was sent
	// latency is what the way to a gateway and back may add on a machine that
	// runs three nodes, two gateways and their load on two cores.
	latency = time.Second
)

// nemesis breaks nodes, one after the other, and gateways beside them.
type nemesis struct {
	t        *testing.T
	cluster  *cassandratest.Cluster
	gateways []*process
	load     *load
	// random is that of the nodes' faults, chance that of the gateways'.
	random, chance *rand.Rand
	// serving is held while a gateway is down, and while all of them must serve.
	serving sync.Mutex

	mu      sync.Mutex
	faults  map[string]int
	slowest time.Duration // refusal while two of three nodes were down
	refused int           // of the mutations that were tried then
}

// trouble is one kind of fault.
type trouble struct {
	name  string
	times int // in each round
	make  func(*nemesis) error
}

var gatewayTroubles = []trouble{
	{"a gateway is killed", 7, (*nemesis).killGateway},
	{"a gateway is stopped and started", 1, (*nemesis).restartGateway},
	{"a gateway pauses", 3, func(n *nemesis) error { return n.pauseGateway(time.Duration(1+n.chance.IntN(3)) * time.Second) }},
	// Longer than others wait before they take its changes over.
	{"a gateway pauses for long", 1, func(n *nemesis) error { return n.pauseGateway(18 * time.Second) }},
}

var nodeTroubles = []trouble{
	{"a node pauses", 6, (*nemesis).pauseNode},
	{"a node is killed", 1, (*nemesis).killNode},
	{"a node is restarted", 1, (*nemesis).restartNode},
	{"two nodes pause", 1, (*nemesis).pauseTwo},
	{"two nodes are killed", 1, (*nemesis).killTwo},
}

// wait lets time pass while the load goes on.
func (n *nemesis) wait(d time.Duration) { breathe(n.t.Context(), d) }

// gateway is one of them, of which the others know that it will not serve
// until back is called.
func (n *nemesis) gateway() (g *process, back func()) {
	n.serving.Lock()
	return n.gateways[n.chance.IntN(len(n.gateways))], n.serving.Unlock
}

func (n *nemesis) killGateway() error {
	g, back := n.gateway()
	defer back()
	if err := g.end(syscall.SIGKILL); err != nil {
		return err
	}
	n.wait(time.Duration(n.chance.IntN(2000)) * time.Millisecond)
	return g.start()
}

func (n *nemesis) restartGateway() error {
	g, back := n.gateway()
	defer back()
	if err := g.end(syscall.SIGTERM); err != nil {
		return err
	}
	return g.start()
}

func (n *nemesis) pauseGateway(d time.Duration) error {
	g, back := n.gateway()
	defer back()
	if err := g.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	n.wait(d)
	return g.signal(syscall.SIGCONT)
}

func (n *nemesis) pauseNode() error {
	i := n.random.IntN(3)
	if err := n.cluster.Pause(i); err != nil {
		return err
	}
	n.wait(time.Duration(1+n.random.IntN(4)) * time.Second)
	return n.cluster.Resume(i)
}

func (n *nemesis) killNode() error {
	i := n.random.IntN(3)
	if err := n.cluster.Kill(i); err != nil {
		return err
	}
	n.wait(time.Duration(1+n.random.IntN(4)) * time.Second)
	return n.backAgain(i)
}

func (n *nemesis) restartNode() error { return n.backAgain(n.random.IntN(3)) }

// backAgain starts nodes and waits until the cluster is whole: what follows
// would otherwise take a majority away. The first node is the one that others
// join the cluster by, so it comes first.
func (n *nemesis) backAgain(nodes ...int) error {
	slices.Sort(nodes)
	for _, i := range nodes {
		if err := n.cluster.Restart(n.t.Context(), i); err != nil {
			return err
		}
	}
	return n.cluster.AwaitAll(n.t.Context())
}

func (n *nemesis) pauseTwo() error {
	n.serving.Lock()
	defer n.serving.Unlock()
	two := n.random.Perm(3)[:2]
	for _, i := range two {
		if err := n.cluster.Pause(i); err != nil {
			return err
		}
	}
	n.refuses()
	for _, i := range two {
		if err := n.cluster.Resume(i); err != nil {
			return err
		}
	}
	return n.cluster.AwaitAll(n.t.Context())
}

func (n *nemesis) killTwo() error {
	n.serving.Lock()
	defer n.serving.Unlock()
	two := n.random.Perm(3)[:2]
	for _, i := range two {
		if err := n.cluster.Kill(i); err != nil {
			return err
		}
	}
	n.refuses()
	return n.backAgain(two...)
}

// refuses tries mutations while a majority is gone: each must be refused in
// time, with a code that says so, and a reading must not make anything up.
func (n *nemesis) refuses() {
	owner := n.load.owners[0]
	for try := range 6 {
		g := n.gateways[try%len(n.gateways)]
		began := time.Now()
		a := g.post(n.load.tokens[owner], createItem, vars{"in": vars{"name": fmt.Sprintf("refused-%d-%d", n.refused, try), "kind": "NOTE", "title": "x", "visibility": "PRIVATE"}})
		took := time.Since(began)
		n.slowest = max(n.slowest, took)
		if a.code != "UNAVAILABLE" {
			n.t.Errorf("with two of three nodes down a mutation was answered %v", a)
		}
		if took > refuseWithin+latency {
			n.t.Errorf("with two of three nodes down a mutation was refused after %s", took)
		}
		n.refused++
		if r := g.post("", readItem, vars{"id": "c:acme:never-made"}); r.at("content") != nil {
			n.t.Errorf("a reading made up %v", r)
		}
	}
}

// round makes every kind of trouble, in an order of its own: that of gateways
// beside that of nodes.
func (n *nemesis) round() {
	var wait sync.WaitGroup
	defer wait.Wait()
	wait.Go(func() { n.trouble(gatewayTroubles, n.chance) })
	wait.Go(func() { n.trouble(nodeTroubles, n.random) })
}

func (n *nemesis) trouble(kinds []trouble, random *rand.Rand) {
	var all []trouble
	for _, one := range kinds {
		for range one.times {
			all = append(all, one)
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, one := range all {
		before, began := n.load.figures.Acknowledged.Load(), time.Now()
		if err := one.make(n); err != nil {
			n.t.Errorf("%s: %v", one.name, err)
			return
		}
		n.mu.Lock()
		n.faults[one.name]++
		n.mu.Unlock()
		n.t.Logf("%s: %.1f s, %d mutations acknowledged meanwhile", one.name, time.Since(began).Seconds(), n.load.figures.Acknowledged.Load()-before)
		n.wait(calm)
	}
}

// TestNemesis loads three nodes through two gateways while all of them are
// killed, stopped and started. Nothing acknowledged may be lost, nothing may
// happen twice, nothing withdrawn may show, and at the end everything is right.
func TestNemesis(t *testing.T) {
	cluster, err := cassandratest.Start(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	if !cluster.Owned() {
		t.Fatal("the nodes of CASSANDRA_HOSTS cannot be killed: unset it")
	}
	keyspace := fmt.Sprintf("nemesis_%d", time.Now().UnixNano())
	s := newSite(t, cluster.Hosts, keyspace, 3)
	n := &nemesis{t: t, cluster: cluster, gateways: []*process{s.serve("a"), s.serve("b")},
		random: rand.New(rand.NewPCG(*seedFlag, 0)), chance: rand.New(rand.NewPCG(*seedFlag, 1<<32)), faults: map[string]int{}}
	n.load = newLoad(t, n.gateways...)
	n.load.start(t, *seedFlag)
	endSkewed := n.startSkewed(cassandra.Options{Hosts: cluster.Hosts, Keyspace: keyspace})
	began := time.Now()
	for first := true; !t.Failed() && (first || time.Since(began) < time.Duration(*minutesFlag)*time.Minute); first = false {
		n.round()
	}
	took := time.Since(began)
	n.load.end()
	endSkewed()
	s.audit(3 * time.Minute)
	n.load.judge(t)
	n.print(took)
}

// startSkewed has a third gateway, whose clock is 2 s ahead of the others', race
// for the same items; the function that it gives ends that.
func (n *nemesis) startSkewed(o cassandra.Options) (end func()) {
	d := openDoor(n.t, o, 2*time.Second, library.WholeProtocol)
	ctx, stop := context.WithCancel(n.t.Context())
	random := rand.New(rand.NewPCG(*seedFlag, 2000))
	raced := make(chan struct{})
	go func() {
		defer close(raced)
		n.load.history.race(ctx, n.load, d.service, random)
	}()
	return func() {
		stop()
		<-raced
		within, cancel := context.WithTimeout(n.t.Context(), stopWithin)
		defer cancel()
		if err := d.journal.Drain(within, d.service); err != nil {
			n.t.Errorf("the skewed gateway: %v", err)
		}
		d.close(n.t)
	}
}

// print tells what was done and found, for docs/.
func (n *nemesis) print(took time.Duration) {
	total := 0
	var b strings.Builder
	for _, one := range slices.Concat(gatewayTroubles, nodeTroubles) {
		total += n.faults[one.name]
		fmt.Fprintf(&b, "\n  %3d x %s", n.faults[one.name], one.name)
	}
	fmt.Printf("seed %d: %d faults in %s\n%d items, %s\nmutations refused with two of three nodes down: %d, the slowest after %.1f s%s\n",
		*seedFlag, total, took.Round(time.Second), len(n.load.ledger.all()), &n.load.figures, n.refused, n.slowest.Seconds(), b.String())
	if total < 20 {
		n.t.Errorf("only %d faults", total)
	}
}
