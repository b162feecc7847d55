package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/cassandra"
	"carrel/core/fault"
	"carrel/observe"
)

// ClusterFlags say how a Cassandra cluster is reached, whatever command wants it.
type ClusterFlags struct {
	User         string        `help:"User of the cluster." placeholder:"NAME"`
	PasswordFile string        `help:"File with that user's password: its bytes without one final newline." placeholder:"FILE"`
	TLS          bool          `name:"tls" help:"Connect with TLS; the nodes' certificates are verified. Every flag about certificates implies it."`
	CA           string        `name:"ca" help:"Authorities of the nodes' certificates, PEM; those of the system when left out. Implies TLS." placeholder:"FILE"`
	Cert         string        `help:"Client certificate, PEM, with its key. Implies TLS." placeholder:"FILE"`
	Key          string        `help:"Private key of the client certificate, PEM. Implies TLS." placeholder:"FILE"`
	ServerName   string        `help:"Name in the nodes' certificates; each node's address when left out. Implies TLS." placeholder:"NAME"`
	AnyName      bool          `name:"skip-host-verification" help:"Accept a certificate of the authorities whatever name is in it. Whoever holds any such certificate can then pass for a node, read the password and change what is stored: only for authorities that sign nodes alone. Implies TLS."`
	DataCentre   string        `name:"dc" help:"Data centre whose nodes are used." placeholder:"NAME"`
	Global       bool          `help:"Decide across data centres (QUORUM, SERIAL) instead of within one (LOCAL_QUORUM, LOCAL_SERIAL). All gateways of a keyspace alike."`
	Replication  []string      `help:"Replicas of a keyspace that migrate makes, 3 in every data centre when left out: a number for every data centre, or DC=NUMBER, repeatable. Where the keyspace stands with others, migrate changes nothing and fails." sep:"," placeholder:"[DC=]NUMBER"`
	Timeout      time.Duration `help:"Time of one request; above the nodes' own ones, which are up to 5s unless their operator has changed them." default:"6s" placeholder:"TIME"`
}

// nodesTimeout is how long a node takes for a request at most, unless its
// operator has changed it: read_request_timeout of Cassandra 5.
const nodesTimeout = 5 * time.Second

const clusterName = "cassandra://HOST[,HOST]/KEYSPACE"

// cluster is a keyspace of a Cassandra cluster.
type cluster struct{ options cassandra.Options }

// clusterOf reads the name of a keyspace, without its scheme, and the flags.
func clusterOf(flag, name string, f ClusterFlags) (place, error) {
	hosts, keyspace, ok := strings.Cut(name, "/")
	if !ok || keyspace == "" || strings.Contains(keyspace, "/") || strings.Contains(hosts, "@") || slices.Contains(strings.Split(hosts, ","), "") {
		// What may be a password in it is not told again.
		return nil, wrongUsage(flag, "cassandra://…", clusterName+"; user and password have flags of their own")
	}
	if !cassandra.IsKeyspace(keyspace) {
		return nil, wrongUsage(flag, keyspace, clusterName+", where KEYSPACE has 1 to 48 characters of a-z, 0-9 and _, and begins with a letter")
	}
	if f.Timeout <= 0 {
		return nil, wrongUsage("cassandra-timeout", f.Timeout.String(), "a time above the nodes' own ones, such as 6s")
	}
	o := cassandra.Options{
		Hosts: strings.Split(hosts, ","), Keyspace: keyspace, User: f.User,
		DataCentre: f.DataCentre, Global: f.Global, Timeout: f.Timeout,
	}
	if f.PasswordFile != "" {
		password, err := os.ReadFile(f.PasswordFile)
		if err != nil {
			return nil, wrongUsage("cassandra-password-file", f.PasswordFile, "a file that can be read")
		}
		o.Password = strings.TrimSuffix(string(password), "\n")
	}
	var err error
	if o.TLS, err = f.tls(); err != nil {
		return nil, err
	}
	o.Replication, err = replicationOf(f.Replication)
	return &cluster{o}, err
}

// tls is how nodes are known, nil where nothing asks for it. Whoever names
// anything of it does not mean a connection in the clear.
func (f *ClusterFlags) tls() (*cassandra.TLS, error) {
	named := cassandra.TLS{CAFile: f.CA, CertFile: f.Cert, KeyFile: f.Key, ServerName: f.ServerName, SkipHostVerification: f.AnyName}
	if !f.TLS && named == (cassandra.TLS{}) {
		return nil, nil
	}
	if (f.Cert == "") != (f.Key == "") {
		return nil, wrongUsage("cassandra-cert, cassandra-key", f.Cert+f.Key, "both or neither")
	}
	return &named, filesThere(fileFlag{"cassandra-ca", f.CA}, fileFlag{"cassandra-cert", f.Cert}, fileFlag{"cassandra-key", f.Key})
}

// replicationOf reads replicas by data centre; "" stands for every one.
func replicationOf(given []string) (map[string]int, error) {
	replicas := map[string]int{}
	for _, one := range given {
		dc, number, named := strings.Cut(one, "=")
		if !named {
			dc, number = "", one
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || named && !cassandra.IsDataCentre(dc) {
			return nil, wrongUsage("cassandra-replication", one, "NUMBER or DC=NUMBER, at least 1, and the name of a data centre")
		}
		replicas[dc] = n
	}
	return replicas, nil
}

func (c *cluster) open(ctx context.Context, with surroundings) (backend, error) {
	o := c.options
	o.Log = with.log
	if o.Timeout <= nodesTimeout && o.Log != nil {
		o.Log.WarnContext(ctx, "cassandra-timeout is not above the nodes' own timeouts unless theirs were made shorter: outcomes may be unknown that are not", "timeout", o.Timeout.String(), "nodes", nodesTimeout.String())
	}
	if with.metrics != nil {
		o.Observe = func(ctx context.Context, r cassandra.Observation) {
			s := observe.Statement{Name: r.Operation, Outcome: r.Outcome, Took: r.Took, Retries: r.Retries, Hedged: r.Hedged}
			with.metrics.Statement(s)
			with.tracing.Statement(ctx, s)
		}
	}
	store, err := cassandra.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	return store, nil
}

// exists holds for every keyspace: opening one that is missing is refused.
func (c *cluster) exists() error { return nil }

// passes holds where nodes were too few or too slow, and not where somebody has
// to change something first.
func (c *cluster) passes(err error) bool {
	var e *fault.Error
	return errors.As(err, &e) && e.Code == fault.Unavailable && e.RetryAfter > 0
}

func (c *cluster) migrate(ctx context.Context, tell func(step string)) error {
	if err := cassandra.Migrate(ctx, c.options, tell); err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	return nil
}
