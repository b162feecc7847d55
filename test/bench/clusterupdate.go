package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// rowsACommit is how many member rows one commit of the seed writes.
const rowsACommit = 1000

// measureClusterUpdates times updates of an item with the most members until every library is updated, and counts the
// statements.
func measureClusterUpdates(ctx context.Context, o *options, t *table) error {
	keyspace, err := o.newKeyspace(ctx, "update")
	if err != nil {
		return err
	}
	counts := newTally()
	// The answer waits for the whole fan-out, so its time is the time to measure.
	g, err := o.openCluster(ctx, keyspace, counts, library.Tuning{AnswerWithin: 5 * time.Minute, HotMoves: 1 << 20})
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.user(ctx, mediumOwner); err != nil {
		return err
	}
	t.title("An update on Cassandra until all libraries are up to date (wall time, median of %d)", updatesEach)
	if err := g.largeItem(ctx); err != nil {
		return err
	}
	return g.measureClusterUpdate(ctx, t, counts)
}

// largeItem creates an item with the most members, whose libraries all show it.
func (g *gateway) largeItem(ctx context.Context) error {
	if err := g.item(ctx, mediumOwner, 0); err != nil {
		return err
	}
	id := itemID(mediumOwner, 0)
	rows, err := g.store.Contents.Read(ctx, id, library.ContentQuery{})
	if err != nil {
		return err
	}
	h := rows.Header
	for from := 1; from < mostMembers; from += rowsACommit {
		h.Seq++
		h.Unsettled, h.Writers = nil, nil
		added := make([]library.Member, min(rowsACommit, mostMembers-from))
		for i := range added {
			added[i] = library.Member{Principal: reader(from + i), Role: library.Viewing, Seq: h.Seq}
		}
		h.Members += len(added)
		var writer commit.EntryID
		binary.BigEndian.PutUint64(writer[:], uint64(h.Seq))
		verdict, err := g.store.Contents.Commit(ctx, &library.ContentCommit{ID: id, Base: h.Seq - 1, Header: h, Writer: writer, Members: added})
		if err != nil || !verdict.Applied {
			return fmt.Errorf("add members to %s: applied %t, %v", id, verdict.Applied, err)
		}
		err = parallel(len(added), func(i int) error {
			return g.store.Contents.ApplyIndex(ctx, &library.IndexUpdate{Header: &h, Rows: added[i : i+1], All: true})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *gateway) measureClusterUpdate(ctx context.Context, t *table, counts *tally) error {
	var (
		times []time.Duration
		sent  map[string]int
		lwts  int
	)
	for n := range updatesEach + 1 {
		counts.take()
		begin := time.Now()
		if err := g.retitle(ctx, mediumOwner, itemID(mediumOwner, 0), n); err != nil {
			return err
		}
		took := time.Since(begin)
		if err := g.idle(ctx); err != nil {
			return err
		}
		if n > 0 { // the first one prepares the statements
			times = append(times, took)
			sent, lwts = counts.take()
		}
	}
	slices.Sort(times)
	t.figure(fmt.Sprintf("%d members", mostMembers), millis(times[len(times)/2]))
	mutations := float64(sent["update index"]) / float64(mostMembers)
	t.required("  mutations a member", fmt.Sprintf("%.2f", mutations), "1", mutations == 1)
	// The item and its actor; the actor's row; and the members, in slices of 500. No member's
	// library is read.
	reads := sum(sent, "read a content", "read contents", "read a principal", "read principals", "page a library", "read a library")
	t.required("  reads besides slices of members", fmt.Sprint(reads), "<= 4", reads <= 4)
	t.required("  conditional writes", fmt.Sprint(lwts), "2", lwts == 2)
	t.figure("  slices of members, all statements", fmt.Sprintf("%d, %d", sent["read members"], sum(sent)))
	return nil
}

// idle waits until nothing is in flight: cleanup happens after the answer.
func (g *gateway) idle(ctx context.Context) error {
	for ctx.Err() == nil {
		if g.journal.Stats().Entries == 0 {
			return nil
		}
		if err := g.runtime.After(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// retitle updates an item.
func (g *gateway) retitle(ctx context.Context, by principal.ID, item library.ContentID, n int) error {
	title := fmt.Sprintf("The title after %d changes", n+1)
	_, err := g.service.Library.UpdateContent(ctx, &principal.Viewer{User: by}, library.UpdateContent{
		ID: string(item), Title: input.Some(&title),
	})
	return err
}
