package headercache

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// MaxAge is the age from which a header is no longer served by Checked, unless a test sets another one. Changes of
// users and groups must linger on the in-flight lists for twice as long.
const MaxAge = 5 * time.Minute

// Checked serves the headers of a store that other processes write too, to requests that have read the in-flight
// lists (docs/write-protocol.md).
//
// An item serves an entry of a library if no change of it is in flight and it is not older than the state that wrote
// the entry: then nothing that concerns the entry was decided between the read of the item and the request. An entry in
// the order of titles is not written by every change, so that of the last change, at the position of the item, is read
// for it. A user or
// a group is served if no list names it: a change of what pages show of it stays on a list until all headers of the
// former state are too old.
type Checked struct {
	library.ContentStore
	principal.Store
	libraries library.LibraryStore
	lists     *commit.InFlightReader
	rt        sched.Runtime
	log       *slog.Logger
	watch     library.Watcher
	cache     *cache
	maxAge    time.Duration
	pays      *pays
	samples   *sampler
}

// CheckedConfig contains what Checked needs.
type CheckedConfig struct {
	Config
	Contents      library.ContentStore
	Principals    principal.Store
	Libraries     library.LibraryStore
	InFlightLists commit.JournalStore
	Runtime       sched.Runtime
	Log           *slog.Logger
	Watch         library.Watcher
}

// NewChecked returns a header cache. It uses the values of ctx for its reads of the in-flight lists.
func NewChecked(ctx context.Context, c CheckedConfig) *Checked {
	return &Checked{
		ContentStore: c.Contents, Store: c.Principals, libraries: c.Libraries, rt: c.Runtime, log: c.Log, watch: c.Watch,
		lists: commit.NewInFlightReader(ctx, c.InFlightLists, c.Runtime), cache: newCache(c.Bytes), maxAge: cmp.Or(c.MaxAge, MaxAge),
		pays: newPays(c.AlwaysOn), samples: newSampler(c.Runtime, c.SampleEvery),
	}
}

// Stats returns the current figures.
func (c *Checked) Stats() Stats {
	s := c.cache.stats()
	s.InFlight, s.InUse = c.lists.Size(), c.pays.on()
	return s
}

// InFlightLists implements listing.Items. It returns nil while headers are not served.
func (c *Checked) InFlightLists() *commit.InFlightReader {
	if !c.pays.on() {
		return nil
	}
	return c.lists
}

// ReadItems implements listing.Items. It keeps and serves what is read with the member row of the library's owner
// alone, because the entry of a library confirms no other role. Without a set every item is read.
func (c *Checked) ReadItems(ctx context.Context, r *library.Reading, es []library.Entry,
	set *commit.InFlightSet) ([]*library.ContentRows, error) {
	rows := make([]*library.ContentRows, len(es))
	keyOf := func(i int) key { return key{id: string(es[i].Content), first: r.Owner} }
	if set != nil && len(es) > 0 && es[0].Title != "" {
		confirmed, err := c.byChange(ctx, r, es, keyOf)
		if err != nil {
			return nil, err
		}
		es = confirmed
	}
	if len(r.Members) != 1 {
		missing := find(c.cache, rows, keyOf, func(int, *entry) bool { return false })
		return c.cache.items(ctx, c.ContentStore, keyOf, r.Members, rows, missing, func(string) (m moment, ok bool) { return m, false })
	}
	return c.cache.items(ctx, c.ContentStore, keyOf, r.Members, rows, c.servedItems(ctx, r, es, set, keyOf, rows), c.now)
}

// never is later than all states.
const never = clock.Instant(math.MaxInt64)

// byChange returns, for entries in the order of titles, those in the order of the last change at the positions of the
// items in the cache. An entry that is not there, or whose item is not in the cache, is of a state that no item serves.
func (c *Checked) byChange(ctx context.Context, r *library.Reading, es []library.Entry, keyOf func(int) key) ([]library.Entry, error) {
	all := make([]library.Entry, len(es))
	for i := range es {
		all[i] = library.Entry{EntryKey: library.EntryKey{Content: es[i].Content}, MTS: never}
	}
	kept := make([]*library.ContentRows, len(es))
	find(c.cache, kept, keyOf, func(int, *entry) bool { return true })
	var keys []library.EntryKey
	var at []int
	for i, row := range kept {
		if row != nil {
			keys, at = append(keys, row.Header.Key(library.ByChange)), append(at, i)
		}
	}
	for n := 0; n < len(keys); n += input.MaxList {
		end := min(n+input.MaxList, len(keys))
		found, err := c.libraries.EntriesAt(ctx, r.Owner, r.Source, keys[n:end])
		if err != nil {
			return nil, err
		}
		for i, e := range found {
			if e.Content != "" {
				all[at[n+i]] = e
			}
		}
	}
	return all, nil
}

// now returns when a header is read that is read from now on.
func (c *Checked) now(string) (moment, bool) { return moment{Moment: sched.Present(c.rt)}, true }

// old reports whether an entry is too old to be served.
func (c *Checked) old(e *entry, now sched.Moment) bool { return now.Since(e.at.Moment) >= c.maxAge }

// servedItems sets the rows that are served, and returns the indexes of all others.
func (c *Checked) servedItems(ctx context.Context, r *library.Reading, es []library.Entry, set *commit.InFlightSet,
	keyOf func(int) key, rows []*library.ContentRows) (missing []int) {
	hits, refused, now := 0, 0, sched.Present(c.rt)
	missing = find(c.cache, rows, keyOf, func(i int, e *entry) bool {
		if e.mts < es[i].MTS || c.old(e, now) || set != nil && set.Has(commit.Content, e.id) {
			refused++
			return false
		}
		hits++ // even while headers are not served
		return set != nil
	})
	c.pays.count(len(es), hits, c.rt.Elapsed())
	if set == nil {
		return missing
	}
	c.watch.Copied(hits, refused, len(es)-hits-refused)
	for i, row := range rows {
		if row != nil && c.samples.choose() {
			c.compare(ctx, slog.String("content", string(es[i].Content)), func(ctx context.Context) (bool, error) {
				return c.ItemIsWrong(ctx, r.Owner, r.Source, es[i], row)
			})
		}
	}
	return missing
}

// ReadHeaders implements principal.Headers. Without a read of the in-flight lists every header is read.
func (c *Checked) ReadHeaders(ctx context.Context, ids []principal.ID, lists *commit.InFlightRead) ([]*principal.Header, error) {
	headers := make([]*principal.Header, len(ids))
	return c.cache.headers(ctx, c.Store, ids, headers, c.servedHeaders(ctx, ids, lists, headers), c.now)
}

// servedHeaders is servedItems for users and groups.
func (c *Checked) servedHeaders(ctx context.Context, ids []principal.ID, lists *commit.InFlightRead,
	headers []*principal.Header) (missing []int) {
	set := lists.Wait(ctx)
	hits, refused, now := 0, 0, sched.Present(c.rt)
	missing = find(c.cache, headers, func(i int) key { return key{id: string(ids[i])} }, func(_ int, e *entry) bool {
		switch {
		case set == nil:
			return false
		case c.old(e, now) || set.MayHaveChanged(commit.Principal, e.id):
			refused++
			return false
		}
		hits++
		return true
	})
	if lists == nil {
		return missing
	}
	c.watch.CopiedPrincipals(hits, refused, len(ids)-hits-refused)
	for i, h := range headers {
		if h != nil && c.samples.choose() {
			c.compare(ctx, slog.String("principal", string(ids[i])), func(ctx context.Context) (bool, error) {
				return c.HeaderIsWrong(ctx, h, now)
			})
		}
	}
	return missing
}
