package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"carrel/backend"
	"carrel/cassandra"
	"carrel/library/listing"
)

// idleGatewayFor is how long an unused gateway is observed.
const idleGatewayFor = 30 * time.Second

// Round trips of a compare-and-set: prepare, which includes the read; propose; commit. In the first
// version of Cassandra's Paxos protocol, the read is a round trip of its own.
const (
	paxosV2 = 3
	paxosV1 = 4
)

// measureRoundTrips counts the round trips that pages and changes wait for, and the
// statements of an idle gateway.
func measureRoundTrips(ctx context.Context, o *options, t *table) error {
	keyspace, err := o.newKeyspace(ctx, "rounds")
	if err != nil {
		return err
	}
	counts, sent := newTally(), &spans{}
	options := o.clusterOptions(keyspace, nil)
	options.Observe = sent.and(counts)
	store, err := cassandra.Open(ctx, options)
	if err != nil {
		return err
	}
	if _, err := store.Register(ctx, "bench", "bench", nil); err != nil {
		return err
	}
	cache := listing.HeaderCache{Size: 1000, AlwaysOn: true}
	g, err := assemble(ctx, store, backend.Config{Remote: true, HeaderCache: cache})
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.createLibrary(ctx, mediumOwner, smallSize); err != nil {
		return err
	}
	// The gateway does not know yet which other processes use the keyspace, so it uses no
	// copies.
	if err := wait(ctx, 3*time.Second); err != nil {
		return err
	}
	t.title("Round trips that an operation waits for with a compare-and-set of %d, or of %d; statements", paxosV2, paxosV1)
	page, withCreators, n := g.newest(ctx, false), g.newest(ctx, true), 0
	for _, c := range []struct {
		name string
		once func() error
	}{
		{"a page of the newest edges from copies, without creators", func() error { return page(mediumOwner) }},
		{"the same with creators, from copies too", func() error { return withCreators(mediumOwner) }},
		{"an update of an item with one member", func() error {
			n++
			return g.retitle(ctx, mediumOwner, itemID(mediumOwner, n%smallSize), n)
		}},
	} {
		least, err := g.leastRoundTrips(ctx, sent, c.once)
		if err != nil {
			return err
		}
		t.figure(c.name, fmt.Sprintf("%d, %d; %d", least[0], least[1], least[2]))
	}
	return g.measureBackground(ctx, t, counts)
}

// leastRoundTrips repeats an operation, because background work may interfere.
func (g *gateway) leastRoundTrips(ctx context.Context, sent *spans, once func() error) (least [3]int, err error) {
	least = [3]int{math.MaxInt, math.MaxInt, math.MaxInt}
	for range 20 {
		if err := g.idle(ctx); err != nil {
			return least, err
		}
		begin := time.Now()
		if err := once(); err != nil {
			return least, err
		}
		some := sent.within(begin, time.Now())
		for i, n := range []int{roundTrips(some, paxosV2), roundTrips(some, paxosV1), len(some)} {
			least[i] = min(least[i], n)
		}
	}
	return least, nil
}

// measureBackground counts the statements of an unused gateway.
func (g *gateway) measureBackground(ctx context.Context, t *table, counts *tally) error {
	if err := g.idle(ctx); err != nil {
		return err
	}
	counts.take()
	if err := wait(ctx, idleGatewayFor); err != nil {
		return err
	}
	background, _ := counts.take()
	t.title("Statements a second of an idle gateway, over %s", idleGatewayFor)
	total := 0
	for _, name := range slices.Sorted(maps.Keys(background)) {
		total += background[name]
		t.figure(name, fmt.Sprintf("%.2f", float64(background[name])/idleGatewayFor.Seconds()))
	}
	t.figure("all", fmt.Sprintf("%.2f", float64(total)/idleGatewayFor.Seconds()))
	return nil
}
