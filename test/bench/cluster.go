package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel/cassandra"
	"carrel/cassandra/cassandratest"
	"carrel/cassandra/session"
	"carrel/domain"
	"carrel/library"
)

// clusterSections are measured on a real Cassandra: one node that the bench starts, or
// the cluster of CASSANDRA_HOSTS. The node shares the machine's cores with the gateway
// and its clients.
func clusterSections() []section {
	return []section{
		{"page", measureClusterPages},
		{"feed", measureClusterFeed},
		{"update", measureClusterUpdates},
		{"hung", measureHungNode},
	}
}

// startCluster starts a node, or uses the cluster of CASSANDRA_HOSTS.
func (o *options) startCluster(ctx context.Context) (stop func() error, err error) {
	c, err := cassandratest.Start(ctx, 1)
	if err != nil {
		return nil, err
	}
	o.hosts = strings.Join(c.Hosts, ",")
	return c.Stop, nil
}

// tally counts the statements that a store sends to its cluster, as its observer reports
// them.
type tally struct {
	mu         sync.Mutex
	statements map[string]int // sent, by purpose
	lwts       int            // of them, conditional writes
}

func newTally() *tally { return &tally{statements: map[string]int{}} }

func (c *tally) observe(_ context.Context, r session.Observation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := 1 + r.Retries
	c.statements[r.Operation] += sent
	if r.Outcome == "applied" || r.Outcome == "refused" {
		c.lwts += sent
	}
}

// take returns the counts since the last call.
func (c *tally) take() (statements map[string]int, lwts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	statements, lwts = c.statements, c.lwts
	c.statements, c.lwts = map[string]int{}, 0
	return statements, lwts
}

// sum adds up the statements of the given purposes. Without purposes, it adds up all statements
// but those of background work.
func sum(statements map[string]int, purposes ...string) (n int) {
	for purpose, of := range statements {
		listed := slices.Contains(purposes, purpose)
		background := len(purposes) == 0 && strings.Contains(purpose, "in-flight")
		if listed || len(purposes) == 0 && !background {
			n += of
		}
	}
	return n
}

// newKeyspace creates a keyspace with a unique name.
func (o *options) newKeyspace(ctx context.Context, what string) (string, error) {
	name := fmt.Sprintf("bench_%s_%d", what, time.Now().UnixNano())
	err := cassandra.Migrate(ctx, o.clusterOptions(name, nil), nil)
	return name, err
}

func (o *options) clusterOptions(keyspace string, counts *tally) session.Options {
	c := session.Options{Hosts: strings.Split(o.hosts, ","), Keyspace: keyspace, Replication: map[string]int{"": 1}}
	if counts != nil {
		c.Observe = counts.observe
	}
	return c
}

// openCluster assembles the domain on a keyspace. counts may be nil.
func (o *options) openCluster(ctx context.Context, keyspace string, counts *tally, tuning library.Tuning) (*gateway, error) {
	store, err := cassandra.Open(ctx, o.clusterOptions(keyspace, counts))
	if err != nil {
		return nil, err
	}
	return assemble(ctx, store, domain.Config{Store: store.Store, Remote: true, Tuning: tuning})
}
