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

	"carrel/cassandra/cassandratest"
)

var (
	seedFlag    = flag.Uint64("seed", 1, "the seed of the faults and the load of TestNemesis")
	minutesFlag = flag.Int("minutes", 0, "how long TestNemesis goes on with further rounds of faults; 0: one round")
)

// Times of the nemesis.
const (
	calm         = time.Second     // between two faults
	refuseWithin = 5 * time.Second // docs/write-protocol.md: if no compare-and-set was sent
	// latency is what the round trip to a gateway may add on a machine that runs three nodes, two
	// gateways and their load on two cores. Where other work slows everything down, each of the
	// few steps of a refusal may take as long as the slowest answer that needs no store, so
	// strainSteps times that duration is added.
	latency     = time.Second
	strainSteps = 5
	// fewest is the minimum number of faults in a run, however long they take.
	fewest = 20
)

// nemesis breaks nodes, one after the other, and at the same time gateways.
type nemesis struct {
	t        *testing.T
	cluster  *cassandratest.Cluster
	gateways []*process
	load     *load
	eve      string // the token of the owner of untouched
	// random is for the faults of nodes, chance for those of gateways.
	random, chance *rand.Rand
	// serving is held while a gateway is down, and while all of them must serve.
	serving sync.Mutex

	hangs []hang
	// copies are counted in gateways before they are ended, and at the end of the load.
	copies copyCounts

	mu     sync.Mutex
	faults map[string]int
	times  []span // of all faults
	outage outage
}

// outage is what clients met while two of three nodes were down.
type outage struct {
	refused         int           // mutations
	slowest, strain time.Duration // the slowest refusal, and the slowest answer that needs no store
	looked, shown   int           // reads, and those that were answered
}

// trouble is a kind of fault.
type trouble struct {
	name  string
	times int // in each round
	make  func(*nemesis) error
}

var gatewayTroubles = []trouble{
	{"a gateway is killed", 7, (*nemesis).killGateway},
	{"all gateways are stopped and started, one after the other", 1, (*nemesis).restartGateways},
	{"a gateway pauses", 3, func(n *nemesis) error { return n.pauseGateway(time.Duration(1+n.chance.IntN(3)) * time.Second) }},
	// Longer than others wait before they take over its changes.
	{"a gateway pauses for long", 1, func(n *nemesis) error { return n.pauseGateway(18 * time.Second) }},
}

var nodeTroubles = []trouble{
	{"a node pauses", 6, (*nemesis).pauseNode},
	{"a node is killed", 1, (*nemesis).killNode},
	{"all nodes are stopped and started, one after the other", 1, (*nemesis).restartNodes},
	{"two nodes pause", 1, (*nemesis).pauseTwo},
	{"two nodes are killed", 1, (*nemesis).killTwo},
}

// wait waits while the load goes on.
func (n *nemesis) wait(d time.Duration) { pauseFor(n.t.Context(), d) }

// gateway returns one of the gateways. Faults that need all gateways wait until back is called.
func (n *nemesis) gateway() (g *process, back func()) {
	n.serving.Lock()
	return n.gateways[n.chance.IntN(len(n.gateways))], n.serving.Unlock
}

func (n *nemesis) killGateway() error {
	g, back := n.gateway()
	defer back()
	if err := n.end(g, syscall.SIGKILL); err != nil {
		return err
	}
	n.wait(time.Duration(n.chance.IntN(2000)) * time.Millisecond)
	return g.start()
}

func (n *nemesis) restartGateways() error {
	n.serving.Lock()
	defer n.serving.Unlock()
	for _, g := range n.gateways {
		if err := n.end(g, syscall.SIGTERM); err != nil {
			return err
		}
		if err := g.start(); err != nil {
			return err
		}
	}
	return nil
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

func (n *nemesis) killNode() error {
	i := n.random.IntN(3)
	if err := n.cluster.Kill(i); err != nil {
		return err
	}
	n.wait(time.Duration(1+n.random.IntN(4)) * time.Second)
	return n.backAgain(i)
}

func (n *nemesis) restartNodes() error {
	for _, i := range n.random.Perm(3) {
		if err := n.backAgain(i); err != nil {
			return err
		}
	}
	return nil
}

// backAgain starts nodes and waits until the cluster is complete. Otherwise the next
// fault would take a majority away.
func (n *nemesis) backAgain(nodes ...int) error {
	n.load.slowed.Store(true)
	defer n.load.slowed.Store(false)
	if err := n.cluster.Restart(n.t.Context(), nodes...); err != nil {
		return err
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
	n.checkRefusals()
	for _, i := range two {
		if err := n.cluster.Resume(i); err != nil {
			return err
		}
	}
	return n.backAgain()
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
	n.checkRefusals()
	return n.backAgain(two...)
}

// untouched is an item that only checkRefusals tries to change.
const untouched = "c:acme:untouched"

// prepare creates what checkRefusals tries to change.
func (n *nemesis) prepare() {
	g := n.gateways[0]
	n.eve = g.user(n.t, "eve")
	g.must(n.t, n.eve, createItem, vars{"in": vars{"name": "untouched", "kind": "NOTE", "title": "x", "visibility": "PRIVATE"}})
}

// toRefuse returns one of the kinds of mutations.
func (n *nemesis) toRefuse(try int) (text string, in vars) {
	switch try % 4 {
	case 0:
		return createItem, vars{"name": fmt.Sprintf("refused-%d", n.outage.refused), "kind": "NOTE", "title": "x", "visibility": "PRIVATE"}
	case 1:
		return updateItem, vars{"id": untouched, "title": "y"}
	case 2:
		return shareItem, vars{"contentId": untouched, "principalIds": []string{"u:acme:eve"}}
	}
	return deleteItem, vars{"id": untouched}
}

// checkRefusals tries mutations and reads while a majority is down. Each mutation must be refused
// in time, with a code that says so, and each read must be refused or return the right data.
func (n *nemesis) checkRefusals() {
	l, out := n.load, &n.outage
	strained := n.strain()
	slowest := time.Duration(0)
	for try := range 8 {
		g := n.gateways[try/4%len(n.gateways)]
		text, in := n.toRefuse(try)
		began := time.Now()
		a := g.post(n.eve, text, vars{"in": in})
		slowest = max(slowest, time.Since(began))
		if a.code != "UNAVAILABLE" {
			n.t.Errorf("with two of three nodes down %.40s was answered %v", text, a)
		}
		out.refused++
		items := l.ledger.all()
		if len(items) == 0 {
			continue
		}
		late := items[max(0, len(items)-writers*kept):]
		for _, ok := range []bool{
			l.lookAtItem(late[n.random.IntN(len(late))], "", n.random),
			l.lookAtLibrary(items, l.owners[n.random.IntN(len(l.owners))], "", n.random),
			l.lookThrough(l.ledger.anyGroup(n.random), l.readers[n.random.IntN(len(l.readers))], n.random),
		} {
			out.looked++
			if ok {
				out.shown++
			}
		}
	}
	strain := strained()
	out.slowest, out.strain = max(out.slowest, slowest), max(out.strain, strain)
	if slowest > refuseWithin+latency+strainSteps*strain {
		n.t.Errorf("with two of three nodes down a mutation was refused after %s, while answers that need no store take %s", slowest, strain)
	}
}

// strain sends the gateways requests that need no store until the function that it
// returns is called, which returns the longest time that one took.
func (n *nemesis) strain() (longest func() time.Duration) {
	ctx, stop := context.WithCancel(n.t.Context())
	most, ended := time.Duration(0), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			began := time.Now()
			pauseFor(ctx, 20*time.Millisecond)
			if a := n.gateways[i%len(n.gateways)].post("", `{ __typename }`, nil); a.verdict != done {
				n.t.Errorf("a request that needs no store was answered %v", a)
			}
			most = max(most, time.Since(began)-20*time.Millisecond)
		}
	}()
	return func() time.Duration {
		stop()
		<-ended
		return most
	}
}

// round runs every kind of fault in random order, those of gateways in parallel with
// those of nodes.
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
		if n.t.Failed() {
			return // a later fault could hide the message about the failure
		}
		before, began := n.load.figures.Acknowledged.Load(), time.Now()
		if err := one.make(n); err != nil {
			n.t.Errorf("%s: %v", one.name, err)
			return
		}
		n.mu.Lock()
		n.faults[one.name]++
		n.times = append(n.times, span{began, time.Now()})
		n.mu.Unlock()
		n.t.Logf("%s: %.1f s, %d mutations acknowledged meanwhile", one.name, time.Since(began).Seconds(),
			n.load.figures.Acknowledged.Load()-before)
		n.wait(calm)
	}
}

// TestNemesis loads three nodes through two gateways, whose clocks are 2 s apart, while
// all of them are killed, stopped and started. No acknowledged change may be lost, no
// change may happen twice, nothing withdrawn may be shown, and at the end everything is
// consistent.
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
	cache := headerCache(*headerCacheFlag)
	n := &nemesis{t: t, cluster: cluster, gateways: []*process{s.serve("a", cache...), s.serveAhead("b", cache...)},
		random: rand.New(rand.NewPCG(*seedFlag, 0)), chance: rand.New(rand.NewPCG(*seedFlag, 1<<32)), faults: map[string]int{}}
	n.prepare()
	n.load = newLoad(t, n.gateways...)
	n.load.start(t, *seedFlag)
	began := time.Now()
	n.round()
	for !t.Failed() && time.Since(began) < time.Duration(*minutesFlag)*time.Minute {
		n.load.history.prepare(t, n.load)
		n.load.prepareGroups(t)
		n.round()
	}
	took := time.Since(began)
	n.load.end()
	for _, g := range n.gateways {
		if err := n.countCopies(g); err != nil {
			t.Error(err)
		}
	}
	if a := n.gateways[0].must(t, n.eve, readItem, vars{"id": untouched}); a.number("content.version") != 1 || a.at("content.title") != "x" {
		t.Errorf("a refused mutation has happened: %v", a)
	}
	s.audit()
	n.load.check(t)
	n.print(took)
}

// print prints the figures of the run, for docs/.
func (n *nemesis) print(took time.Duration) {
	total := 0
	var b strings.Builder
	for _, one := range slices.Concat(gatewayTroubles, nodeTroubles) {
		total += n.faults[one.name]
		fmt.Fprintf(&b, "\n  %3d x %s", n.faults[one.name], one.name)
	}
	out, f := &n.outage, &n.load.figures
	fmt.Printf("seed %d: %d faults in %s\n%d items, %s; %s\n%s\n", *seedFlag, total, took.Round(time.Second),
		len(n.load.ledger.all()), f.totals(), n.copies, f.groupTotals())
	fmt.Printf("with two of three nodes down: %d mutations refused, the slowest after %.1f s (%.2f s without a "+
		"store); %d reads, %d of them answered%s\n",
		out.refused, out.slowest.Seconds(), out.strain.Seconds(), out.looked, out.shown, b.String())
	fmt.Printf("over the whole run %.1f mutations a second were acknowledged\n", float64(f.Acknowledged.Load())/took.Seconds())
	hung := n.printHangs()
	if n.t.Failed() {
		return // the run was cut short, so the checks below need not hold
	}
	f.requireGroups(n.t)
	if err := n.copies.check(*headerCacheFlag != 0 && *minutesFlag > 0); err != nil {
		n.t.Error(err)
	}
	for _, one := range slices.Concat(gatewayTroubles, nodeTroubles) {
		if n.faults[one.name] == 0 {
			n.t.Errorf("this fault never happened: %s", one.name)
		}
	}
	if hung.during == 0 {
		n.t.Errorf("no mutation was acknowledged while a node hung, in %s from a second on", hung.duringFor)
	}
	if total < fewest {
		n.t.Errorf("only %d faults", total)
	}
}
