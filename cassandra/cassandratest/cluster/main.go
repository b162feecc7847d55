// Command cluster starts nodes of Cassandra on this machine, prints their
// addresses on one line, and stops them when it is told to end: it is what
// `make cluster` and `make run-cassandra` use.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"carrel/cassandra/cassandratest"
)

func main() {
	nodes := flag.Int("nodes", 3, "how many nodes: 1 or 3")
	flag.Parse()
	if err := run(*nodes); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// run keeps the nodes until the process is told to end.
func run(nodes int) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Fprintf(os.Stderr, "starting %d nodes of Cassandra; the first time they are downloaded\n", nodes)
	c, err := cassandratest.Start(ctx, nodes)
	if err != nil {
		return err
	}
	fmt.Println(strings.Join(c.Hosts, ","))
	<-ctx.Done()
	fmt.Fprintln(os.Stderr, "stopping the nodes")
	return c.Stop()
}
