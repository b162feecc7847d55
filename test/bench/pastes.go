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
	// hiddenPastes is how many of the newest pastes of a list expire, or are made private, before the
	// list is measured.
	hiddenPastes = 100_000
	// fewPastes and somePastes are the sizes of the shorter lists.
	fewPastes  = 1_000
	somePastes = 100_000
	// pasteDays is the number of days over which the pastes of a list are spread.
	pasteDays = 30

	// wantedOfPastePage is the most that a page of pastes may cost, relative to a page of a library,
	// and wantedOfCreatePaste the most that creating a paste may cost, relative to creating an item.
	wantedOfPastePage   = 1.5
	wantedOfCreatePaste = 1.3

	// readPause is the time between two pages of a list that is read continuously.
	readPause = 100 * time.Millisecond
	// singlePages is how many single pages of an unchanged list are measured. The first page after pastes were
	// hidden is compared with them.
	singlePages = 50
	// After that measurement, hiddenPerRound more pastes are hidden or expire, hideRounds times in a row.
	hiddenPerRound = 4_000
	hideRounds     = 15
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

// measurePastes compares pages of lists of different sizes, pages at different positions, and pages read after
// many of the newest pastes have expired or were made private. It also compares creating a paste with creating
// an item.
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
	t.title("The newest page after the newest %d pastes were hidden (CPU, through the package edge)", hiddenPastes)
	// On the embedded store, a page of a list without pastes of today costs no more than another one.
	unchanged := unchangedLists{older: lists[0], ofToday: lists[0]}
	err := measureHiddenPastes(ctx, t, unchanged, cpu, func(how string) (*gateway, error) { return o.pasteStore(ctx, "pastes "+how, fewPastes) })
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
			_, err := lists[0].service.Library(ctx, asWriter(), writer, library.LibraryQuery{PageArgs: args})
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

// unchangedLists are lists without hidden pastes, for comparison. older has only pastes of earlier days;
// ofToday also has pastes of today. On Cassandra, a page of a list without pastes of today takes one more
// round, so each list is compared with one of the same kind.
type unchangedLists struct{ older, ofToday *gateway }

// measureHiddenPastes reads the newest page of a list after very many of its newest pastes have expired, and of
// two more lists after as many were made private. list creates these lists. Each list is read ten times a second
// while its pastes are hidden, as in production. by selects the cost by which pages are compared.
func measureHiddenPastes(ctx context.Context, t *table, unchanged unchangedLists, by func(cost) time.Duration,
	list func(how string) (*gateway, error)) error {
	for _, way := range []struct {
		name      string
		unchanged *gateway
		hide      func(g *gateway, n int) error
	}{
		{"expired", unchanged.older, func(g *gateway, n int) error { return g.expirePastes(ctx, n) }},
		// The others are created, and so listed, today.
		{"turned private, the newest first", unchanged.ofToday, func(g *gateway, n int) error { return g.hidePastes(ctx, n, true) }},
		{"turned private, the oldest first", unchanged.ofToday, func(g *gateway, n int) error { return g.hidePastes(ctx, n, false) }},
	} {
		usual, err := way.unchanged.viaPastes(ctx, "")
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
		err = g.whileRead(ctx, page, func() error { return way.hide(g, hiddenPastes) })
		if err == nil {
			err = g.measureHidden(ctx, t, way.name, usual, page, by)
		}
		if err == nil {
			err = g.measureHideRounds(ctx, t, way.name, usual, page, func() error { return way.hide(g, hiddenPerRound) })
		}
		note("hid pastes (%s) and measured the list in %s", way.name, time.Since(start).Round(time.Second))
		if err := errors.Join(err, g.close()); err != nil {
			return err
		}
	}
	return nil
}

// measureHideRounds measures the first page several more times. Each time it hides more pastes, then reads a
// page of this list and one of the unchanged list, in alternating order. It compares the medians, because a
// single page may have to wait while the node collects garbage.
func (g *gateway) measureHideRounds(ctx context.Context, t *table, how string, usual, page, again func() error) error {
	var without, with []time.Duration
	for n := range hideRounds {
		if err := g.whileRead(ctx, page, again); err != nil {
			return err
		}
		pair := []func() error{usual, page}
		if n%2 == 1 {
			slices.Reverse(pair)
		}
		first, err := timed(pair[0])
		second, other := timed(pair[1])
		if err := errors.Join(err, other); err != nil {
			return err
		}
		if n%2 == 1 {
			first, second = second, first
		}
		without, with = append(without, first), append(with, second)
	}
	slices.Sort(without)
	slices.Sort(with)
	typical, first := without[hideRounds/2], with[hideRounds/2]
	t.figure(fmt.Sprintf("a page of an unchanged list, right after %d more have %s (wall time, median of %d)", hiddenPerRound, how, hideRounds), micros(typical))
	t.ratio("the first page of this list", micros(first), float64(first)/float64(typical), wantedFlat)
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

// measureHidden compares the newest page of a list, just after many of its newest pastes were hidden,
// with that of an unchanged list. The first page can be measured only once, so it is compared with the
// slowest of singlePages single pages of the unchanged list. Both are measured by wall time, because the
// process also uses CPU to remove pastes. by selects the cost by which later pages are compared.
func (g *gateway) measureHidden(ctx context.Context, t *table, how string, usual, page func() error, by func(cost) time.Duration) error {
	first, err := timed(page)
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
	t.figure(fmt.Sprintf("%d single pages of an unchanged list (wall time, median)", singlePages), micros(typical))
	t.figure("the slowest of them", micros(slowest))
	t.ratio("the first page after the pastes have "+how+", compared with the slowest page of the unchanged list", micros(first), float64(first)/float64(slowest), wantedFlat)
	t.ratio("the following single pages (wall time, median)", micros(with[singlePages/2]), float64(with[singlePages/2])/float64(typical), wantedFlat)
	for _, when := range []string{"later pages, compared with the unchanged list", "and some seconds later"} {
		costs, err := compareBy(by, subject{"unchanged", usual}, subject{how, page})
		if err != nil {
			return err
		}
		t.ratio(when, micros(by(costs[1])), float64(by(costs[1]))/float64(by(costs[0])), wantedFlat)
	}
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

// hidePastes creates n public pastes, waits for four seconds, and makes each of them private, starting with the
// newest or with the oldest. A gap ends at least three seconds before now, so after the wait even the newest
// paste is old enough to be in one.
func (g *gateway) hidePastes(ctx context.Context, n int, newestFirst bool) error {
	made := make([]*paste.Created, n)
	private, title := true, "Paste of today"
	err := parallel(len(made), func(i int) (err error) {
		made[i], err = g.pastes.Create(ctx, &principal.Viewer{}, paste.Create{Title: &title, Body: "a body of some characters"})
		return err
	})
	if err := errors.Join(err, g.runtime.After(ctx, 4*time.Second)); err != nil {
		return err
	}
	if newestFirst {
		slices.Reverse(made)
	}
	return parallel(len(made), func(i int) error {
		_, err := g.pastes.Update(ctx, paste.Update{ID: string(made[i].Paste.ID), Secret: made[i].Secret, IsPrivate: input.Some(&private)})
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
	return g.measureCreations(ctx, t, cpu, "in one process (CPU per creation)")
}

func (g *gateway) measureCreations(ctx context.Context, t *table, by func(cost) time.Duration, where string) error {
	if err := g.addWriter(ctx); err != nil {
		return err
	}
	title := "A title"
	costs, err := compareBy(by,
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
	t.figure("createContent, of a note without a text", micros(by(costs[0])))
	t.ratio("createPaste", micros(by(costs[1])), float64(by(costs[1]))/float64(by(costs[0])), wantedOfCreatePaste)
	return nil
}
