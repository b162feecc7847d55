package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
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
	// endedPastes is how many pastes at the head of a list have ended before it is read again.
	endedPastes = 100_000
	// fewPastes and somePastes are the sizes of the shorter lists.
	fewPastes  = 1_000
	somePastes = 100_000
	// pasteDays is the number of days over which the pastes of a list are spread.
	pasteDays = 30

	// The required figures for pastes, as ratios within one run.
	wantedOfPastePage   = 1.5
	wantedOfCreatePaste = 1.3

	// readPause is the time between two pages of a list that is read all the time, and singlePages
	// how many pages a first page is compared with.
	readPause   = 100 * time.Millisecond
	singlePages = 50
)

// pasteBegan is when the oldest paste was created.
var pasteBegan = began

// pasteSizes returns the sizes of the lists that are compared, of which the last is the largest.
func pasteSizes(largest int) []int {
	if largest > somePastes {
		return []int{fewPastes, somePastes, largest}
	}
	return []int{fewPastes, largest}
}

// measurePastes compares pages of the newest pastes by the size of the list, by their
// position in it and by what has happened at its newest end, and compares creations with
// those of items.
func measurePastes(ctx context.Context, o *options, t *table) error {
	sizes := pasteSizes(o.entries)
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
	if err := lists[len(lists)-1].printSizes(ctx, t); err != nil {
		return err
	}
	t.title("The newest page after %d pastes at the head have ended (CPU, the whole edge)", endedPastes)
	// A store of this process does not read the days of a feed again for each page, so one list
	// serves for both comparisons.
	untouched := untouchedLists{older: lists[0], ofToday: lists[0]}
	err := measureEndedPastes(ctx, t, untouched, cpu, func(how string) (*gateway, error) { return o.pasteStore(ctx, "pastes "+how, fewPastes) })
	if err != nil {
		return err
	}
	return measurePasteCreation(ctx, o, t)
}

// pasteStore creates a store with so many pastes, evenly spread over pasteDays, and
// reopens it, so that its rows are in files.
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

// pastesAt stores pastes that were created at even intervals within a time.
func (g *gateway) pastesAt(ctx context.Context, first, n int, from clock.Instant, within time.Duration, expires *clock.Instant) error {
	return parallel(n, func(i int) error {
		created := from.Add(within / time.Duration(n) * time.Duration(i))
		var id [16]byte
		g.runtime.Random(id[:])
		title := fmt.Sprintf("Paste %d", first+i)
		in := paste.Import{ID: "p:" + hex.EncodeToString(id[:]), Title: &title, Body: "a body of some characters", CreatedAt: &created, ExpiresAt: expires}
		return g.again(ctx, func() error {
			_, err := g.pastes.Import(ctx, in)
			return err
		})
	})
}

// again calls f until it succeeds, at most five times. A cluster under the load of an import may
// miss a deadline.
func (g *gateway) again(ctx context.Context, f func() error) (err error) {
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

// viaPastes requests a page of pastes after a cursor from the whole edge; "" is the first
// page.
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
	if err != nil || len(es) == 0 {
		return "", fmt.Errorf("no paste since %s: %v", at, err)
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
		subject{"pastes by the Service", func() error { _, err := lists[0].pastes.Latest(ctx, args); return err }},
		subject{"a library by the Service", func() error {
			_, err := lists[0].service.Library(ctx, asWriter(), writer, library.LibraryQuery{PageArgs: args})
			return err
		}})
	costs, err := compare(subjects...)
	if err != nil {
		return err
	}
	t.title("A page of 20 pastes, over %d days (CPU, the whole edge)", pasteDays)
	t.figure(subjects[0].name, micros(costs[0].cpu))
	for i := 1; i <= len(sizes); i++ {
		t.ratio(subjects[i].name, micros(costs[i].cpu), ratio(costs[i], costs[0]), wantedFlat)
	}
	n := len(costs) - 3
	t.figure("a page of a library of 20 notes with creator", micros(costs[n].cpu))
	t.ratio("the newest pastes, compared with it", micros(costs[0].cpu), ratio(costs[0], costs[n]), wantedOfPastePage)
	t.ratio("the same by the Services alone", micros(costs[n+1].cpu), ratio(costs[n+1], costs[n+2]), wantedOfPastePage)
	return nil
}

// untouchedLists are lists in which nothing has ended, for comparison. On Cassandra a page of a list without entries of today reads the newest day first, so
// each list is compared with one that does the same.
type untouchedLists struct{ older, ofToday *gateway }

// measureEndedPastes reads the newest page of lists after very many pastes at the newest end have
// expired, and after as many were made private. list creates a list for each of the two. The lists
// are read all the time, as the list of the newest pastes is.
func measureEndedPastes(ctx context.Context, t *table, untouched untouchedLists, of func(cost) time.Duration,
	list func(how string) (*gateway, error)) error {
	for _, way := range []struct {
		name      string
		removed   bool // from the list
		untouched *gateway
		end       func(g *gateway) error
	}{
		{"expired", false, untouched.older, func(g *gateway) error { return g.expirePastes(ctx) }},
		// They are created, and so listed, today.
		{"turned private", true, untouched.ofToday, func(g *gateway) error { return g.hidePastes(ctx) }},
	} {
		usual, err := way.untouched.viaPastes(ctx, "")
		if err != nil {
			return err
		}
		g, err := list(way.name)
		if err != nil {
			return err
		}
		page, err := g.viaPastes(ctx, "")
		if err != nil {
			return err
		}
		start := time.Now()
		err = g.whileRead(ctx, page, func() error { return way.end(g) })
		if err == nil {
			err = g.measureEnded(ctx, t, way.name, way.removed, usual, page, of)
		}
		note("%d pastes have %s, and were measured, in %s", endedPastes, way.name, time.Since(start).Round(time.Second))
		if err := errors.Join(err, g.close()); err != nil {
			return err
		}
	}
	return nil
}

// cpu returns the CPU time, which is what counts in one process.
func cpu(c cost) time.Duration { return c.cpu }

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

// measureEnded compares the newest page of a list at whose newest end many pastes have just ended
// with that of another list. There is only one first page, so its limit is the slowest of some single
// pages. These are measured by wall time: the process also uses CPU to remove what has ended. A page
// reads past what was removed in the last three seconds, so single pages are compared after that.
// Later pages are compared by CPU or by wall time.
func (g *gateway) measureEnded(ctx context.Context, t *table, how string, removed bool, usual, page func() error, of func(cost) time.Duration) error {
	first, err := timed(page)
	if err == nil && removed {
		err = g.whileRead(ctx, page, func() error { return g.runtime.After(ctx, 4*time.Second) })
	}
	var without, with []time.Duration
	for range singlePages {
		err = errors.Join(err, g.runtime.After(ctx, readPause))
		for _, one := range []struct {
			times *[]time.Duration
			once  func() error
		}{{&without, usual}, {&with, page}} {
			took, failed := timed(one.once)
			err = errors.Join(err, failed)
			*one.times = append(*one.times, took)
		}
	}
	if err != nil {
		return err
	}
	slices.Sort(without)
	slices.Sort(with)
	typical, slowest := without[singlePages/2], without[singlePages-1]
	t.figure(fmt.Sprintf("%d single pages of a list without them (wall time, median)", singlePages), micros(typical))
	which := "the first page after they have " + how
	if removed {
		t.figure(which, micros(first))
		t.ratio("single pages four seconds later (median)", micros(with[singlePages/2]), float64(with[singlePages/2])/float64(typical), wantedFlat)
	} else {
		t.required(which+" (limit: the slowest of those)", micros(first), "<= "+micros(slowest), first <= slowest)
	}
	for _, when := range []string{"later pages, compared with a list without them", "and some seconds later"} {
		costs, err := compareBy(of, subject{"untouched", usual}, subject{how, page})
		if err != nil {
			return err
		}
		t.ratio(when, micros(of(costs[1])), float64(of(costs[1]))/float64(of(costs[0])), wantedFlat)
	}
	return nil
}

// timed returns how long one call takes.
func timed(once func() error) (time.Duration, error) {
	start := time.Now()
	err := once()
	return time.Since(start), err
}

// expirePastes creates public pastes that expire at the same time, and returns when they have.
func (g *gateway) expirePastes(ctx context.Context) error {
	start := time.Now()
	if err := g.pastesAt(ctx, fewPastes, fewPastes, pasteBegan, pasteDays*24*time.Hour, nil); err != nil {
		return err
	}
	// All pastes must be created before any expires, so this leaves ample time.
	end := clock.Of(g.runtime.Now().Add(10*time.Second + 2*endedPastes/fewPastes*time.Since(start)))
	if err := g.pastesAt(ctx, 2*fewPastes, endedPastes, pasteBegan.Add(pasteDays*24*time.Hour), time.Hour, &end); err != nil {
		return err
	}
	left := end.Time().Sub(g.runtime.Now())
	if left < 0 {
		return fmt.Errorf("the pastes were created %s too late", -left)
	}
	return g.runtime.After(ctx, left)
}

// hidePastes creates public pastes and makes each of them private.
func (g *gateway) hidePastes(ctx context.Context) error {
	private, title := true, "Paste of today"
	return parallel(endedPastes, func(int) error {
		made, err := g.pastes.Create(ctx, &principal.Viewer{}, paste.Create{Title: &title, Body: "a body of some characters"})
		if err == nil {
			_, err = g.pastes.Update(ctx, paste.Update{ID: string(made.Paste.ID), Secret: made.Secret, IsPrivate: input.Some(&private)})
		}
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
	return g.measureCreations(ctx, t, cpu, "in one process (CPU a creation)")
}

func (g *gateway) measureCreations(ctx context.Context, t *table, of func(cost) time.Duration, where string) error {
	if err := g.addWriter(ctx); err != nil {
		return err
	}
	title := "A title"
	costs, err := compareBy(of,
		subject{"createContent", func() error {
			_, err := g.service.CreateContent(ctx, asWriter(), library.CreateContent{Kind: library.Note, Title: title, Visibility: principal.Public})
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
	t.title("Creating a paste, %s", where)
	t.figure("createContent, of a note without a text", micros(of(costs[0])))
	t.ratio("createPaste", micros(of(costs[1])), float64(of(costs[1]))/float64(of(costs[0])), wantedOfCreatePaste)
	return nil
}
