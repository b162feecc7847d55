package gateway

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
	"carrel/cassandra/session"
	"carrel/config"
	"carrel/core/fault"
	"carrel/observe"
)

// nodesTimeout is the longest default timeout of a node for a read or write by key,
// read_request_timeout of Cassandra 5. Range scans have a longer one, but write nothing.
const nodesTimeout = 5 * time.Second

const clusterName = "cassandra://HOST[,HOST]/KEYSPACE"

// cluster is a keyspace of a Cassandra cluster.
type cluster struct{ options session.Options }

// parseCluster reads the name of a keyspace, without its scheme, and the flags.
func parseCluster(flag, name string, f config.ClusterFlags) (Target, error) {
	hosts, keyspace, ok := strings.Cut(name, "/")
	if !ok || keyspace == "" || strings.Contains(keyspace, "/") || strings.Contains(hosts, "@") ||
		slices.Contains(strings.Split(hosts, ","), "") {
		// The message does not repeat the name: there may be a password in it.
		return nil, config.WrongUsage(flag, "cassandra://…", clusterName+"; set user and password by flags")
	}
	if !session.IsKeyspace(keyspace) {
		return nil, config.WrongUsage(flag, keyspace,
			clusterName+", where KEYSPACE has 1 to 48 characters of a-z, 0-9 and _, and begins with a letter")
	}
	if f.Timeout <= 0 {
		return nil, config.WrongUsage("cassandra-timeout", f.Timeout.String(), "a time above the nodes' own timeouts, such as 6s")
	}
	o := session.Options{
		Hosts: strings.Split(hosts, ","), Keyspace: keyspace, User: f.User,
		DataCentre: f.DataCentre, Global: f.Global, Timeout: f.Timeout,
	}
	if f.PasswordFile != "" {
		password, err := os.ReadFile(f.PasswordFile)
		if err != nil {
			return nil, config.WrongUsage("cassandra-password-file", f.PasswordFile, "a file that can be read")
		}
		o.Password = strings.TrimSuffix(string(password), "\n")
	}
	var err error
	if o.TLS, err = nodeTLS(f); err != nil {
		return nil, err
	}
	o.Replication, err = parseReplication(f.Replication)
	return &cluster{o}, err
}

// nodeTLS returns the TLS options, or nil for unencrypted connections. Every flag about
// certificates implies TLS.
func nodeTLS(f config.ClusterFlags) (*session.TLS, error) {
	named := session.TLS{CAFile: f.CA, CertFile: f.Cert, KeyFile: f.Key, ServerName: f.ServerName, SkipHostVerification: f.AnyName}
	if !f.TLS && named == (session.TLS{}) {
		return nil, nil
	}
	if (f.Cert == "") != (f.Key == "") {
		return nil, config.WrongUsage("cassandra-cert, cassandra-key", f.Cert+f.Key, "both or neither")
	}
	return &named, config.CheckFiles(config.FileFlag{Key: "cassandra-ca", Path: f.CA},
		config.FileFlag{Key: "cassandra-cert", Path: f.Cert}, config.FileFlag{Key: "cassandra-key", Path: f.Key})
}

// parseReplication returns the numbers of replicas by data centre. "" stands for every data centre.
func parseReplication(given []string) (map[string]int, error) {
	replicas := map[string]int{}
	for _, one := range given {
		dc, number, named := strings.Cut(one, "=")
		if !named {
			dc, number = "", one
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || named && !session.IsDataCentre(dc) {
			return nil, config.WrongUsage("cassandra-replication", one, "NUMBER or DC=NUMBER, at least 1, and the name of a data centre")
		}
		replicas[dc] = n
	}
	return replicas, nil
}

func (c *cluster) open(ctx context.Context, with Options) (OpenStore, error) {
	o := c.options
	o.Log = with.Log
	if o.Timeout <= nodesTimeout && o.Log != nil {
		o.Log.WarnContext(ctx,
			"cassandra-timeout is not above the nodes' own timeouts, unless they are shorter than the default: outcomes "+
				"may be reported as unknown without need", "timeout", o.Timeout.String(), "nodes", nodesTimeout.String())
	}
	if with.Metrics != nil {
		o.Observe = func(ctx context.Context, r session.Observation) {
			with.called(ctx, observe.Call{System: "cassandra", Operation: r.Operation, Outcome: r.Outcome, Took: r.Took,
				Retries: r.Retries, Hedged: r.Hedged})
		}
	}
	store, err := cassandra.Open(ctx, o)
	if err != nil {
		return OpenStore{}, fmt.Errorf("opening the store: %w", err)
	}
	return OpenStore{Backend: store, Store: store.Store, shared: store}, nil
}

// CheckExists implements Target. It returns nil, because opening a missing keyspace fails.
func (c *cluster) CheckExists() error { return nil }

// transient implements Target. An error is transient if too few nodes are up or nodes are too slow.
// Any other error persists until an operator changes something.
func (c *cluster) transient(err error) bool {
	var e *fault.Error
	return errors.As(err, &e) && e.Code == fault.Unavailable && e.RetryAfter > 0
}

// Migrate implements Target.
func (c *cluster) Migrate(ctx context.Context, report func(step string)) error {
	if err := cassandra.Migrate(ctx, c.options, report); err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	return nil
}
