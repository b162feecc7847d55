package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"carrel/backend"
	"carrel/cassandra"
	"carrel/cassandra/cassandratest"
	"carrel/library"
	"carrel/library/listing"
	"carrel/principal"
)

const (
	copyClients = 16 // the number of callers in the comparison of pages
	manyClients = 64 // in a second comparison: enough to keep the cluster busy while some wait for the in-flight lists
	copyRounds  = 5

	wantedOfSlice    = 0.6 // pages from copies, as a part of the throughput of the slice alone
	wantedOfUncached = 8   // pages from copies, as a multiple of pages without a cache
	wantedWithout    = 0.8 // pages that find no copy, as a part of pages without a cache
	wantedHits       = 0.97
	wantedAPage      = 2.2 // statements
	wantedCreators   = 2.5 // statements of a page that includes the creators of its items
	warmUp           = 10 * time.Second
	statementsEach   = 1000 // the pages for which statements are counted
)

// copyTally counts how the entries of pages were served.
type copyTally struct {
	library.Unwatched
	hits, all atomic.Int64
}

// Copied implements library.Watcher.
func (c *copyTally) Copied(hits, refused, misses int) {
	c.hits.Add(int64(hits))
	c.all.Add(int64(hits + refused + misses))
}

// pager reads pages, or what they are compared with.
type pager struct {
	name    string
	page    func(owner principal.ID) error
	clients int // the number of callers; 0 means copyClients
	counts  *tally
	rates   []float64 // of the rounds, in pages a second
}

// median returns the middle one of the rates.
func (p *pager) median() float64 {
	slices.Sort(p.rates)
	return p.rates[len(p.rates)/2]
}

// openCopying assembles the domain on a keyspace, with a header cache.
func (o *options) openCopying(ctx context.Context, keyspace string, counts *tally, c listing.HeaderCache, watch library.Watcher) (*gateway, error) {
	store, err := cassandra.Open(ctx, o.clusterOptions(keyspace, counts))
	if err != nil {
		return nil, err
	}
	if _, err := store.Register(ctx, "bench", "bench", nil); err != nil {
		return nil, err
	}
	return assemble(ctx, store, backend.Config{Remote: true, HeaderCache: c, Watch: watch})
}

// newest returns a function that reads the newest page of a library as its owner, and the creators
// of its items if requested.
func (g *gateway) newest(ctx context.Context, withCreators bool) func(owner principal.ID) error {
	first := pageSize
	return func(owner principal.ID) error {
		q := library.LibraryQuery{Descending: true}
		q.First = &first
		v := &principal.Viewer{User: owner}
		conn, err := g.service.Listing.Library(ctx, v, owner, q)
		if err == nil && len(conn.Edges) != pageSize {
			err = fmt.Errorf("a page of %s has %d edges", owner, len(conn.Edges))
		}
		if err != nil || !withCreators {
			return err
		}
		ids := make([]principal.ID, 0, pageSize)
		for _, e := range conn.Edges {
			if !slices.Contains(ids, e.Node.Creator) {
				ids = append(ids, e.Node.Creator)
			}
		}
		_, err = g.service.People.Principals(ctx, v, ids)
		return err
	}
}

// measureClusterCopies compares pages that copies of headers serve with pages that read
// all headers, with pages that find no copy, and with the slice alone: on one node, and on
// three nodes that have all rows.
func measureClusterCopies(ctx context.Context, o *options, t *table) (err error) {
	if err := measureCopies(ctx, o, 1, t); err != nil {
		return err
	}
	c, err := cassandratest.StartWith(ctx, 3, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	three := *o
	three.hosts, three.replicas = strings.Join(c.Hosts, ","), 3
	return measureCopies(ctx, &three, 3, t)
}

// measureCopies compares the pages on a cluster. They take turns in one process.
func measureCopies(ctx context.Context, o *options, nodes int, t *table) error {
	keyspace, err := o.newKeyspace(ctx, "copies")
	if err != nil {
		return err
	}
	var hits copyTally
	pagers, closeAll, err := o.pagers(ctx, keyspace, &hits)
	defer func() { closeAll() }()
	if err != nil {
		return err
	}
	if err := warm(pagers[0], &hits); err != nil {
		return err
	}
	hits.hits.Store(0)
	hits.all.Store(0)
	for range copyRounds {
		for _, p := range pagers {
			rate, err := p.rate()
			if err != nil {
				return err
			}
			p.rates = append(p.rates, rate)
		}
	}
	t.title("A page of 20 newest edges on Cassandra, %d node(s), %d at a time over %d libraries, medians of %d rounds",
		nodes, copyClients, libraryCount, copyRounds)
	copied, misses, uncached, slice, creators, manyCopied, manySlice := pagers[0], pagers[1], pagers[2], pagers[3], pagers[4], pagers[5], pagers[6]
	for _, p := range pagers {
		median := p.median()
		t.figure(p.name, fmt.Sprintf("%.0f/s (%.0f to %.0f)", median, p.rates[0], p.rates[len(p.rates)-1]))
	}
	share := float64(hits.hits.Load()) / float64(max(1, hits.all.Load()))
	t.required("entries served from copies", fmt.Sprintf("%.1f %%", 100*share), ">= 97 %", share >= wantedHits)
	least := func(what string, a, b, wanted float64) {
		t.line("  "+what, "", fmt.Sprintf("%.2f x", a/b), fmt.Sprintf(">= %.4g x", wanted), verdict(a/b >= wanted))
	}
	least("from copies, of the slice alone", copied.median(), slice.median(), wantedOfSlice)
	t.line(fmt.Sprintf("  the same, %d at a time", manyClients), "", fmt.Sprintf("%.2f x", manyCopied.median()/manySlice.median()), "", "")
	least("from copies, of pages without a cache", copied.median(), uncached.median(), wantedOfUncached)
	least("no copy serves, of pages without a cache", misses.median(), uncached.median(), wantedWithout)
	for _, p := range []*pager{copied, creators, uncached} {
		n, err := p.statements()
		if err != nil {
			return err
		}
		most, ok := "", ""
		if wanted := map[*pager]float64{copied: wantedAPage, creators: wantedCreators}[p]; wanted > 0 {
			most, ok = fmt.Sprintf("<= %.4g", wanted), verdict(n <= wanted)
		}
		t.line("  statements a page, "+p.name, fmt.Sprintf("%.2f", n), "", most, ok)
	}
	return nil
}

// pagers creates libraries and opens what is compared on them.
func (o *options) pagers(ctx context.Context, keyspace string, hits *copyTally) (all []*pager, closeAll func(), err error) {
	var creators *pager
	var open []func()
	closeAll = func() {
		for _, c := range open {
			c()
		}
	}
	for i, c := range []struct {
		name  string
		cache listing.HeaderCache
		watch library.Watcher
	}{
		{"from copies", listing.HeaderCache{Size: 100_000, AlwaysOn: true}, hits},
		{"no copy serves", listing.HeaderCache{Size: 1, AlwaysOn: true}, nil},
		{"without a cache", listing.HeaderCache{}, nil},
	} {
		counts := newTally()
		g, err := o.openCopying(ctx, keyspace, counts, c.cache, c.watch)
		if err != nil {
			return nil, closeAll, err
		}
		open = append(open, func() { _ = g.close() })
		for n := 0; i == 0 && n < libraryCount; n++ {
			if err := g.createLibrary(ctx, libraryOwner(n), librarySize); err != nil {
				return nil, closeAll, err
			}
		}
		all = append(all, &pager{name: c.name, page: g.newest(ctx, false), counts: counts})
		if i == 0 {
			creators = &pager{name: "from copies, with creators", page: g.newest(ctx, true), counts: counts}
		}
	}
	floor, err := newClusterFloor(o.hosts, keyspace)
	if err != nil {
		return nil, closeAll, err
	}
	open = append(open, floor.session.Close)
	all = append(all, &pager{name: "the slice alone", page: func(owner principal.ID) error {
		es, err := floor.slice(ctx, string(owner))
		if err == nil && len(es) != pageSize+1 {
			err = fmt.Errorf("a slice of %s has %d entries", owner, len(es))
		}
		return err
	}})
	all = append(all, creators)
	for _, p := range []*pager{all[0], all[3]} {
		many := *p
		many.name, many.clients = fmt.Sprintf("%s, %d at a time", p.name, manyClients), manyClients
		all = append(all, &many)
	}
	return all, closeAll, nil
}

// warm reads pages until copies serve most entries. A gateway that has just started does
// not know yet which other processes use the keyspace.
func warm(p *pager, hits *copyTally) error {
	for until := time.Now().Add(warmUp); time.Now().Before(until); {
		before := hits.hits.Load()
		for n := range libraryCount {
			if err := p.page(libraryOwner(n)); err != nil {
				return err
			}
		}
		if hits.hits.Load()-before >= libraryCount*pageSize {
			return nil
		}
	}
	return fmt.Errorf("copies serve nothing after %s", warmUp)
}

// rate returns how many pages a second are read in a round.
func (p *pager) rate() (float64, error) {
	var n atomic.Int64
	begin := time.Now()
	err := parallelTasks(cmp.Or(p.clients, copyClients), func(int) error {
		for time.Since(begin) < clusterFor {
			if err := p.page(libraryOwner(int(n.Add(1)) % libraryCount)); err != nil {
				return err
			}
		}
		return nil
	})
	return float64(n.Load()) / time.Since(begin).Seconds(), err
}

// statements returns how many statements a page sends, without those of background work.
func (p *pager) statements() (float64, error) {
	p.counts.take()
	var n atomic.Int64
	err := parallelTasks(copyClients, func(int) error {
		for n.Add(1) <= statementsEach {
			if err := p.page(libraryOwner(int(n.Load()) % libraryCount)); err != nil {
				return err
			}
		}
		return nil
	})
	sent, _ := p.counts.take()
	read := 0
	for _, purpose := range []string{"page a library", "read contents", "read principals", "read a principal", "read what is in flight", "read a library", "read a content"} {
		read += sent[purpose]
	}
	return float64(read) / statementsEach, err
}
