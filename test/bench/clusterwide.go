package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gocql/gocql"

	"carrel/cassandra"
	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

const (
	wideFew     = 10_000
	wideBatch   = 100 // rows of a batch that fills a wide partition
	wideWriters = 4
	wideTable   = "library_by_principal"
)

// measureWidePartitions compares slices of libraries with few and with very many entries;
// the flag -entries sets the latter.
func measureWidePartitions(ctx context.Context, o *options, t *table) error {
	keyspace, err := o.newKeyspace(ctx, "wide")
	if err != nil {
		return err
	}
	floor, err := newClusterFloor(o.hosts, keyspace)
	if err != nil {
		return err
	}
	defer floor.session.Close()
	if err := floor.flushOften(ctx, keyspace, wideTable); err != nil {
		return err
	}
	store, err := cassandra.Open(ctx, o.clusterOptions(keyspace, nil))
	if err != nil {
		return err
	}
	defer store.Close()
	t.title("A slice of %d entries of a library in one partition, one client (rate, latency; CPU of the node, of the process)",
		pageSize+1)
	var had tableSize
	for _, entries := range []int{wideFew, o.entries} {
		owner := principal.UserID("bench", fmt.Sprintf("wide%d", entries))
		begin := time.Now()
		if err := floor.fill(ctx, owner, entries); err != nil {
			return err
		}
		took := time.Since(begin)
		size, err := o.flushed(ctx, keyspace, wideTable)
		if err != nil {
			return err
		}
		partition := size.minus(had)
		had = size
		t.figure(fmt.Sprintf("%d entries: MB, on disk, index of rows", entries), fmt.Sprintf("%.1f, %.1f, %.2f",
			float64(partition.data)/1e6, float64(partition.disk)/1e6, float64(partition.index)/1e6))
		t.figure("  written", fmt.Sprintf("%.0f/s", float64(entries)/took.Seconds()))
		if err := o.measureSlices(ctx, t, store, owner, entries); err != nil {
			return err
		}
	}
	return nil
}

// measureSlices reads slices of a library at several positions.
func (o *options) measureSlices(ctx context.Context, t *table, store *cassandra.Store, owner principal.ID, entries int) error {
	for _, at := range []struct {
		name   string
		before int
	}{{"newest", entries}, {"in the middle", entries / 2}, {"oldest", pageSize + 1}} {
		q := library.Slice{Owner: owner, Bucket: principal.Private, Limit: pageSize + 1}
		if at.before < entries {
			q.From = &library.EntryKey{Position: wideAt(at.before), Content: itemID(owner, at.before)}
		}
		c, err := o.leastOnNode(1, func(int) error {
			es, err := store.PageLibrary(ctx, q)
			if err == nil && len(es) != pageSize+1 {
				err = fmt.Errorf("a slice of %d entries", len(es))
			}
			return err
		})
		if err != nil {
			return err
		}
		t.figure("  "+at.name, c.String())
	}
	return nil
}

func wideAt(n int) clock.Instant { return began + clock.Instant(n)*1000 }

// fill writes entries directly into a library, in the order of time, as creating that
// many items would.
func (f *clusterFloor) fill(ctx context.Context, owner principal.ID, entries int) error {
	const put = `INSERT INTO library_by_principal (principal_id, bucket, position, content_id, mts, role)
 VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`
	return parallelTasks(wideWriters, func(w int) error {
		for from := w * wideBatch; from < entries; from += wideWriters * wideBatch {
			b := f.session.NewBatch(gocql.UnloggedBatch).WithContext(ctx)
			for n := from; n < min(from+wideBatch, entries); n++ {
				at := int64(wideAt(n))
				b.Query(put, string(owner), int8(principal.Private), at, string(itemID(owner, n)), at, int8(library.Manages), at)
			}
			if err := f.write(ctx, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// write writes a batch, with retries on a slow node.
func (f *clusterFloor) write(ctx context.Context, b *gocql.Batch) (err error) {
	for range retitleTries {
		if err = f.session.ExecuteBatch(b); err == nil {
			return nil
		}
		if err := wait(ctx, time.Second); err != nil {
			return err
		}
	}
	return err
}

// flushOften makes the node flush tables to files soon after each change.
func (f *clusterFloor) flushOften(ctx context.Context, keyspace string, names ...string) error {
	for _, name := range names {
		alter := fmt.Sprintf("ALTER TABLE %s.%s WITH memtable_flush_period_in_ms = 1000", keyspace, name)
		if err := f.session.Query(alter).WithContext(ctx).Exec(); err != nil {
			return err
		}
	}
	return nil
}
