package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// The inputs of docs/scale.md. The sizes are so large that the fixed overhead of a store
// does not matter.
const (
	scaleUsers   = 20_000
	scaleItems   = 20_000
	scaleShared  = 200
	scaleMembers = 100 // of each of the scaleShared items
)

// measureScale measures the disk space of users, items and members, and calculates the
// cost of the in-flight lists for numbers of gateways that are too large to start.
func measureScale(ctx context.Context, o *options, t *table) error {
	costs := measuredCosts
	printInFlight(t, &costs)
	users, err := o.pebbleBytes(ctx, scaleRows{users: scaleUsers})
	if err != nil {
		return err
	}
	t.title("Bytes on disk on Pebble, compressed")
	t.figure("a user, with its rows of the directory", each(users, scaleUsers))
	few, err := o.pebbleBytes(ctx, scaleRows{items: scaleItems, members: 1})
	if err != nil {
		return err
	}
	t.figure("an item with one member: header, member row, entries, row that lists the item", each(few, scaleItems))
	if err := o.measureEntryBytes(ctx, t); err != nil {
		return err
	}
	shared := scaleRows{items: scaleShared, members: scaleMembers}
	quiet, err := o.pebbleBytes(ctx, shared)
	if err != nil {
		return err
	}
	item := float64(few) / scaleItems
	further := (float64(quiet) - scaleShared*item) / (scaleShared * (scaleMembers - 1))
	t.figure("a further member: member row, entries, row that lists the item", fmt.Sprintf("%.0f", further))
	shared.changes = true
	changed, err := o.pebbleBytes(ctx, shared)
	if err != nil {
		return err
	}
	t.figure("a change row, kept for an hour", each(changed-quiet, scaleShared*scaleMembers))
	return nil
}

// measureEntryBytes measures an entry of a library, for each bucket: a PUBLIC item has three
// entries, a PRIVATE one has one, and their other rows are equally long. Files that a compaction
// has replaced may still be there when a store is closed, so the smallest of several stores counts.
func (o *options) measureEntryBytes(ctx context.Context, t *table) error {
	least := [2]int64{math.MaxInt64, math.MaxInt64}
	for range 3 {
		for i, v := range []principal.Visibility{principal.Private, principal.Public} {
			n, err := o.pebbleBytes(ctx, scaleRows{items: scaleItems, members: 1, visibility: v})
			if err != nil {
				return err
			}
			least[i] = min(least[i], n)
		}
	}
	const further = int(principal.Public - principal.Private) // entries of a PUBLIC item
	t.figure("of these, an entry of a library, for each bucket", each(least[1]-least[0], further*scaleItems))
	return nil
}

func each(bytes int64, n int) string { return fmt.Sprintf("%.0f", float64(bytes)/float64(n)) }

// scaleRows describes what a store contains.
type scaleRows struct {
	users, items int
	members      int                  // of each item
	visibility   principal.Visibility // of the items; 0 for each visibility in turn
	changes      bool                 // each member has a change row
}

// pebbleBytes creates a store with these rows, and returns the size of its tables in bytes.
func (o *options) pebbleBytes(ctx context.Context, rows scaleRows) (int64, error) {
	dir := filepath.Join(o.dir, "scale")
	g, err := o.fresh(ctx, dir, library.Tuning{})
	if err != nil {
		return 0, err
	}
	err = parallel(rows.users, func(n int) error { return g.user(ctx, reader(n)) })
	if err == nil {
		err = parallel(rows.items, func(n int) error { return g.sharedItem(ctx, n, rows) })
	}
	if closed := g.close(); err == nil {
		err = closed
	}
	if err != nil {
		return 0, err
	}
	var bytes int64
	err = filepath.WalkDir(dir, func(path string, file fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".sst") {
			return err
		}
		info, err := file.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

// sharedItem creates the n-th item of a store with such rows, by the same Commit and ApplyIndex as
// a mutation.
func (g *gateway) sharedItem(ctx context.Context, n int, of scaleRows) error {
	at := began + clock.Instant(n)*1000
	id := itemID(mediumOwner, n)
	random := rand.New(rand.NewPCG(uint64(n), 0))
	title, description, link := letters(random, 30), letters(random, 70), "https://example.com/"+letters(random, 20)
	visibility := cmp.Or(of.visibility, principal.Visibility(1+n%3))
	rows := make([]library.Member, of.members)
	for i := range rows {
		rows[i] = library.Member{Principal: reader(i), Role: library.Manages, Seq: 1}
	}
	h := library.Header{
		Content: library.Content{
			ID: id, Kind: library.Link, Title: title, Description: &description, Link: &link,
			Visibility: visibility, Creator: creator(n), CreatedAt: at, LastModified: at, Version: 1,
		},
		State: commit.Live, Seq: 1, MTS: at, Position: at, Widest: visibility, MovesSince: at,
		Managers: of.members, Members: of.members,
	}
	var writer commit.EntryID
	binary.BigEndian.PutUint64(writer[:], uint64(n))
	verdict, err := g.store.Commit(ctx, &library.ContentCommit{ID: id, Header: h, Writer: writer, Members: rows})
	if err != nil || !verdict.Applied {
		return fmt.Errorf("make %s: applied %t, %v", id, verdict.Applied, err)
	}
	e := library.IndexUpdate{Header: &h, Rows: rows, Reverse: true}
	if of.changes {
		e.At = clock.Of(time.Now())
	}
	return g.store.ApplyIndex(ctx, &e)
}

// letters returns a text of random letters, which cannot be compressed much.
func letters(random *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(random.IntN(26))
	}
	return string(b)
}
