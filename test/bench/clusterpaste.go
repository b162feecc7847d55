package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"carrel/core/clock"
	"carrel/library"
)

// slicesOfDay is how many partitions a day with few entries has on a cluster. A page reads all of
// them at once.
const slicesOfDay = 4

// measureClusterPastes compares pages of lists of different sizes, pages at different positions, and pages read
// after many of the newest pastes have expired or were made private. It also compares creating a paste with
// creating an item.
func measureClusterPastes(ctx context.Context, o *options, t *table) (err error) {
	var lists []*gateway
	defer func() {
		for _, g := range lists {
			err = errors.Join(err, g.close())
		}
	}()
	counts := newTally() // of the first list
	sizes := pasteSizes(o.pastes)
	for i, size := range sizes {
		counted := counts
		if i > 0 {
			counted = nil
		}
		g, err := o.clusterOfPastes(ctx, fmt.Sprint("pastes", size), size, counted)
		if err != nil {
			return err
		}
		lists = append(lists, g)
	}
	if err := compareClusterPages(ctx, t, sizes, lists); err != nil {
		return err
	}
	few, most := lists[0], lists[len(lists)-1]
	if err := few.countPastePage(ctx, t, counts, "with no pastes of today", 1); err != nil {
		return err
	}
	counts = newTally()
	ofToday, err := o.clusterOfPastes(ctx, "today", fewPastes, counts)
	if err != nil {
		return err
	}
	lists = append(lists, ofToday)
	if err := ofToday.pastesOfToday(ctx); err != nil {
		return err
	}
	if err := ofToday.countPastePage(ctx, t, counts, "with pastes of today", 0); err != nil {
		return err
	}
	if err := most.printSizes(ctx, t); err != nil {
		return err
	}
	t.title("The newest page on Cassandra after the newest %d pastes were hidden (wall time)", hiddenPastes)
	err = measureHiddenPastes(ctx, t, unchangedLists{older: few, ofToday: ofToday}, wall,
		func(string) (*gateway, error) { return o.clusterOfPastes(ctx, "hidden", fewPastes, nil) })
	if err != nil {
		return err
	}
	return few.measureCreations(ctx, t, wall, "on Cassandra (wall time per creation)")
}

// wall returns the wall time, which is what counts on a cluster: most work is not done by
// this process.
func wall(c cost) time.Duration { return c.wall }

// clusterOfPastes creates a keyspace with size pastes, evenly spread over pasteDays.
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

// pastesOfToday adds to a list more pastes than fit on a page, all created within the last second.
func (g *gateway) pastesOfToday(ctx context.Context) error {
	return g.pastesAt(ctx, fewPastes, 5*pageSize, clock.Of(g.runtime.Now()).Add(-time.Second), time.Second, nil)
}

// compareClusterPages reads the newest pastes of each list, and the oldest day of the longest.
func compareClusterPages(ctx context.Context, t *table, sizes []int, lists []*gateway) error {
	var pages []subject
	for i, g := range lists {
		newest, err := g.viaPastes(ctx, "")
		if err != nil {
			return err
		}
		pages = append(pages, subject{fmt.Sprintf("the newest of %d", sizes[i]), newest})
	}
	longest := lists[len(lists)-1]
	oldest, err := longest.cursorOfPaste(ctx, pasteBegan.Add(12*time.Hour))
	if err != nil {
		return err
	}
	inOldestDay, err := longest.viaPastes(ctx, oldest)
	if err != nil {
		return err
	}
	pages = append(pages, subject{fmt.Sprintf("in the oldest day of %d", sizes[len(sizes)-1]), inOldestDay})
	costs, err := compareBy(wall, pages...)
	if err != nil {
		return err
	}
	t.title("A page of 20 pastes on Cassandra (wall time, through the package edge)")
	t.figure(pages[0].name, micros(costs[0].wall))
	for i := 1; i < len(pages); i++ {
		t.ratio(pages[i].name, micros(costs[i].wall), float64(costs[i].wall)/float64(costs[0].wall), wantedFlat)
	}
	return nil
}

// countPastePage counts the statements of a page of a list. It requires that they are: as many reads of
// the newest day as days says, one slice of each partition of a day, and one row for each entry of the
// page and for the one after it. The gateway also does other work, so the lowest count of several pages is taken.
func (g *gateway) countPastePage(ctx context.Context, t *table, counts *tally, which string, days int) error {
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
	parts := []int{sent["list the days of a feed"], sent["list a feed"], sent["read a paste"]}
	others := least - parts[0] - parts[1] - parts[2]
	got := fmt.Sprintf("%d, %d, %d, %d", parts[0], parts[1], parts[2], others)
	wanted := fmt.Sprintf("%d, %d, %d, 0", days, slicesOfDay, pageSize+1)
	t.required("statements of a page "+which+": days, slices, rows, others", got, wanted, got == wanted)
	return nil
}
