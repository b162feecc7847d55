package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"carrel/library"
	"carrel/principal"
)

const (
	// wantedThroughput is the required throughput of the gateway as a part of the
	// handler's.
	wantedThroughput = 0.9
	// libraryCount is how many libraries the clients read.
	libraryCount = 64
	librarySize  = 60
	clusterFor   = 2 * time.Second // a round
	clusterTurn  = 5               // rounds of each
)

// clusterWidths are the numbers of connections at which gateway and handler are measured. The one
// with the highest throughput of the handler counts: with fewer, the cluster idles between two
// pages; with more, only the latency grows.
var clusterWidths = []int{1, 4, 16, 64}

func libraryOwner(n int) principal.ID {
	return principal.UserID("bench", fmt.Sprintf("library%02d", n))
}

// measureClusterPages compares the gateway with clusterFloor. One process serves both over HTTP,
// and they take turns.
func measureClusterPages(ctx context.Context, o *options, t *table) error {
	keyspace, err := o.newKeyspace(ctx, "page")
	if err != nil {
		return err
	}
	counts := newTally()
	g, err := o.openCluster(ctx, keyspace, counts, library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	for n := range libraryCount {
		if err := g.createLibrary(ctx, libraryOwner(n), librarySize); err != nil {
			return err
		}
	}
	sent, err := g.statementsOfPage(ctx, counts)
	if err != nil {
		return err
	}
	t.title("A page of 20 edges with creator on Cassandra")
	// The owner; the slice and the newest entry; 21 headers, one of which shows whether
	// there are more; 20 creators.
	t.required("statements of a page", fmt.Sprint(sent), "<= 44", sent <= 44)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child, err := start(ctx, self, "-cluster", "-serve", "-hosts", o.hosts, "-keyspace", keyspace)
	if err != nil {
		return err
	}
	defer child.stop()
	first := strings.Fields(child.first)
	if len(first) != 1+libraryCount {
		return fmt.Errorf("the process to be measured said %.100q", child.first)
	}
	t.title("The same over HTTP, each request for the next of %d libraries", libraryCount)
	if err := child.compareThroughput(ctx, t, first[0], first[1:]); err != nil {
		return err
	}
	return child.compareOrders(ctx, t, first[0], first[1:])
}

// compareOrders measures pages by last change and by title in turns.
func (p *process) compareOrders(ctx context.Context, t *table, address string, tokens []string) error {
	const connections = 16
	var next atomic.Int64
	all, err := inTurns(clusterTurn, len(orderNames), func(i int) (cost, error) {
		return p.load(ctx, connections, func() (*http.Request, error) {
			n := int(next.Add(1)) % len(tokens)
			spec := pageSpec{owner: libraryOwner(n), order: orderNames[i]}
			return newPageRequest(ctx, "http://"+address+"/graphql", tokens[n], pageBody(spec))
		}, clusterFor)
	})
	if err != nil {
		return err
	}
	changes, titles := all[library.ByChange], all[library.ByTitle]
	t.title("A page by title, compared with that by last change, at %d connections", connections)
	t.figure("CPU of the process a page by last change", changes.micros(cpu).in("%.1f us"))
	t.ratio("CPU of the process a page by title", titles.micros(cpu).in("%.1f us"), titles.times(changes, cpu), wantedByTitle)
	return nil
}

// statementsOfPage returns how many statements a page sends. The scrubber also reads now and then,
// so the lowest count of several pages is taken.
func (g *gateway) statementsOfPage(ctx context.Context, counts *tally) (sent int, err error) {
	once, err := g.viaEdge(ctx, pageSpec{owner: libraryOwner(0)})
	if err != nil {
		return 0, err
	}
	sent = math.MaxInt
	for range 5 {
		counts.take()
		if err := once(); err != nil {
			return 0, err
		}
		statements, _ := counts.take()
		sent = min(sent, sum(statements))
	}
	return sent, nil
}

// serveCluster serves the handler and the gateway on one keyspace, by one net/http server, for
// another process to measure. It prints its address and a token for the owner of each library.
func serveCluster(ctx context.Context, o *options) error {
	g, err := o.openCluster(ctx, o.keyspace, nil, library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	var owners []principal.ID
	for n := range libraryCount {
		owners = append(owners, libraryOwner(n))
	}
	h, tokens, err := g.handlerFor(owners...)
	if err != nil {
		return err
	}
	floor, err := newClusterFloor(o.hosts, o.keyspace)
	if err != nil {
		return err
	}
	defer floor.session.Close()
	mux := http.NewServeMux()
	mux.Handle("/floor", pageHandler(floor.page))
	mux.Handle("/graphql", h)
	return g.listen(ctx, mux, tokens...)
}

// compareThroughput measures the handler and the gateway in turns at each number of connections.
func (p *process) compareThroughput(ctx context.Context, t *table, address string, tokens []string) error {
	var next atomic.Int64
	turn := func() int { return int(next.Add(1)) % len(tokens) }
	bodies := make([]string, len(tokens))
	for n := range bodies {
		bodies[n] = pageBody(pageSpec{owner: libraryOwner(n)})
	}
	asks := [2]func() (*http.Request, error){
		func() (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/floor?owner="+string(libraryOwner(turn())), nil)
		},
		func() (*http.Request, error) {
			n := turn()
			return newPageRequest(ctx, "http://"+address+"/graphql", tokens[n], bodies[n])
		},
	}
	var most, ratioThere float64 // the throughput of the handler, and the ratio there
	var width int
	for _, connections := range clusterWidths {
		var best [2]float64
		var cpu [2]time.Duration
		for round := range clusterTurn + 1 {
			for i, request := range asks {
				each, err := p.load(ctx, connections, request, clusterFor) // without its cluster
				if err != nil {
					return err
				}
				if rate := 1 / each.wall.Seconds(); round > 0 && rate > best[i] { // the first one warms up
					best[i], cpu[i] = rate, each.cpu
				}
			}
		}
		reached := best[1] / best[0]
		t.line(fmt.Sprintf("  %d connections: handler, gateway", connections),
			fmt.Sprintf("%.0f, %.0f pages/s", best[0], best[1]), fmt.Sprintf("%.2f x", reached), "", "")
		t.figure("  CPU of the process a page", fmt.Sprintf("%s, %s", micros(cpu[0]), micros(cpu[1])))
		if best[0] > most {
			most, ratioThere, width = best[0], reached, connections
		}
	}
	t.line(fmt.Sprintf("  at the highest throughput of the handler, %d connections", width), "", fmt.Sprintf("%.2f x", ratioThere),
		fmt.Sprintf(">= %.4g x", wantedThroughput), verdict(ratioThere >= wantedThroughput))
	return nil
}
