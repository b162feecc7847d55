package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"carrel/cassandra"
	"carrel/core/commit"
)

// listClients is how many clients read or write lists at the same time.
const listClients = 16

func listID(n int) commit.ListID { return commit.ListID(fmt.Sprintf("%032x", n)) }

// A listWriter writes the lists of simulated gateways.
type listWriter struct {
	store *cassandra.Store
	stamp atomic.Int64
}

// put writes the list of a gateway.
func (w *listWriter) put(ctx context.Context, n int, block []byte) error {
	return w.store.PutInFlightList(ctx, commit.InFlightList{ID: listID(n), Stamp: w.stamp.Add(1), Block: block})
}

// measureInFlightPartition measures the load that the partition of the in-flight lists causes on
// one node. It writes the lists itself, because that many gateways cannot be started here.
func measureInFlightPartition(ctx context.Context, o *options, t *table) error {
	keyspace, err := o.newKeyspace(ctx, "inflight")
	if err != nil {
		return err
	}
	store, err := cassandra.Open(ctx, o.clusterOptions(keyspace, nil))
	if err != nil {
		return err
	}
	defer store.Close()
	if _, err := store.Register(ctx, "bench", "bench", nil); err != nil {
		return err
	}
	t.title("The partition of the in-flight lists (rate, latency; CPU of the node, of the process)")
	w := &listWriter{store: store}
	points := []readCost{
		{lists: 10, entries: 5}, {lists: 100, entries: 5}, {lists: 100, entries: 50}, {lists: 1000, entries: 5},
	}
	for i := range points {
		if err := o.measureReads(ctx, t, w, &points[i]); err != nil {
			return err
		}
	}
	costs := fitListCosts(points[0], points[3], points[2])
	for _, entries := range []int{50, 5} {
		block := usualList(entries)
		c, err := o.leastOnNode(listClients, func(n int) error { return w.put(ctx, n%1000, block) })
		if err != nil {
			return err
		}
		costs.write = c.cpu
		t.figure(fmt.Sprintf("lists of %d entries, %d written at a time", entries, listClients), c.String())
	}
	printInFlight(t, &costs)
	return nil
}

// measureReads writes lists and reads them.
func (o *options) measureReads(ctx context.Context, t *table, w *listWriter, p *readCost) error {
	block := usualList(p.entries)
	if err := parallel(p.lists, func(n int) error { return w.put(ctx, n, block) }); err != nil {
		return err
	}
	for _, clients := range []int{1, listClients} {
		c, err := o.leastOnNode(clients, func(int) error {
			lists, err := w.store.InFlight(ctx)
			if err == nil && len(lists) != p.lists {
				err = fmt.Errorf("%d lists, want %d", len(lists), p.lists)
			}
			return err
		})
		if err != nil {
			return err
		}
		t.figure(fmt.Sprintf("%d lists of %d entries, read by %d at a time", p.lists, p.entries, clients), c.String())
		p.cpu = c.cpu
	}
	return nil
}
