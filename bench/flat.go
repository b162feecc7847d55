package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"carrel/library"
)

const (
	// wantedFlat is how much more a page may cost that lies deep in a large
	// library than the first page of a small one.
	wantedFlat = 1.2
	deepPage   = 5000
)

// measureFlatness compares pages by the size of the library, by their depth in
// it, and by what has happened to it.
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
	pages := []struct {
		name string
		at   place
	}{
		{fmt.Sprintf("page 1 of %d entries", smallSize), place{owner: smallOwner}},
		{fmt.Sprintf("page 1 of %d", mediumSize), place{owner: mediumOwner}},
		{fmt.Sprintf("page %d of %d", mediumSize/pageSize/2, mediumSize), place{owner: mediumOwner, after: last}},
		{fmt.Sprintf("page 1 of %d", o.entries), place{owner: largeOwner}},
		{fmt.Sprintf("page 1 of %d, newest first", o.entries), place{owner: largeOwner, descending: true}},
		{fmt.Sprintf("page %d of %d", deepPage, o.entries), place{owner: largeOwner, after: deep}},
	}
	var subjects []subject
	for _, p := range pages {
		once, err := g.viaEdge(ctx, p.at)
		if err != nil {
			return err
		}
		subjects = append(subjects, subject{p.name, once})
	}
	walk, err := g.walk(ctx, largeOwner)
	if err != nil {
		return err
	}
	costs, err := compare(append(subjects, subject{"walk", walk})...)
	if err != nil {
		return err
	}
	t.title("A page by size and depth of its library, all in one store (CPU, the whole edge)")
	for i, p := range pages {
		if i == 0 {
			t.figure(p.name, micros(costs[0].cpu))
			continue
		}
		t.ratio(p.name, micros(costs[i].cpu), ratio(costs[i], costs[0]), wantedFlat)
	}
	n := len(costs) - 1
	t.ratio(fmt.Sprintf("one page after the other of %d, none of them read before", o.entries), micros(costs[n].cpu), ratio(costs[n], costs[0]), 0)
	if err := g.close(); err != nil {
		return err
	}
	return measureUpdated(ctx, o, t)
}

// cursorBefore is the cursor after which the n-th page begins.
func (g *gateway) cursorBefore(ctx context.Context, owner library.PrincipalID, n int) (string, error) {
	size := library.MaxPageSize
	q := library.LibraryQuery{PageArgs: library.PageArgs{First: &size}}
	for left := (n - 1) * pageSize; left > 0; left -= size {
		size = min(library.MaxPageSize, left)
		page, err := g.service.Library(ctx, &library.Viewer{User: owner}, owner, q)
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

// walk reads another page each time, from the first one on.
func (g *gateway) walk(ctx context.Context, owner library.PrincipalID) (func() error, error) {
	h, token, err := g.handler(owner)
	if err != nil {
		return nil, err
	}
	w := newSink()
	at := place{owner: owner}
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

// measureUpdated compares the newest page of a library before and after one of
// its items was updated very often: once as the product does it, where an item
// that moves so often is held in place for a minute at a time, and once with
// every update moving it, which leaves as many dead rows behind.
func measureUpdated(ctx context.Context, o *options, t *table) error {
	t.title("The newest page after updates of one item in it (CPU, the whole edge)")
	for _, way := range []struct {
		name    string
		tuning  library.Tuning
		updates int
	}{
		{"by default", library.Tuning{}, o.updates},
		{"each of them moving it", library.Tuning{HotMoves: o.updates + 1, MaxUnsettled: 1 << 20}, o.updates},
	} {
		if err := o.measureUpdatedBy(ctx, t, way.name, way.tuning, way.updates); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) measureUpdatedBy(ctx context.Context, t *table, name string, tuning library.Tuning, updates int) error {
	dir := filepath.Join(o.dir, "updated "+name)
	g, err := o.fresh(ctx, dir, tuning)
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.shelf(ctx, smallOwner, smallSize); err != nil {
		return err
	}
	page, err := g.viaEdge(ctx, place{owner: smallOwner, descending: true})
	if err != nil {
		return err
	}
	before, err := compare(subject{"before", page})
	if err != nil {
		return err
	}
	begin, sent := time.Now(), processCPU()
	item := itemID(smallOwner, smallSize-1)
	for n := range updates {
		if err := g.retitle(ctx, smallOwner, item, n); err != nil {
			return err
		}
	}
	took, spent := time.Since(begin), processCPU()-sent
	after, err := compare(subject{"after", page})
	if err != nil {
		return err
	}
	t.figure("before", micros(before[0].cpu))
	t.ratio(fmt.Sprintf("after %d updates, %s", updates, name), micros(after[0].cpu), ratio(after[0], before[0]), wantedFlat)
	t.figure("  an update", fmt.Sprintf("%s, %s CPU", micros(took/time.Duration(updates)), micros(spent/time.Duration(updates))))
	return nil
}

// retitle updates an item.
func (g *gateway) retitle(ctx context.Context, by library.PrincipalID, item library.ContentID, n int) error {
	title := fmt.Sprintf("The title after %d changes", n+1)
	_, err := g.service.UpdateContent(ctx, &library.Viewer{User: by}, library.UpdateContent{
		ID: string(item), Title: library.Some(&title),
	})
	return err
}
