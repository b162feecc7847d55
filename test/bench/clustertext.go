package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"carrel/lease"
	"carrel/library"
)

// clusterRevisions is the number of revisions of the note with many revisions on a
// cluster.
const clusterRevisions = 1000

// measureClusterTexts compares saves of texts with updates of titles.
func measureClusterTexts(ctx context.Context, o *options, t *table) error {
	keyspace, err := o.newKeyspace(ctx, "text")
	if err != nil {
		return err
	}
	counts := newTally()
	// No note is changed so often that its moves are deferred, so all changes cost the
	// same.
	g, err := o.openCluster(ctx, keyspace, counts, library.Tuning{HotMoves: 1 << 20})
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.writeNotes(ctx); err != nil {
		return err
	}
	if err := g.measureSaves(ctx, t, clusterRevisions, wall, "on Cassandra (wall time a save)"); err != nil {
		return err
	}
	return g.countSave(ctx, t, counts)
}

// countSave counts the statements of a save.
func (g *gateway) countSave(ctx context.Context, t *table, counts *tally) error {
	if err := g.idle(ctx); err != nil {
		return err
	}
	counts.take()
	if err := g.save(ctx, 2); err != nil {
		return err
	}
	if err := g.idle(ctx); err != nil {
		return err
	}
	sent, lwts := counts.take()
	t.required("  conditional writes of a save, until nothing is in flight", fmt.Sprint(lwts), "<= 2", lwts <= 2)
	t.figure("  texts written, all statements", fmt.Sprintf("%d, %d", sent["put a text"], sum(sent)))
	return nil
}

// measureClusterLeases times leases of few and of many keys, counts their conditional
// writes, and lets many clients of two gateways contend for a few keys.
func measureClusterLeases(ctx context.Context, o *options, t *table) (err error) {
	keyspace, err := o.newKeyspace(ctx, "lease")
	if err != nil {
		return err
	}
	counts := newTally()
	var gateways []*gateway
	defer func() {
		for _, g := range gateways {
			err = errors.Join(err, g.close())
		}
	}()
	for range 2 {
		g, err := o.openCluster(ctx, keyspace, counts, library.Tuning{})
		if err != nil {
			return err
		}
		gateways = append(gateways, g)
	}
	g := gateways[0]
	if err := g.addWriter(ctx); err != nil {
		return err
	}
	t.title("Leasing keys on Cassandra (wall time, median of %d)", leasesEach)
	for _, keys := range leaseSizes {
		if err := g.timeLease(ctx, t, counts, leaseTime, keys, keysText(keys), keys+1); err != nil {
			return err
		}
	}
	// After all keys are acquired, one more conditional write stores the deadline.
	if err := g.timeLease(ctx, t, counts, lease.MaxTTL, 10, "10 keys for an hour", 12); err != nil {
		return err
	}
	return g.contend(ctx, t, gateways...)
}

// timeLease times leases of some keys, each with its own keys, and counts their
// conditional writes.
func (g *gateway) timeLease(ctx context.Context, t *table, counts *tally, within time.Duration, keys int, what string, wanted int) error {
	var times []time.Duration
	lwts := 0
	for n := range leasesEach + 1 {
		counts.take()
		begin := time.Now()
		if _, err := g.acquire(ctx, within, keyNames(fmt.Sprintf("lease %d: %s ", n, what), keys)...); err != nil {
			return err
		}
		if n > 0 { // the first one prepares the statements
			times = append(times, time.Since(begin))
			_, lwts = counts.take()
		}
	}
	slices.Sort(times)
	t.figure(what, millis(times[len(times)/2]))
	t.required("  conditional writes", fmt.Sprint(lwts), fmt.Sprint(wanted), lwts == wanted)
	return nil
}
