package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"carrel/library"
)

// measureClusterPastes compares pages of pastes by the size of the list, by their
// position in it and by what has happened at its newest end, and compares creations with
// those of items.
func measureClusterPastes(ctx context.Context, o *options, t *table) (err error) {
	var lists []*gateway
	defer func() {
		for _, g := range lists {
			err = errors.Join(err, g.close())
		}
	}()
	counts := newTally()
	for _, size := range []int{1_000, o.pastes} {
		g, err := o.clusterOfPastes(ctx, fmt.Sprint("pastes", size), size, counts)
		if err != nil {
			return err
		}
		lists = append(lists, g)
	}
	few, many := lists[0], lists[1]
	if err := compareClusterPages(ctx, t, few, many, o.pastes); err != nil {
		return err
	}
	if err := few.countPastePage(ctx, t, counts); err != nil {
		return err
	}
	if err := many.printSizes(ctx, t); err != nil {
		return err
	}
	t.title("The newest page on Cassandra after %d pastes at the head have ended (wall time)", endedPastes)
	err = measureEndedPastes(ctx, t, few, wall, func(string) (*gateway, error) { return o.clusterOfPastes(ctx, "ended", 1_000, nil) })
	if err != nil {
		return err
	}
	return few.measureCreations(ctx, t, wall, "on Cassandra (wall time a creation)")
}

// wall returns the wall time, which is what counts on a cluster: most work is not done by
// this process.
func wall(c cost) time.Duration { return c.wall }

// clusterOfPastes creates a keyspace with so many pastes, evenly spread over pasteDays.
func (o *options) clusterOfPastes(ctx context.Context, name string, size int, counts *tally) (*gateway, error) {
	keyspace, err := o.newKeyspace(ctx, name)
	if err != nil {
		return nil, err
	}
	g, err := o.openCluster(ctx, keyspace, counts, library.Tuning{})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := g.pastesAt(ctx, 0, size, pasteBegan, pasteDays*24*time.Hour, nil); err != nil {
		return nil, errors.Join(err, g.close())
	}
	note("made %d pastes in %s", size, time.Since(start).Round(time.Second))
	return g, nil
}

// compareClusterPages reads the newest pages of a short and of a long list, and the oldest day
// of the long one.
func compareClusterPages(ctx context.Context, t *table, few, many *gateway, pastes int) error {
	newestOfFew, err := few.viaPastes(ctx, "")
	if err != nil {
		return err
	}
	newestOfMany, err := many.viaPastes(ctx, "")
	if err != nil {
		return err
	}
	oldest, err := many.cursorOfPaste(ctx, pasteBegan.Add(12*time.Hour))
	if err != nil {
		return err
	}
	inOldestDay, err := many.viaPastes(ctx, oldest)
	if err != nil {
		return err
	}
	costs, err := compareBy(wall, subject{"few", newestOfFew}, subject{"many", newestOfMany}, subject{"oldest", inOldestDay})
	if err != nil {
		return err
	}
	of := func(c cost) float64 { return float64(c.wall) / float64(costs[0].wall) }
	t.title("A page of 20 pastes on Cassandra (wall time, the whole edge)")
	t.figure("the newest of 1000", micros(costs[0].wall))
	t.ratio(fmt.Sprintf("the newest of %d", pastes), micros(costs[1].wall), of(costs[1]), wantedFlat)
	t.ratio("in the oldest day of them", micros(costs[2].wall), of(costs[2]), wantedFlat)
	return nil
}

// countPastePage counts the statements of a page. The gateway also does other work, so
// the lowest count of several pages is taken.
func (g *gateway) countPastePage(ctx context.Context, t *table, counts *tally) error {
	page, err := g.viaPastes(ctx, "")
	if err != nil {
		return err
	}
	least, sent := math.MaxInt, map[string]int(nil)
	for range 5 {
		counts.take()
		if err := page(); err != nil {
			return err
		}
		if statements, _ := counts.take(); sum(statements) < least {
			least, sent = sum(statements), statements
		}
	}
	t.figure("statements of a page", fmt.Sprint(sent))
	return nil
}
