package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/timeline"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

const (
	// hiddenPastes is how many of the newest pastes of a list expire, or are made private, before the
	// list is measured.
	hiddenPastes = 100_000
	// fewPastes is the size of the shortest list.
	fewPastes = 1_000
	// pasteDays is the number of days over which the pastes of a list are spread.
	pasteDays = 30

	// wantedOfPastePage is the most that a page of pastes may cost, relative to a page of a library,
	// and wantedOfCreatePaste the most that creating a paste may cost, relative to creating an item.
	wantedOfPastePage   = 1.5
	wantedOfCreatePaste = 1.3
	// firstPageWithin and firstClusterPageWithin are the most that the first page of a list may take after
	// hiddenPastes were hidden.
	firstPageWithin        = 50 * time.Millisecond
	firstClusterPageWithin = time.Second
	// readPause is the time between two pages of a list that is read continuously.
	readPause = 100 * time.Millisecond
	// headPause is longer than a process keeps the newest entries that it has read of a list.
	headPause = 1100 * time.Millisecond
	// coldPages is how many pages are measured with pauses of headPause.
	coldPages = 5
)

// pasteBegan is when the oldest paste was created.
var pasteBegan = began

// measurePastes compares pages of lists of different sizes and at different positions, and reads pages after
// many of the newest pastes have expired or were made private. It also compares creating a paste with creating
// an item.
func measurePastes(ctx context.Context, o *options, t *table) error {
	sizes := []int{fewPastes, o.entries}
	var lists []*gateway
	defer func() {
		for _, g := range lists {
			_ = g.close() // the figures are already printed
		}
	}()
	for _, size := range sizes {
		g, err := o.pasteStore(ctx, fmt.Sprintf("pastes %d", size), size)
		if err != nil {
			return err
		}
		lists = append(lists, g)
	}
	if err := comparePastePages(ctx, t, sizes, lists); err != nil {
		return err
	}
	err := measureHiddenPastes(ctx, t, firstPageWithin, func(how string) (*gateway, error) { return o.pasteStore(ctx, "pastes "+how, fewPastes) })
	if err != nil {
		return err
	}
	return measurePasteCreation(ctx, o, t)
}

// pasteStore creates a store with size pastes, evenly spread over pasteDays, and reopens it, so that
// its rows are in files.
func (o *options) pasteStore(ctx context.Context, name string, size int) (*gateway, error) {
	dir := filepath.Join(o.dir, name)
	g, err := o.fresh(ctx, dir, library.Tuning{})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := errors.Join(g.pastesAt(ctx, 0, size, pasteBegan, pasteDays*24*time.Hour, nil), g.close()); err != nil {
		return nil, err
	}
	note("made %d pastes in %s", size, time.Since(start).Round(time.Second))
	return open(ctx, dir, library.Tuning{})
}

// pastesAt stores n pastes whose times of creation are evenly spread over the time within, starting at
// from. Their titles are numbered from first.
func (g *gateway) pastesAt(ctx context.Context, first, n int, from clock.Instant, within time.Duration, expires *clock.Instant) error {
	return parallel(n, func(i int) error {
		created := from.Add(within / time.Duration(n) * time.Duration(i))
		var id [16]byte
		g.runtime.Random(id[:])
		title := fmt.Sprintf("Paste %d", first+i)
		in := paste.Import{ID: "p:" + hex.EncodeToString(id[:]), Title: &title, Body: "a body of some characters", CreatedAt: &created, ExpiresAt: expires}
		return g.retry(ctx, func() error {
			_, err := g.pastes.Import(ctx, in)
			return err
		})
	})
}

// retry calls f, and repeats it a second after each error that has the code UNAVAILABLE or leaves open
// whether a write was applied. It calls f at most five times. A cluster under the load of an import may
// miss a deadline.
func (g *gateway) retry(ctx context.Context, f func() error) (err error) {
	for range 5 {
		if err = f(); fault.CodeOf(err) != fault.Unavailable && !fault.MayHaveCommitted(err) {
			return err
		}
		if err := g.runtime.After(ctx, time.Second); err != nil {
			return err
		}
	}
	return err
}

const pastesQuery = `{ latestPastes(first: 20%s) { edges { cursor node { id title createdAt expiresAt version } } pageInfo { hasNextPage hasPreviousPage endCursor } } }`

// viaPastes returns a function that requests a page of pastes through the package edge. after is the
// cursor to continue from, or "" for the newest page.
func (g *gateway) viaPastes(ctx context.Context, after string) (func() error, error) {
	if after != "" {
		after = fmt.Sprintf(", after: %q", after)
	}
	return g.viaQuery(ctx, fmt.Sprintf(pastesQuery, after), `"Paste `)
}

// cursorOfPaste returns a cursor that is followed by the pastes created before an
// instant.
func (g *gateway) cursorOfPaste(ctx context.Context, at clock.Instant) (string, error) {
	es, err := timeline.New(timeline.Config{Store: g.store, Runtime: g.runtime}).Since(ctx, "pastes", timeline.Entry{Created: at}, 1)
	if err != nil {
		return "", fmt.Errorf("reading the pastes since %s: %w", at, err)
	}
	if len(es) == 0 {
		return "", fmt.Errorf("no paste was created since %s", at)
	}
	return g.pastes.CursorAt(es[0]), nil
}

func comparePastePages(ctx context.Context, t *table, sizes []int, lists []*gateway) error {
	var subjects []subject
	add := func(name string, once func() error, err error) error {
		subjects = append(subjects, subject{name, once})
		return err
	}
	for i, g := range lists {
		once, err := g.viaPastes(ctx, "")
		if err := add(fmt.Sprintf("the newest of %d", sizes[i]), once, err); err != nil {
			return err
		}
	}
	last := lists[len(lists)-1]
	oldest, err := last.cursorOfPaste(ctx, pasteBegan.Add(12*time.Hour))
	if err != nil {
		return err
	}
	once, err := last.viaPastes(ctx, oldest)
	if err := add(fmt.Sprintf("in the oldest day of %d", sizes[len(sizes)-1]), once, err); err != nil {
		return err
	}
	if err := lists[0].writeNotes(ctx); err != nil {
		return err
	}
	once, err = lists[0].viaQuery(ctx, fmt.Sprintf(notesQuery, ""), `"displayName"`)
	if err := add("a page of a library", once, err); err != nil {
		return err
	}
	size := pageSize
	args := cursor.PageArgs{First: &size}
	subjects = append(subjects,
		subject{"pastes without the package edge", func() error { _, err := lists[0].pastes.Latest(ctx, args); return err }},
		subject{"a library without it", func() error {
			_, err := lists[0].service.Listing.Library(ctx, asWriter(), writer, library.LibraryQuery{PageArgs: args})
			return err
		}})
	costs, err := compare(subjects...)
	if err != nil {
		return err
	}
	t.title("A page of 20 pastes of %d days (CPU, through the package edge)", pasteDays)
	t.figure(subjects[0].name, micros(costs[0].cpu))
	for i := 1; i <= len(sizes); i++ {
		t.ratio(subjects[i].name, micros(costs[i].cpu), ratio(costs[i], costs[0]), wantedFlat)
	}
	n := len(costs) - 3
	t.figure("a page of a library of 20 notes with creator", micros(costs[n].cpu))
	t.ratio("the newest pastes, compared with it", micros(costs[0].cpu), ratio(costs[0], costs[n]), wantedOfPastePage)
	t.ratio("the same without the package edge", micros(costs[n+1].cpu), ratio(costs[n+1], costs[n+2]), wantedOfPastePage)
	return nil
}

// measureHiddenPastes reads the newest page of a list after very many of its newest pastes have expired, and of
// another list after as many were made private. list creates these lists. Each list is read ten times a second
// while its pastes are hidden, as in production. within is how long the first page may take.
func measureHiddenPastes(ctx context.Context, t *table, within time.Duration, list func(how string) (*gateway, error)) error {
	t.title("The newest page after the newest %d pastes were hidden (wall time, through the package edge)", hiddenPastes)
	for _, way := range []struct {
		name string
		hide func(g *gateway) error
	}{
		{"expired", func(g *gateway) error { return g.expirePastes(ctx, hiddenPastes) }},
		{"turned private", func(g *gateway) error { return g.hidePastes(ctx, hiddenPastes) }},
	} {
		g, err := list(way.name)
		if err != nil {
			return err
		}
		page, err := g.viaPastes(ctx, "")
		if err != nil {
			return err
		}
		start := time.Now()
		if err = g.whileRead(ctx, page, func() error { return way.hide(g) }); err == nil {
			err = g.measureHidden(ctx, t, way.name, page, within)
		}
		note("hid pastes (%s) and measured the list in %s", way.name, time.Since(start).Round(time.Second))
		if err := errors.Join(err, g.close()); err != nil {
			return err
		}
	}
	return nil
}

// whileRead reads a page ten times a second until do has returned.
func (g *gateway) whileRead(ctx context.Context, page, do func() error) error {
	reading, stop := context.WithCancel(ctx)
	read := make(chan error, 1)
	go func() {
		var err error
		for err == nil && g.runtime.After(reading, readPause) == nil {
			err = page()
		}
		read <- err
	}()
	err := do()
	stop()
	return errors.Join(err, <-read)
}

// measureHidden measures the first page of a list whose newest pastes were just hidden, and then the slowest of some
// pages that read the list again.
func (g *gateway) measureHidden(ctx context.Context, t *table, how string, page func() error, within time.Duration) error {
	first, err := timed(page)
	var slowest time.Duration
	for range coldPages {
		err = errors.Join(err, g.runtime.After(ctx, headPause))
		took, failed := timed(page)
		err = errors.Join(err, failed)
		slowest = max(slowest, took)
	}
	if err != nil {
		return err
	}
	t.required("the first page after they have "+how, micros(first), fmt.Sprintf("<= %s", within), first <= within)
	t.figure(fmt.Sprintf("the slowest of %d pages with pauses of %s", coldPages, headPause), micros(slowest))
	return nil
}

// timed returns how long one call takes.
func timed(once func() error) (time.Duration, error) {
	start := time.Now()
	err := once()
	return time.Since(start), err
}

// expirePastes creates n public pastes that expire at the same time, and returns when they have expired.
func (g *gateway) expirePastes(ctx context.Context, n int) error {
	// These never expire. They show how long it takes to create pastes.
	start := time.Now()
	if err := g.pastesAt(ctx, fewPastes, fewPastes, pasteBegan, pasteDays*24*time.Hour, nil); err != nil {
		return err
	}
	// All pastes must be created before any expires, so this leaves ample time.
	end := clock.Of(g.runtime.Now().Add(10*time.Second + 2*time.Duration(n/fewPastes)*time.Since(start)))
	if err := g.pastesAt(ctx, 2*fewPastes, n, pasteBegan.Add(pasteDays*24*time.Hour), time.Hour, &end); err != nil {
		return err
	}
	left := end.Time().Sub(g.runtime.Now())
	if left < 0 {
		return fmt.Errorf("creating the pastes took %s longer than expected", -left)
	}
	return g.runtime.After(ctx, left)
}

// hidePastes creates n public pastes and makes each of them private.
func (g *gateway) hidePastes(ctx context.Context, n int) error {
	made := make([]*paste.Created, n)
	private, title := true, "Paste of today"
	err := parallel(n, func(i int) (err error) {
		made[i], err = g.pastes.Create(ctx, &principal.Viewer{}, paste.Create{Title: &title, Body: "a body of some characters"})
		return err
	})
	if err != nil {
		return err
	}
	return parallel(n, func(i int) error {
		p := made[n-1-i]
		_, err := g.pastes.Update(ctx, paste.Update{ID: string(p.Paste.ID), Secret: p.Secret, IsPrivate: input.Some(&private)})
		return err
	})
}

// measurePasteCreation compares the creation of a paste with that of an item.
func measurePasteCreation(ctx context.Context, o *options, t *table) error {
	g, err := o.fresh(ctx, filepath.Join(o.dir, "created"), library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.addWriter(ctx); err != nil {
		return err
	}
	title := "A title"
	costs, err := compare(
		subject{"createContent", func() error {
			_, err := g.service.Library.CreateContent(ctx, asWriter(), library.CreateContent{Kind: library.Note, Title: title, Visibility: principal.Public})
			return err
		}},
		subject{"createPaste", func() error {
			_, err := g.pastes.Create(ctx, asWriter(), paste.Create{Title: &title, Body: "a body of some characters"})
			return err
		}},
	)
	if err != nil {
		return err
	}
	t.title("Creating a paste, in one process (CPU per creation)")
	t.figure("createContent, of a note without a text", micros(costs[0].cpu))
	t.ratio("createPaste", micros(costs[1].cpu), ratio(costs[1], costs[0]), wantedOfCreatePaste)
	return nil
}
