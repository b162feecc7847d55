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
	"strings"
	"time"

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
	url          string
	same         func(got, want []byte) bool // reports whether a response is right
	pages        []*pageRequest              // to be measured, in turn
	page, change string                      // pageQuery and updateQuery in its schema
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
	s, peers, err := o.startPeers(ctx, server)
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
		if err := checkPeer(ctx, p); err != nil {
			return err
		}
	}
	results, err := measureInTurns(ctx, peers, peerPlan{rounds: 5, long: 4 * time.Second, most: 500_000})
	if err != nil {
		return err
	}
	if err := printPeers(t.out, "The first page of the viewer's library", results); err != nil {
		return err
	}
	if last := peers[len(peers)-1]; last.change != "" {
		if err := compareWithPostgres(ctx, t.out, s, []*peer{peers[0], last}); err != nil {
			return err
		}
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

// seedPeers writes the lines of data.mjs into the file, and imports them into a store in the directory.
func (o *options) seedPeers(ctx context.Context, dir, file string) error {
	for _, args := range [][]string{
		{"node", filepath.Join(o.peersDir, "data.mjs"), file}, {o.binary, "import", "--store", "pebble:" + storeIn(dir), file},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", args, err, out)
		}
	}
	return nil
}

// startPeers starts Carrel, and the peers on what it serves. If it fails, it also returns the peers that
// it has started.
func (o *options) startPeers(ctx context.Context, gqlgenServer string) (s *served, peers []*peer, err error) {
	dir, lines, data := filepath.Join(o.dir, "carrel-peer"), filepath.Join(o.dir, "lines.jsonl"), filepath.Join(o.dir, "libraries.json")
	// The variables are for the processes to be started.
	if err := errors.Join(o.seedPeers(ctx, dir, lines), pin(ctx, os.Getpid(), serverCore), os.Setenv("NODE_ENV", "production"),
		os.Setenv("GRAPHILE_ENV", "production"), os.Setenv("GOMAXPROCS", "1")); err != nil {
		return nil, nil, err
	}
	runtime.GOMAXPROCS(1)
	if s, err = o.serve(ctx, dir); err != nil {
		return nil, nil, err
	}
	carrel := &peer{name: "Carrel (Pebble)", process: s.process, url: "http://" + s.address + "/graphql", same: sameButCursors,
		page: pageQuery, change: updateQuery}
	peers = []*peer{carrel}
	owners := make([]principal.ID, peerLibraries)
	for n := range owners {
		owners[n] = peerOwner(n)
	}
	tokens, err := s.tokens(owners)
	if err != nil {
		return s, peers, err
	}
	if carrel.pages, err = exportForPeers(ctx, carrel.url, owners, tokens, data); err != nil {
		return s, peers, err
	}
	node := func(name string, args ...string) []string {
		return append([]string{"node", filepath.Join(o.peersDir, name)}, args...)
	}
	for _, c := range []struct {
		name    string
		command []string
	}{
		{"Mercurius with JIT", node("mercurius.mjs", data)},
		{"GraphQL Yoga", node("yoga.mjs", data)},
		{"Apollo Server", node("apollo.mjs", data)},
		{"gqlgen with a data loader", []string{gqlgenServer, data}},
		{postgraphileName, node("postgraphile.mjs", s.secret, lines)},
	} {
		p, err := start(ctx, c.command[0], c.command[1:]...)
		if err != nil {
			return s, peers, fmt.Errorf("%s: %w (npm ci in %s installs the servers for Node)", c.name, err, o.peersDir)
		}
		next := &peer{name: c.name, process: p, url: p.first, same: bytes.Equal, pages: carrel.pages}
		if c.name == postgraphileName {
			next.speakPostgraphile(owners)
		}
		if peers = append(peers, next); !strings.HasPrefix(p.first, "http://") {
			p.stop()
			peers = peers[:len(peers)-1]
			note("%s is left out: %s", c.name, p.first)
		}
	}
	return s, peers, nil
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
