package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"carrel/library"
	"carrel/library/listing"
	"carrel/principal"
)

// wantedOfSearch is the highest CPU cost of a search that scans as much as a page may.
const wantedOfSearch = 50 * time.Millisecond

// The owners of the libraries that are searched: one with typical items, and one with
// items whose descriptions have the maximum length.
const (
	searchOwner   principal.ID = "u:bench:searched"
	longTextOwner principal.ID = "u:bench:longtexts"
)

// measureSearch measures pages with a filter for words that no item contains, in
// libraries with as many entries as such a page scans.
func measureSearch(ctx context.Context, o *options, t *table) error {
	dir := filepath.Join(o.dir, "search")
	g, err := o.fresh(ctx, dir, library.Tuning{})
	if err != nil {
		return err
	}
	// The store is closed in between, so that its rows are in files.
	if err := errors.Join(g.createLibrary(ctx, searchOwner, listing.MaxFilterScan), g.longTexts(ctx), g.close()); err != nil {
		return err
	}
	if g, err = open(ctx, dir, library.Tuning{}); err != nil {
		return err
	}
	defer g.close()
	const nothing = `"nodes":[],"pageInfo":{"hasNextPage":false}`
	var subjects []subject
	for _, s := range []struct {
		name  string
		owner principal.ID
		text  string
		want  string
	}{
		{fmt.Sprintf("%d items, one word", listing.MaxFilterScan), searchOwner, "nowhere", nothing},
		{"the same, ten words that begin as words of the items do", searchOwner,
			"subjectx knows wherex therex goes readingx librarya ofx isx andy", nothing},
		{"the same, found in the last item", searchOwner, "subject 1999",
			`"nodes":[{"id":"` + string(itemID(searchOwner, listing.MaxFilterScan-1)) + `"}],"pageInfo":{"hasNextPage":false}`},
		{"4 MiB of text in Cyrillic, ten words", longTextOwner, "съешьа жеа ещёа этиха мягкиха французскиха булока даа выпейа чаюа",
			`"nodes":[],"pageInfo":{"hasNextPage":true}`},
	} {
		query := fmt.Sprintf(`{ user(id: %q) { library(filter: {text: %q}) { nodes { id } pageInfo { hasNextPage } } } }`, s.owner, s.text)
		once, err := g.viaQuery(ctx, s.owner, query, s.want)
		if err != nil {
			return err
		}
		subjects = append(subjects, subject{s.name, once})
	}
	all, err := compare(subjects...)
	if err != nil {
		return err
	}
	t.title("A search in a library (CPU a page, through the package edge)")
	for i, s := range all {
		took := s.micros(cpu)
		t.required(subjects[i].name, took.in("%.0f us"), "<= "+millis(wantedOfSearch), took.median <= inUnits(wantedOfSearch, time.Microsecond))
	}
	return nil
}

// longTexts creates a library with more text than a page compares.
func (g *gateway) longTexts(ctx context.Context) error {
	if err := g.user(ctx, longTextOwner); err != nil {
		return err
	}
	const sentence = "Съешь же ещё этих мягких французских булок, да выпей чаю. "
	description := strings.Repeat(sentence, 10_000/len([]rune(sentence)))
	return parallel(250, func(n int) error {
		return g.describedItem(ctx, longTextOwner, n, description)
	})
}
