package cassandratest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gocql/gocql"
)

// startWithin bounds the start of one node. Seven seconds are usual on two idle
// cores; two minutes were seen on a machine with fifty others in its queue.
const startWithin = 10 * time.Minute

// Ports of a node. All nodes have the same ones, each on its own address.
const (
	cqlPort     = "9042"
	storagePort = "7000"
	// claimPort is held by the process that has an address range, as long as it
	// has it, so that two clusters never mean to use the same one.
	claimPort = "7099"
)

// Cluster is a Cassandra cluster that answers.
type Cluster struct {
	// Hosts are the addresses of the nodes.
	Hosts []string

	nodes []*node
	dir   string
	owner *os.File
	claim net.Listener
}

// Start starts a cluster of one or three nodes, or gives the one of
// CASSANDRA_HOSTS. The error tells in one line what is missing.
func Start(ctx context.Context, nodes int) (*Cluster, error) {
	if hosts := os.Getenv("CASSANDRA_HOSTS"); hosts != "" {
		return &Cluster{Hosts: strings.Split(hosts, ",")}, nil
	}
	return StartWith(ctx, nodes, "")
}

// StartWith starts a cluster whose nodes have these lines at the end of their
// cassandra.yaml, whatever CASSANDRA_HOSTS says. They must answer to the user
// cassandra, with that word for a password, without TLS.
func StartWith(ctx context.Context, nodes int, lines string) (*Cluster, error) {
	return startWith(ctx, nodes, settings{Lines: lines})
}

// StartDurable starts one node that loses nothing that it has acknowledged when it is
// killed, whatever CASSANDRA_HOSTS says. Those of Start lose what they took in the last
// second, and their latest tables.
func StartDurable(ctx context.Context) (*Cluster, error) {
	return startWith(ctx, 1, settings{Durable: true})
}

func startWith(ctx context.Context, nodes int, common settings) (*Cluster, error) {
	tokens := map[int][]string{1: {"0"}, 3: {"-9223372036854775808", "-3074457345618258603", "3074457345618258602"}}[nodes]
	if tokens == nil {
		return nil, fmt.Errorf("a test cluster has 1 or 3 nodes, not %d", nodes)
	}
	java, err := javaPath(ctx)
	if err != nil {
		return nil, err
	}
	lib, err := artifacts(ctx)
	if err != nil {
		return nil, err
	}
	if err := sweep(); err != nil {
		return nil, fmt.Errorf("ending what an earlier test has left: %w", err)
	}
	c := new(Cluster)
	if err := c.start(ctx, java, lib, tokens, common); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Owned tells whether the nodes were started by Start, so that they may be
// killed and paused.
func (c *Cluster) Owned() bool { return c.nodes != nil }

// start starts a node for each token.
func (c *Cluster) start(ctx context.Context, java, lib string, tokens []string, common settings) (err error) {
	if c.dir, c.owner, err = newDir(); err != nil {
		return err
	}
	addresses, claim, err := freeAddresses(len(tokens))
	if err != nil {
		return err
	}
	c.claim, c.Hosts = claim, addresses
	for i, token := range tokens {
		dir := filepath.Join(c.dir, fmt.Sprintf("node%d", i+1))
		// Whichever of them are up, a node that comes back finds the others by them.
		common.Token, common.Address, common.Seeds = token, addresses[i], strings.Join(addresses, ",")
		n, err := newNode(java, lib, dir, i, common)
		if err != nil {
			return err
		}
		n.forgetful = len(tokens) == 1 && !common.Durable
		c.nodes = append(c.nodes, n)
	}
	// The first one makes the cluster, the others join it together.
	if err := c.startNodes(ctx, c.nodes[:1]); err != nil {
		return err
	}
	if len(c.nodes) == 1 {
		return nil
	}
	if err := c.startNodes(ctx, c.nodes[1:]); err != nil {
		return err
	}
	return c.AwaitAll(ctx)
}

func (c *Cluster) startNodes(ctx context.Context, nodes []*node) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for _, n := range nodes {
		if err := n.start(); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		if err := n.awaitAnswer(ctx); err != nil {
			return err
		}
	}
	return nil
}

// AwaitAll waits until every node of three sees all of them alive.
func (c *Cluster) AwaitAll(ctx context.Context) error {
	if len(c.nodes) < 3 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()
	for _, host := range c.Hosts {
		for {
			// This table has three replicas from the start.
			err := ask(ctx, host, "SELECT id FROM system_distributed.repair_history WHERE keyspace_name='none' AND columnfamily_name='none'", true)
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("the node %s does not see the whole cluster: %w", host, err)
			case <-ticks.C:
			}
		}
	}
	return nil
}

// ask has a node answer a query, with all replicas if so wanted.
func ask(ctx context.Context, address, query string, all bool) error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address, cqlPort))
	if err != nil {
		return err
	}
	_ = conn.Close()
	session, err := connect(address, 5*time.Second)
	if err != nil {
		return err
	}
	defer session.Close()
	level := gocql.One
	if all {
		level = gocql.All
	}
	return session.Query(query).WithContext(ctx).Consistency(level).Exec()
}

// connect connects to one node, which may take a while for each answer.
func connect(address string, while time.Duration) (*gocql.Session, error) {
	cfg := gocql.NewCluster(address)
	cfg.ProtoVersion = 4
	cfg.Timeout, cfg.ConnectTimeout = while, 5*time.Second
	cfg.NumConns = 1
	cfg.Authenticator = gocql.PasswordAuthenticator{Username: "cassandra", Password: "cassandra"}
	cfg.DisableInitialHostLookup = true
	cfg.Logger = silent{}
	return cfg.CreateSession()
}

// silent keeps what the driver says of nodes that do not answer yet.
type silent struct{}

func (silent) Print(...any)          {}
func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

// freeAddresses finds addresses of 127.0.0.0/8 whose ports nobody uses, one
// after the other, and claims them.
func freeAddresses(n int) (addresses []string, claim net.Listener, err error) {
	for range 100 {
		net8 := fmt.Sprintf("127.%d.%d.", 1+rand.IntN(250), rand.IntN(256))
		claim, err = net.Listen("tcp", net.JoinHostPort(net8+"1", claimPort))
		if err != nil {
			continue
		}
		addresses = nil
		for i := 1; i <= n && err == nil; i++ {
			address := fmt.Sprintf("%s%d", net8, i)
			err = errors.Join(probe(address, cqlPort), probe(address, storagePort))
			addresses = append(addresses, address)
		}
		if err == nil {
			return addresses, claim, nil
		}
		_ = claim.Close()
	}
	return nil, nil, fmt.Errorf("no free addresses in 127.0.0.0/8 for a test cluster: %w", err)
}

// probe tells whether a port could be listened on.
func probe(address, port string) error {
	l, err := net.Listen("tcp", net.JoinHostPort(address, port))
	if err != nil {
		return err
	}
	return l.Close()
}

// errNotOwned is what those get who would kill nodes that we did not start.
var errNotOwned = errors.New("the nodes of CASSANDRA_HOSTS are not ours to stop")

// node gives a node, 0 being the first.
func (c *Cluster) node(i int) (*node, error) {
	if !c.Owned() {
		return nil, errNotOwned
	}
	if i < 0 || i >= len(c.nodes) {
		return nil, fmt.Errorf("there is no node %d of %d", i, len(c.nodes))
	}
	return c.nodes[i], nil
}

// Kill ends a node at once, as kill -9 does.
func (c *Cluster) Kill(i int) error {
	n, err := c.node(i)
	if err != nil {
		return err
	}
	return n.end(syscall.SIGKILL, startWithin)
}

// Shutdown ends a node as an operator does.
func (c *Cluster) Shutdown(i int) error {
	n, err := c.node(i)
	if err != nil {
		return err
	}
	return n.end(syscall.SIGTERM, startWithin)
}

// Pause stops a node's process without ending it: from its return on the
// connections stand, and nothing answers.
func (c *Cluster) Pause(i int) error {
	n, err := c.node(i)
	if err != nil {
		return err
	}
	return n.pause(startWithin)
}

// Resume has a paused node go on.
func (c *Cluster) Resume(i int) error {
	n, err := c.node(i)
	if err != nil {
		return err
	}
	return n.signal(syscall.SIGCONT)
}

// Restart starts nodes again with what they have stored, after it has ended
// those that still run, and waits until they answer. Any of them may be the
// first to come back, also when all were down.
func (c *Cluster) Restart(ctx context.Context, nodes ...int) error {
	var all []*node
	for _, i := range nodes {
		if err := c.Shutdown(i); err != nil {
			return err
		}
		all = append(all, c.nodes[i])
	}
	return c.startNodes(ctx, all)
}

// Log is the file that a node writes its log to, for a person who wants to see
// why it failed.
func (c *Cluster) Log(i int) (string, error) {
	n, err := c.node(i)
	if err != nil {
		return "", err
	}
	return n.logFile(), nil
}

// Lost tells of nodes that ended by themselves since they were last started:
// how, and what they said last. It is nil where there are none.
func (c *Cluster) Lost() error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.lost())
	}
	return errors.Join(errs...)
}

// Stop ends all nodes and removes what they have stored; it fails where one had
// ended by itself. A second call does nothing.
func (c *Cluster) Stop() error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.end(syscall.SIGKILL, startWithin))
	}
	c.nodes = nil
	if c.claim != nil {
		errs = append(errs, c.claim.Close())
		c.claim = nil
	}
	if c.dir != "" {
		errs = append(errs, os.RemoveAll(c.dir))
		c.dir = ""
	}
	if c.owner != nil {
		errs = append(errs, c.owner.Close())
		c.owner = nil
	}
	return errors.Join(errs...)
}
