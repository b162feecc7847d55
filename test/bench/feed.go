package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

const (
	// hiddenPastes is how many of the newest pastes of a feed expire, or are made private, before the
	// feed is measured.
	hiddenPastes = 100_000
	// fewPastes is the number of older pastes, which are spread over pasteDays.
	fewPastes = 1_000
	pasteDays = 30

	// firstPageWithin and firstClusterPageWithin are the most that the first page of a feed may take after
	// hiddenPastes were hidden.
	firstPageWithin        = 50 * time.Millisecond
	firstClusterPageWithin = time.Second
	// readPause is the time between two pages of a feed that is read continuously.
	readPause = 100 * time.Millisecond
	// headPause is longer than a process keeps the newest entries that it has read of a feed.
	headPause = 1100 * time.Millisecond
	// coldPages is how many pages are measured with pauses of headPause.
	coldPages = 5
)

// measureFeed reads pages of a feed on the embedded store after many of the newest pastes were hidden.
func measureFeed(ctx context.Context, o *options, t *table) error {
	return measureHiddenPastes(ctx, t, firstPageWithin, func(how string) (*gateway, error) {
		dir := filepath.Join(o.dir, "pastes "+how)
		g, err := o.fresh(ctx, dir, library.Tuning{})
		if err != nil {
			return nil, err
		}
		// The store is closed in between, so that its rows are in files.
		if err := errors.Join(g.oldPastes(ctx), g.close()); err != nil {
			return nil, err
		}
		return open(ctx, dir, library.Tuning{})
	})
}

// measureClusterFeed is measureFeed on Cassandra.
func measureClusterFeed(ctx context.Context, o *options, t *table) error {
	return measureHiddenPastes(ctx, t, firstClusterPageWithin, func(string) (*gateway, error) {
		keyspace, err := o.newKeyspace(ctx, "feed")
		if err != nil {
			return nil, err
		}
		g, err := o.openCluster(ctx, keyspace, nil, library.Tuning{})
		if err != nil {
			return nil, err
		}
		if err := g.oldPastes(ctx); err != nil {
			return nil, errors.Join(err, g.close())
		}
		return g, nil
	})
}

// oldPastes creates fewPastes pastes, evenly spread over pasteDays.
func (g *gateway) oldPastes(ctx context.Context) error {
	return g.pastesAt(ctx, 0, fewPastes, began, pasteDays*24*time.Hour, nil)
}

// pastesAt stores n pastes whose times of creation are evenly spread over the time within, starting at
// from. Their titles are numbered from first.
func (g *gateway) pastesAt(ctx context.Context, first, n int, from clock.Instant, within time.Duration, expires *clock.Instant) error {
	return parallel(n, func(i int) error {
		created := from.Add(within / time.Duration(n) * time.Duration(i))
		var id [16]byte
		g.runtime.Random(id[:])
		title := fmt.Sprintf("Paste %d", first+i)
		in := paste.Import{ID: "p:" + hex.EncodeToString(id[:]), Title: &title, Body: "a body of some characters",
			CreatedAt: &created, ExpiresAt: expires}
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

const pastesQuery = `{ latestPastes(first: 20) { edges { cursor node { id title createdAt expiresAt version } }
	pageInfo { hasNextPage hasPreviousPage endCursor } } }`

// measureHiddenPastes reads the newest page of a feed after very many of its newest pastes have expired, and of
// another feed after as many were made private. feed creates these feeds. Each is read ten times a second
// while its pastes are hidden, as in production. within is how long the first page may take.
func measureHiddenPastes(ctx context.Context, t *table, within time.Duration, feed func(how string) (*gateway, error)) error {
	t.title("The newest page after the newest %d pastes were hidden (wall time, through the package edge)", hiddenPastes)
	for _, way := range []struct {
		name string
		hide func(g *gateway) error
	}{
		{"expired", func(g *gateway) error { return g.expirePastes(ctx, hiddenPastes) }},
		{"turned private", func(g *gateway) error { return g.hidePastes(ctx, hiddenPastes) }},
	} {
		g, err := feed(way.name)
		if err != nil {
			return err
		}
		page, err := g.viaQuery(ctx, mediumOwner, pastesQuery, `"Paste `)
		if err != nil {
			return err
		}
		start := time.Now()
		if err = g.whileRead(ctx, page, func() error { return way.hide(g) }); err == nil {
			err = g.measureHidden(ctx, t, way.name, page, within)
		}
		note("hid pastes (%s) and measured the feed in %s", way.name, time.Since(start).Round(time.Second))
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

// measureHidden measures the first page of a feed whose newest pastes were just hidden, and then the slowest of some
// pages that read the feed again.
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
	if err := g.oldPastes(ctx); err != nil {
		return err
	}
	// All pastes must be created before any expires, so this leaves ample time.
	end := clock.Of(g.runtime.Now().Add(10*time.Second + 2*time.Duration(n/fewPastes)*time.Since(start)))
	if err := g.pastesAt(ctx, 2*fewPastes, n, began.Add(pasteDays*24*time.Hour), time.Hour, &end); err != nil {
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
