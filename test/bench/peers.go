package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"carrel/library"
	"carrel/principal"
)

// The peers are compared on several pages of several libraries in turn, so that no server
// can cache a single response.
const (
	peerLibraries = 64
	peerEntries   = 50
)

// The server under test has one core to itself, and the client the other.
const (
	serverCore = 0
	clientCore = 1
)

// A peer is a server that answers pageQuery: Carrel, or one of another project.
type peer struct {
	name string
	*process
	url  string
	same func(got, want []byte) bool // reports whether a response is right
}

// measurePeers compares the built gateway with other GraphQL servers, which serve the
// same pages from memory.
func measurePeers(ctx context.Context, o *options, t *table) error {
	if err := needForPeers(); err != nil {
		return err
	}
	before, err := machineLoad()
	if err != nil {
		return err
	}
	server := filepath.Join(o.dir, "gqlgen-peer")
	if err := buildGqlgenPeer(ctx, o.peersDir, o.dir, server); err != nil {
		return err
	}
	dir := filepath.Join(o.dir, "carrel-peer")
	if err := o.seedPeerLibraries(ctx, dir); err != nil {
		return err
	}
	peers, pages, err := o.startPeers(ctx, dir, server)
	defer func() {
		for _, p := range peers {
			p.stop()
		}
	}()
	if err != nil {
		return err
	}
	if err := pin(ctx, os.Getpid(), clientCore); err != nil {
		return err
	}
	for _, p := range peers {
		if err := checkPeer(ctx, p, pages); err != nil {
			return err
		}
	}
	results, err := measureInTurns(ctx, peers, pages, defaultPeerPlan())
	if err != nil {
		return err
	}
	if err := printPeers(t.out, results); err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.out, "\nload of the machine in the minute before the start, including the build of the gateway: %.2f\n", before)
	return err
}

// needForPeers returns what this machine lacks for the comparison.
func needForPeers() error {
	if runtime.NumCPU() < 2 {
		return errors.New("it needs two cores: one for the server, one for the client")
	}
	for _, program := range []string{"taskset", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("it needs %s: %w", program, err)
		}
	}
	return nil
}

// machineLoad returns how many threads wanted to run during the last minute, on average.
func machineLoad() (load float64, err error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(text), &load)
	return load, err
}

// pin moves a process to a core, with all its threads. Processes that it starts later
// inherit the core.
func pin(ctx context.Context, pid, core int) error {
	out, err := exec.CommandContext(ctx, "taskset", "--all-tasks", "--cpu-list", "--pid", strconv.Itoa(core),
		strconv.Itoa(pid)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("move to core %d: %w: %s", core, err, out)
	}
	return nil
}

func peerOwner(n int) principal.ID { return principal.UserID("bench", fmt.Sprintf("peer%02d", n)) }

// seedPeerLibraries creates a store with the libraries in the directory.
func (o *options) seedPeerLibraries(ctx context.Context, dir string) error {
	g, err := o.fresh(ctx, storeIn(dir), library.Tuning{})
	if err != nil {
		return err
	}
	for n := range peerLibraries {
		if err := g.createLibrary(ctx, peerOwner(n), peerEntries); err != nil {
			return errors.Join(err, g.close())
		}
	}
	return g.close()
}

// startPeers starts Carrel on the store in dir, and the peers on the data that Carrel
// exports. If it fails, it also returns the peers that it has started.
func (o *options) startPeers(ctx context.Context, dir, gqlgenServer string) ([]*peer, []*pageRequest, error) {
	if err := pin(ctx, os.Getpid(), serverCore); err != nil {
		return nil, nil, err
	}
	runtime.GOMAXPROCS(1)
	for name, value := range map[string]string{"NODE_ENV": "production", "GOMAXPROCS": "1"} {
		if err := os.Setenv(name, value); err != nil { // for the processes to be started
			return nil, nil, err
		}
	}
	s, err := o.serve(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	peers := []*peer{{"Carrel (Pebble)", s.process, "http://" + s.address + "/graphql", sameButCursors}}
	owners := make([]principal.ID, peerLibraries)
	for n := range owners {
		owners[n] = peerOwner(n)
	}
	tokens, err := s.tokens(owners)
	if err != nil {
		return peers, nil, err
	}
	data := filepath.Join(o.dir, "libraries.json")
	pages, err := exportForPeers(ctx, peers[0].url, owners, tokens, data)
	if err != nil {
		return peers, nil, err
	}
	for _, c := range []struct {
		name    string
		command []string
	}{
		{"Mercurius with JIT", []string{"node", filepath.Join(o.peersDir, "mercurius.mjs")}},
		{"GraphQL Yoga", []string{"node", filepath.Join(o.peersDir, "yoga.mjs")}},
		{"Apollo Server", []string{"node", filepath.Join(o.peersDir, "apollo.mjs")}},
		{"gqlgen with a data loader", []string{gqlgenServer}},
	} {
		p, err := start(ctx, c.command[0], append(c.command[1:], data)...)
		if err != nil {
			return peers, nil, fmt.Errorf("%s: %w (npm ci in %s installs the servers for Node)", c.name, err, o.peersDir)
		}
		peers = append(peers, &peer{c.name, p, p.first, bytes.Equal})
	}
	return peers, pages, nil
}

// buildGqlgenPeer generates and builds the gqlgen server. It works on a copy in the
// directory scratch, so that no generated code is left in the project.
func buildGqlgenPeer(ctx context.Context, peersDir, scratch, program string) error {
	began, dir := time.Now(), filepath.Join(scratch, "gqlgen")
	schema, err := os.ReadFile(filepath.Join(peersDir, "schema.graphqls"))
	if err != nil {
		return err
	}
	if err := errors.Join(
		os.RemoveAll(dir),
		os.CopyFS(dir, os.DirFS(filepath.Join(peersDir, "gqlgen"))),
		os.WriteFile(filepath.Join(scratch, "schema.graphqls"), schema, 0o600),
	); err != nil {
		return err
	}
	program, err = filepath.Abs(program)
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"tool", "gqlgen", "generate"}, {"build", "-o", program, "."}} {
		c := exec.CommandContext(ctx, "go", args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("go %v of the gqlgen peer: %w: %s", args, err, out)
		}
	}
	note("built the gqlgen peer in %s", time.Since(began).Round(time.Second))
	return nil
}
