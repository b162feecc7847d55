package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

const (
	// wantedFlat is the highest cost of a page deep in a large library, in first pages of
	// a small one.
	wantedFlat = 1.2
	deepPage   = 5000
)

type namedPage struct {
	name string
	at   pageSpec
}

// measureFlatness compares pages by the size of the library, by their depth in it, and by
// what has happened to it.
func measureFlatness(ctx context.Context, o *options, t *table) error {
	if err := seedLarge(ctx, o); err != nil {
		return err
	}
	g, err := open(ctx, o.largeDir(), library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	deep, err := g.cursorBefore(ctx, largeOwner, min(deepPage, o.entries/pageSize-2))
	if err != nil {
		return err
	}
	last, err := g.cursorBefore(ctx, mediumOwner, mediumSize/pageSize/2)
	if err != nil {
		return err
	}
	// Each page is compared with the first page of the smallest library, read in the same
	// direction.
	pages := []namedPage{
		{fmt.Sprintf("page 1 of %d entries", smallSize), pageSpec{owner: smallOwner}},
		{fmt.Sprintf("page 1 of %d entries, newest first", smallSize), pageSpec{owner: smallOwner, descending: true}},
		{fmt.Sprintf("page 1 of %d", mediumSize), pageSpec{owner: mediumOwner}},
		{fmt.Sprintf("page %d of %d", mediumSize/pageSize/2, mediumSize), pageSpec{owner: mediumOwner, after: last}},
		{fmt.Sprintf("page 1 of %d", o.entries), pageSpec{owner: largeOwner}},
		{fmt.Sprintf("page 1 of %d, newest first", o.entries), pageSpec{owner: largeOwner, descending: true}},
		{fmt.Sprintf("page %d of %d", deepPage, o.entries), pageSpec{owner: largeOwner, after: deep}},
	}
	if err := g.comparePages(ctx, o, t, pages); err != nil {
		return err
	}
	if err := g.close(); err != nil {
		return err
	}
	return measureUpdated(ctx, o, t)
}

// comparePages compares pages at different positions of one store.
func (g *gateway) comparePages(ctx context.Context, o *options, t *table, pages []namedPage) error {
	var subjects []subject
	for _, p := range pages {
		once, err := g.viaEdge(ctx, p.at)
		if err != nil {
			return err
		}
		subjects = append(subjects, subject{p.name, once})
	}
	next, err := g.nextPages(ctx, largeOwner)
	if err != nil {
		return err
	}
	costs, err := compare(append(subjects, subject{"next pages", next})...)
	if err != nil {
		return err
	}
	t.title("A page by size and depth of its library, all in one store (CPU, through the package edge)")
	for i, p := range pages {
		switch {
		case p.at.owner == smallOwner:
			t.figure(p.name, micros(costs[i].cpu))
		case p.at.descending:
			t.ratio(p.name, micros(costs[i].cpu), ratio(costs[i], costs[1]), wantedFlat)
		default:
			t.ratio(p.name, micros(costs[i].cpu), ratio(costs[i], costs[0]), wantedFlat)
		}
	}
	n := len(costs) - 1
	t.ratio(fmt.Sprintf("consecutive pages of %d, none read before", o.entries), micros(costs[n].cpu), ratio(costs[n], costs[0]), 0)
	return nil
}

// cursorBefore returns the cursor after which the n-th page starts.
func (g *gateway) cursorBefore(ctx context.Context, owner principal.ID, n int) (string, error) {
	size := cursor.MaxPageSize
	q := library.LibraryQuery{PageArgs: cursor.PageArgs{First: &size}}
	for left := (n - 1) * pageSize; left > 0; left -= size {
		size = min(cursor.MaxPageSize, left)
		page, err := g.service.Listing.Library(ctx, &principal.Viewer{User: owner}, owner, q)
		if err != nil {
			return "", err
		}
		q.After = page.PageInfo.EndCursor()
	}
	if q.After == nil {
		return "", nil
	}
	return *q.After, nil
}

// nextPages returns a function that reads the next page of a library in each call, and starts again
// after the last one.
func (g *gateway) nextPages(ctx context.Context, owner principal.ID) (func() error, error) {
	h, token, err := g.handler(owner)
	if err != nil {
		return nil, err
	}
	w := newSink()
	at := pageSpec{owner: owner}
	return func() error {
		r, err := newPageRequest(ctx, "http://gateway/graphql", token, pageBody(at))
		if err != nil {
			return err
		}
		w.reset()
		h.ServeHTTP(w, r)
		if err := whole(w.status, w.body.Bytes()); err != nil {
			return err
		}
		at.after = ""
		if bytes.Contains(w.body.Bytes(), []byte(`"hasNextPage":true`)) {
			at.after = endCursor(w.body.Bytes())
		}
		return nil
	}, nil
}

// measureUpdated compares the newest pages of two equal libraries. In one of them, one item was
// updated very often. It does so with the default tuning, by which such a hot item moves at most
// once a minute, and with a tuning by which every update moves the item and leaves a dead row.
func measureUpdated(ctx context.Context, o *options, t *table) error {
	t.title("The newest page after updates of one item in it (CPU, through the package edge)")
	untouched, err := o.createReopened(ctx, "untouched", library.Tuning{})
	if err != nil {
		return err
	}
	defer untouched.close()
	for _, way := range []struct {
		name   string
		tuning library.Tuning
	}{
		{"by default", library.Tuning{}},
		{"each of which moves the item", library.Tuning{HotMoves: o.updates + 1, MaxUnsettled: 1 << 20}},
	} {
		if err := o.measureUpdatedBy(ctx, t, untouched, way.name, way.tuning); err != nil {
			return err
		}
	}
	return nil
}

// createReopened creates a store with one small library, closes it, and opens it again, so that
// its rows are in files, as in a store that has run for a while.
func (o *options) createReopened(ctx context.Context, name string, tuning library.Tuning) (*gateway, error) {
	dir := filepath.Join(o.dir, name)
	g, err := o.fresh(ctx, dir, tuning)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(g.createLibrary(ctx, smallOwner, smallSize), g.close()); err != nil {
		return nil, err
	}
	return open(ctx, dir, tuning)
}

func (o *options) measureUpdatedBy(ctx context.Context, t *table, untouched *gateway, name string, tuning library.Tuning) error {
	g, err := o.createReopened(ctx, "updated "+name, tuning)
	if err != nil {
		return err
	}
	defer g.close()
	begin, sent := time.Now(), processCPU()
	item := itemID(smallOwner, smallSize-1)
	for n := range o.updates {
		if err := g.retitle(ctx, smallOwner, item, n); err != nil {
			return err
		}
	}
	took, spent := time.Since(begin), processCPU()-sent
	newest := pageSpec{owner: smallOwner, descending: true}
	usual, err := untouched.viaEdge(ctx, newest)
	if err != nil {
		return err
	}
	page, err := g.viaEdge(ctx, newest)
	if err != nil {
		return err
	}
	costs, err := compare(subject{"untouched", usual}, subject{"updated", page})
	if err != nil {
		return err
	}
	t.figure("of a library without updates", micros(costs[0].cpu))
	t.ratio(fmt.Sprintf("after %d updates, %s", o.updates, name), micros(costs[1].cpu), ratio(costs[1], costs[0]), wantedFlat)
	t.figure("  an update", fmt.Sprintf("%s, %s CPU", micros(took/time.Duration(o.updates)), micros(spent/time.Duration(o.updates))))
	return nil
}

// retitle updates an item.
func (g *gateway) retitle(ctx context.Context, by principal.ID, item library.ContentID, n int) error {
	title := fmt.Sprintf("The title after %d changes", n+1)
	_, err := g.service.Library.UpdateContent(ctx, &principal.Viewer{User: by}, library.UpdateContent{
		ID: string(item), Title: input.Some(&title),
	})
	return err
}
