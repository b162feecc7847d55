package main

import (
	"context"
	"fmt"

	"carrel/library"
)

const (
	clusterScaleUsers = 2_000
	clusterScaleItems = 3_000
)

// scaleTables are the tables that grow with users, items and members.
var scaleTables = []string{
	"principal", "principal_names", "content", "library_by_principal", "content_by_principal", "library_change",
}

// A tableCount is the number of rows of a table, and their size.
type tableCount struct {
	tableSize
	rows int
}

// measureClusterBytes measures how much space users, items and members take in the files
// of one node.
func measureClusterBytes(ctx context.Context, o *options, t *table) error {
	keyspace, err := o.newKeyspace(ctx, "bytes")
	if err != nil {
		return err
	}
	g, err := o.openCluster(ctx, keyspace, nil, library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	floor, err := newClusterFloor(o.hosts, keyspace)
	if err != nil {
		return err
	}
	defer floor.session.Close()
	if err := floor.flushOften(ctx, keyspace, scaleTables...); err != nil {
		return err
	}
	t.title("Bytes in the files of one node: rows; bytes of each before compression, and on disk with indexes")
	if err := parallel(clusterScaleUsers, func(n int) error { return g.user(ctx, reader(n)) }); err != nil {
		return err
	}
	rows := scaleRows{members: 1, changes: true}
	if err := parallel(clusterScaleItems, func(n int) error { return g.sharedItem(ctx, n, rows) }); err != nil {
		return err
	}
	few, err := o.countTables(ctx, floor, keyspace)
	if err != nil {
		return err
	}
	t.figure(fmt.Sprintf("%d users, %d items with one member", clusterScaleUsers, clusterScaleItems), "")
	t.tables(few, nil)
	rows.members = scaleMembers
	err = parallel(scaleShared, func(n int) error { return g.sharedItem(ctx, clusterScaleItems+n, rows) })
	if err != nil {
		return err
	}
	all, err := o.countTables(ctx, floor, keyspace)
	if err != nil {
		return err
	}
	t.figure(fmt.Sprintf("%d further items with %d members", scaleShared, scaleMembers), "")
	t.tables(all, few)
	item := float64(few["content"].data) / clusterScaleItems
	shared := float64(all["content"].data-few["content"].data) / scaleShared
	member := (shared - item) / (scaleMembers - 1)
	t.figure("a header, a member row, before compression", fmt.Sprintf("%.0f, %.0f", item-member, member))
	return nil
}

// countTables returns the counts of the tables, once all rows are in files.
func (o *options) countTables(ctx context.Context, floor *clusterFloor, keyspace string) (map[string]tableCount, error) {
	counts := map[string]tableCount{}
	for _, name := range scaleTables {
		size, err := o.flushed(ctx, keyspace, name)
		if err != nil {
			return nil, err
		}
		c := tableCount{tableSize: size}
		if err := floor.session.Query("SELECT count(*) FROM " + name).WithContext(ctx).Scan(&c.rows); err != nil {
			return nil, err
		}
		counts[name] = c
	}
	return counts, nil
}

// tables prints what was added to the tables since before.
func (t *table) tables(counts, before map[string]tableCount) {
	for _, name := range scaleTables {
		c, was := counts[name], before[name]
		if n := c.rows - was.rows; n > 0 {
			size := c.minus(was.tableSize)
			t.figure("  "+name, fmt.Sprintf("%d; %s, %s", n, each(size.data, n), each(size.disk, n)))
		}
	}
}
