package cassandratest

import (
	"cmp"
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

// startTimeout limits the start of one node. On two idle cores it takes four seconds; on a machine
// with a load of fifty it took two minutes.
const startTimeout = 10 * time.Minute

// Ports of a node. All nodes use the same ones, each on its own address.
const (
	cqlPort     = "9042"
	storagePort = "7000"
	// claimPort is a port on which the process that has claimed an address range listens, so that
	// no two clusters use the same one.
	claimPort = "7099"
)

// Cluster is a running Cassandra cluster.
type Cluster struct {
	// Hosts are the addresses of the nodes.
	Hosts []string

	nodes []*node
	dir   string
	owner *os.File
	claim net.Listener
}

// Start starts a cluster of one or three nodes, or returns the one of CASSANDRA_HOSTS. The error
// says in one line what is missing.
func Start(ctx context.Context, nodes int) (*Cluster, error) {
	return startUnlessGiven(ctx, nodes, settings{})
}

// startUnlessGiven starts a cluster whose nodes all have the settings common. If CASSANDRA_HOSTS names a
// cluster, it returns that one instead, with the settings that it has.
func startUnlessGiven(ctx context.Context, nodes int, common settings) (*Cluster, error) {
	if hosts := os.Getenv("CASSANDRA_HOSTS"); hosts != "" {
		return &Cluster{Hosts: strings.Split(hosts, ",")}, nil
	}
	return startWith(ctx, nodes, common)
}

// StartWith starts a cluster whose nodes have additional lines in their cassandra.yaml, even if
// CASSANDRA_HOSTS is set. With these lines, the nodes must still accept the user cassandra with the
// password cassandra, without TLS.
func StartWith(ctx context.Context, nodes int, lines string) (*Cluster, error) {
	return startWith(ctx, nodes, settings{Lines: lines})
}

// StartDurable starts one node that keeps everything acknowledged when it is killed, even if
// CASSANDRA_HOSTS is set. Nodes of Start may lose the writes of the last second, and a single one
// also its latest tables.
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
		return nil, fmt.Errorf("removing the leftovers of an earlier test: %w", err)
	}
	archive, err := classArchive(ctx, java, lib)
	if err != nil {
		return nil, err
	}
	common.classes = "-XX:SharedArchiveFile=" + archive
	c := new(Cluster)
	if err := c.start(ctx, java, lib, tokens, common); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Owned reports whether this process started the nodes. Only then may they be killed and paused.
func (c *Cluster) Owned() bool { return c.nodes != nil }

// Dir returns the directory of the cluster. Node 0 keeps its files in the subdirectory node1, and
// so on. Dir returns "" for the nodes of CASSANDRA_HOSTS.
func (c *Cluster) Dir() string { return c.dir }

// PID returns the id of a node's process.
func (c *Cluster) PID(i int) (int, error) {
	n, err := c.node(i)
	if err != nil {
		return 0, err
	}
	return n.process.Pid, nil
}

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
	common.Forgetful = len(tokens) == 1 && !common.Durable
	common.Tombstones = cmp.Or(common.Tombstones, defaultTombstones)
	for i, token := range tokens {
		dir := filepath.Join(c.dir, fmt.Sprintf("node%d", i+1))
		// All nodes are seeds, so a node that restarts finds any others that run.
		common.Token, common.Address, common.Seeds = token, addresses[i], strings.Join(addresses, ",")
		n, err := newNode(java, lib, dir, i, common)
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, n)
	}
	// The first node forms the cluster, and the others join it together.
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
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
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
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
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

// ask sends a query to a node, with all replicas if all is set.
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

// connect connects to one node. timeout limits each request.
func connect(address string, timeout time.Duration) (*gocql.Session, error) {
	cfg := gocql.NewCluster(address)
	cfg.ProtoVersion = 4
	cfg.Timeout, cfg.ConnectTimeout = timeout, 5*time.Second
	cfg.NumConns = 1
	cfg.Authenticator = gocql.PasswordAuthenticator{Username: "cassandra", Password: "cassandra"}
	cfg.DisableInitialHostLookup = true
	cfg.Logger = silent{}
	return cfg.CreateSession()
}

// silent discards the driver's messages about nodes that do not answer yet.
type silent struct{}

func (silent) Print(...any)          {}
func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

// freeAddresses finds consecutive addresses of 127.0.0.0/8 whose ports are free, and claims them.
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

// probe returns an error if a port cannot be listened on.
func probe(address, port string) error {
	l, err := net.Listen("tcp", net.JoinHostPort(address, port))
	if err != nil {
		return err
	}
	return l.Close()
}

// errNotOwned is returned for attempts to stop nodes that we did not start.
var errNotOwned = errors.New("the nodes of CASSANDRA_HOSTS are not ours to stop")

// node returns a node. The first one is 0.
func (c *Cluster) node(i int) (*node, error) {
	if !c.Owned() {
		return nil, errNotOwned
	}
	if i < 0 || i >= len(c.nodes) {
		return nil, fmt.Errorf("no node %d in a cluster of %d", i, len(c.nodes))
	}
	return c.nodes[i], nil
}

// with does something with a node.
func (c *Cluster) with(i int, do func(n *node) error) error {
	n, err := c.node(i)
	if err != nil {
		return err
	}
	return do(n)
}

// Kill ends a node at once, like kill -9.
func (c *Cluster) Kill(i int) error {
	return c.with(i, func(n *node) error { return n.end(syscall.SIGKILL, startTimeout) })
}

// Shutdown stops a node as an operator does.
func (c *Cluster) Shutdown(i int) error {
	return c.with(i, func(n *node) error { return n.end(syscall.SIGTERM, startTimeout) })
}

// Pause stops a node's process without ending it. When it returns, connections stay open and
// nothing answers.
func (c *Cluster) Pause(i int) error {
	return c.with(i, func(n *node) error { return n.pause(startTimeout) })
}

// Resume continues a paused node.
func (c *Cluster) Resume(i int) error {
	return c.with(i, func(n *node) error { return n.signal(syscall.SIGCONT) })
}

// Restart stops the given nodes if they run, starts them again with their data, and waits until
// they answer. It can start them in any order, even if all nodes were down.
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

// Log returns the path of a node's log, for a person who wants to see why the node failed.
func (c *Cluster) Log(i int) (string, error) {
	n, err := c.node(i)
	if err != nil {
		return "", err
	}
	return n.logFile(), nil
}

// Lost reports nodes that have ended unexpectedly since they were last started, with the end of
// their logs. It returns nil if there are none.
func (c *Cluster) Lost() error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.lost())
	}
	return errors.Join(errs...)
}

// Stop stops all nodes and removes their data. It fails if a node had ended unexpectedly. A second
// call does nothing.
func (c *Cluster) Stop() error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.end(syscall.SIGKILL, startTimeout))
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
