// Command bench measures speed and memory, and prints each figure next to what is wanted: `make
// bench`, `make bench-cassandra` and `make bench-peers`.
//
// Most figures are the CPU time of a process. Operations that are compared take turns for several
// rounds, and the median counts, so that a busy machine changes ratios little. The bench does not
// decide whether a build is good: it is not a test, and does not fail because a machine is slow.
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

	"carrel/heap"
)

// options are the flags.
type options struct {
	dir     string // of the stores
	binary  string // of the gateway, for start and memory
	entries int    // of the large library
	only    string
	cluster bool
	peers   bool
	// peersDir is the directory of the other servers.
	peersDir string
	// hosts and keyspace tell the process to be measured where its cluster is.
	hosts, keyspace string
	profile         string
}

// A section measures one thing and adds rows to the table.
type section struct {
	name    string
	measure func(ctx context.Context, o *options, t *table) error
}

func sections() []section {
	return []section{
		{"page", measurePages},
		{"search", measureSearch},
		{"feed", measureFeed},
		{"update", measureFanOut},
		{"start", measureStart},
	}
}

func main() {
	ballast := heap.Ballast() // as the gateway has
	defer runtime.KeepAlive(ballast)
	var o options
	flag.StringVar(&o.dir, "dir", "", "where the stores are created; a temporary folder by default. A large store found there is used again")
	flag.StringVar(&o.binary, "binary", "bin/carrel", "the gateway whose start and memory are measured")
	flag.IntVar(&o.entries, "entries", 1_000_000, "entries of the large library")
	flag.StringVar(&o.only, "only", "", "sections to run, with commas: page,search,feed,update,start; with -cluster page,feed,update,hung")
	flag.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the whole run here")
	flag.BoolVar(&o.cluster, "cluster", false, "measure on a real Cassandra instead")
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
	chosen := sections()
	if o.cluster {
		chosen = clusterSections()
		stop, failed := o.startCluster(ctx)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, stop()) }()
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

// largeDir returns the directory of the large library, with its store and its secret.
func (o *options) largeDir() string { return filepath.Join(o.dir, "large") }
