// Command cluster starts a Cassandra cluster of one or three nodes on this machine, for a person or
// for a command:
//
//	go run ./cassandra/cluster                      until it is interrupted
//	go run ./cassandra/cluster -nodes 1 -- COMMAND  until COMMAND ends
//
// COMMAND finds the addresses in CASSANDRA_HOSTS. The nodes lose all data when they end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"carrel/cassandra/cassandratest"
)

func main() {
	nodes := flag.Int("nodes", 3, "how many `nodes`: 1 or 3")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *nodes, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, nodes int, command []string) (err error) {
	fmt.Fprintf(os.Stderr, "starting %d Cassandra nodes\n", nodes)
	c, err := cassandratest.StartWith(ctx, nodes, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	hosts := "CASSANDRA_HOSTS=" + strings.Join(c.Hosts, ",")
	if len(command) == 0 {
		fmt.Println(hosts)
		<-ctx.Done()
		return nil
	}
	return runBeside(ctx, hosts, command)
}

// runBeside runs a command with the hosts in its environment. When ctx ends, the command gets a
// signal to end, and it is no error if it then exits with status 0.
func runBeside(ctx context.Context, hosts string, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), hosts)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err := cmd.Run()
	if ctx.Err() != nil && cmd.ProcessState != nil && cmd.ProcessState.Success() {
		return nil
	}
	return err
}
