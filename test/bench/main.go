// Command bench measures the speed and memory that README and the issues promise, and
// prints each figure next to the requirement: `make bench`, and for the edge `make
// bench-edge`.
//
// Most figures are the CPU time of a process. Operations that are compared take turns for several
// rounds, and the cheapest round of each or the median counts, so that a busy machine changes
// ratios little. The bench does not decide whether a build is good: it is not a test, and does not
// fail because a machine is slow.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"

	"carrel/cassandra/cassandratest"
	"carrel/heap"
)

// options are the flags.
type options struct {
	dir     string // of the stores
	binary  string // of the gateway, for start and memory
	entries int    // of the large library
	updates int    // of one item, before the page is measured again
	only    string
	edge    bool
	cluster bool
	peers   bool
	// peersDir is the directory of the other servers.
	peersDir string
	// replicas is the number of nodes that have each row; 0 means 1.
	replicas int
	// hosts and keyspace tell the process to be measured where its cluster is.
	hosts, keyspace string
	node            *cassandratest.Cluster // that the bench has started
	profile         string
}

// A section measures one thing and adds rows to the table.
type section struct {
	name    string
	measure func(ctx context.Context, o *options, t *table) error
}

// embeddedUpdates is how often one item is updated before its page is read again.
const embeddedUpdates = 100_000

func sections() []section {
	return []section{
		{"page", measurePages},
		{"flat", measureFlatness},
		{"search", measureSearch},
		{"text", measureTexts},
		{"lease", measureLeases},
		{"paste", measurePastes},
		{"update", measureFanOut},
		{"delete", measureDeletion},
		{"import", measureImport},
		{"start", measureStart},
		{"scale", measureScale},
	}
}

func main() {
	ballast := heap.Ballast() // as the gateway has
	defer runtime.KeepAlive(ballast)
	var o options
	flag.StringVar(&o.dir, "dir", "", "where the stores are created; a temporary folder by default. A large store found there is used again")
	flag.StringVar(&o.binary, "binary", "bin/carrel", "the gateway whose start and memory are measured")
	flag.IntVar(&o.entries, "entries", 1_000_000, "entries of the large library")
	flag.IntVar(&o.updates, "updates", 0, "updates of one item; 100,000 on the embedded store and 50,000 on a cluster by default")
	flag.StringVar(&o.only, "only", "", "sections to run, with commas: page,flat,search,text,lease,paste,update,delete,import,start,scale")
	flag.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the whole run here")
	flag.BoolVar(&o.edge, "edge", false, "measure the cost of the edge instead; sections: transport,compression,hostile,idle,event,followers")
	flag.BoolVar(&o.cluster, "cluster", false, "measure on a real Cassandra instead; sections: page,copies,update,text,lease,paste,flat,hung,scale")
	flag.BoolVar(&o.peers, "peers", false, "compare the gateway with GraphQL servers of other projects instead")
	flag.StringVar(&o.peersDir, "peers-dir", "test/bench/peers", "with -peers: the folder of these servers")
	flag.StringVar(&o.hosts, "hosts", "", "with -cluster -serve: the cluster's nodes")
	flag.StringVar(&o.keyspace, "keyspace", "", "with -cluster -serve: the keyspace")
	serve := flag.Bool("serve", false, "serve the large store of -dir instead, or the keyspace, for another bench to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *serve && o.cluster:
		err = serveCluster(ctx, &o)
	case *serve:
		err = serveLarge(ctx, &o)
	default:
		err = run(ctx, &o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures the chosen sections and prints the table.
func run(ctx context.Context, o *options) (err error) {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "carrel-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	t := &table{out: os.Stdout}
	if o.peers {
		return measurePeers(ctx, o, t)
	}
	t.head()
	chosen, updates := sections(), embeddedUpdates
	switch {
	case o.edge:
		chosen = edgeSections()
	case o.cluster:
		chosen, updates = clusterSections(), clusterUpdates
		stop, failed := o.startCluster(ctx)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	if o.updates == 0 {
		o.updates = updates
	}
	for _, s := range chosen {
		if o.only != "" && !strings.Contains(","+o.only+",", ","+s.name+",") {
			continue
		}
		if err := s.measure(ctx, o, t); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// note prints progress outside the table.
func note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

// largeDir returns the directory of the store with the large library.
func (o *options) largeDir() string { return filepath.Join(o.dir, "large") }
