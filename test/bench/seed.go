package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// The owners of the libraries, each a user of the tenant bench.
const (
	mediumOwner principal.ID = "u:bench:medium"
	largeOwner  principal.ID = "u:bench:large"

	mediumSize = 10_000

	creators = 20 // take turns, so that a page shows all of them
	writers  = 256
)

// began is when the first item was changed; each later one was changed one millisecond
// after the previous one.
var began = clock.Of(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

func creator(n int) principal.ID {
	return principal.UserID("bench", fmt.Sprintf("creator%02d", n%creators))
}

// seedLarge creates the store with the two libraries, unless it exists. Rows are
// written directly to the store, by the same Commit and ApplyIndex as a mutation, many in
// parallel.
func seedLarge(ctx context.Context, o *options) error {
	sizes := map[principal.ID]int{mediumOwner: mediumSize, largeOwner: o.entries}
	done := o.largeDir() + ".done"
	want := fmt.Sprint(sizes)
	if had, err := os.ReadFile(done); err == nil && string(had) == want {
		return nil
	}
	g, err := o.fresh(ctx, storeIn(o.largeDir()), library.Tuning{})
	if err != nil {
		return err
	}
	begin := time.Now()
	for owner, size := range sizes {
		if err := g.createLibrary(ctx, owner, size); err != nil {
			return err
		}
	}
	note("made libraries of %d and %d entries in %s", mediumSize, o.entries, time.Since(begin).Round(time.Second))
	if err := g.close(); err != nil {
		return err
	}
	return os.WriteFile(done, []byte(want), 0o600)
}

// parallel calls f for 0 to n-1, many in parallel, so that they share syncs of the disk,
// and returns the first error.
func parallel(n int, f func(int) error) error {
	var (
		wg    sync.WaitGroup
		next  = make(chan int)
		fault = make(chan error, writers)
	)
	for range writers {
		wg.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					fault <- err
					return
				}
			}
		})
	}
	var err error
	for i := 0; i < n && err == nil; i++ {
		select {
		case next <- i:
		case err = <-fault:
		}
	}
	close(next)
	wg.Wait()
	if err == nil && len(fault) > 0 {
		err = <-fault
	}
	return err
}

func displayName(user principal.ID) string { return "Reader " + user.Name() }

// user creates a PUBLIC user.
func (g *gateway) user(ctx context.Context, id principal.ID) error {
	_, err := g.service.People.Upkeep.ImportUser(ctx, principal.ImportUser{
		ID: string(id), DisplayName: displayName(id), Visibility: principal.Public,
	})
	return err
}

// fresh opens an empty store.
func (o *options) fresh(ctx context.Context, dir string, tuning library.Tuning) (*gateway, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	return open(ctx, dir, tuning)
}

// createLibrary creates a library with size entries, and the creators of its items.
func (g *gateway) createLibrary(ctx context.Context, owner principal.ID, size int) error {
	for n := range creators {
		if err := g.user(ctx, creator(n)); err != nil {
			return err
		}
	}
	if err := g.user(ctx, owner); err != nil {
		return err
	}
	return parallel(size, func(n int) error { return g.item(ctx, owner, n) })
}

func itemID(owner principal.ID, n int) library.ContentID {
	return library.ContentID(fmt.Sprintf("c:bench:%s-%07d", owner.Name(), n))
}

// item creates the n-th item of owner's library, with owner as its only member.
func (g *gateway) item(ctx context.Context, owner principal.ID, n int) error {
	return g.describedItem(ctx, owner, n, fmt.Sprintf("What there is to know about subject %d, and where to go on reading.", n))
}

// describedItem is item with another description.
func (g *gateway) describedItem(ctx context.Context, owner principal.ID, n int, description string) error {
	at := began + clock.Instant(n)*1000
	id := itemID(owner, n)
	link := fmt.Sprintf("https://example.com/subjects/%s/%d", owner.Name(), n)
	h := library.Header{
		Content: library.Content{
			ID: id, Kind: library.Link, Title: fmt.Sprintf("Subject %d of the library of %s", n, owner.Name()),
			Description: &description, Link: &link,
			Visibility: principal.Visibility(1 + n%3), Creator: creator(n),
			CreatedAt: at, LastModified: at, Version: 1,
		},
		State: commit.Live, Seq: 1, MTS: at, Position: at, Widest: principal.Visibility(1 + n%3),
		MovesSince: at, Managers: 1, Members: 1,
	}
	var writer commit.EntryID
	binary.BigEndian.PutUint64(writer[:], uint64(n))
	m := library.Member{Principal: owner, Role: library.Manages, Seq: 1}
	verdict, err := g.store.Contents.Commit(ctx, &library.ContentCommit{ID: id, Header: h, Writer: writer, Members: []library.Member{m}})
	if err != nil || !verdict.Applied {
		return fmt.Errorf("make %s: applied %t, %v", id, verdict.Applied, err)
	}
	return g.store.Contents.ApplyIndex(ctx, &library.IndexUpdate{Header: &h, Rows: []library.Member{m}, All: true})
}
