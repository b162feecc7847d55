package headercache

import (
	"context"
	"hash/maphash"
	"sync/atomic"

	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// Exact serves the headers of a store that only this process writes. A header is current as long as no change of its
// partition has begun since before it was read. While a change runs, the headers of its partition are read.
//
// All changes of items, users and groups must be made through Exact.
type Exact struct {
	library.ContentStore
	principal.Store
	cache   *cache
	seed    maphash.Seed
	changes []changes
}

// changes counts the changes of all partitions whose ids have the same hash.
type changes struct{ begun, ended atomic.Uint64 }

// slots is the number of hashes. A change makes an entry in so many useless that is of another partition.
const slots = 1 << 14

// version names the state of a partition: how many changes had begun.
type version struct {
	of    *changes
	begun uint64
}

// NewExact returns a header cache of so many bytes over a store.
func NewExact(contents library.ContentStore, principals principal.Store, bytes int) *Exact {
	x := &Exact{ContentStore: contents, Store: principals, cache: newCache(bytes), seed: maphash.MakeSeed(), changes: make([]changes, slots)}
	x.cache.absent = true
	return x
}

func (x *Exact) changesOf(id string) *changes { return &x.changes[maphash.String(x.seed, id)%slots] }

// now returns the version of what is read from now on; ok is false while a change runs, because then the read may
// return the state before the change or the one after it, and if nothing is kept.
func (x *Exact) now(id string) (m moment, ok bool) {
	c := x.changesOf(id)
	ended := c.ended.Load() // before begun, so that no change begins in between unseen
	m.version = version{c, c.begun.Load()}
	return m, m.begun == ended && x.cache.limit > 0
}

// current reports whether no change has begun since an entry was read.
func current(_ int, e *entry) bool { return e.at.of.begun.Load() == e.at.begun }

// change begins a change of a partition, and returns the function that ends it.
func (x *Exact) change(id string) (end func()) {
	c := x.changesOf(id)
	c.begun.Add(1)
	return func() { c.ended.Add(1) }
}

// Commit implements library.ContentStore.
func (x *Exact) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	defer x.change(string(c.ID))()
	return x.ContentStore.Commit(ctx, c)
}

// CleanUp implements library.ContentStore.
func (x *Exact) CleanUp(ctx context.Context, c *library.Cleanup) error {
	defer x.change(string(c.ID))()
	return x.ContentStore.CleanUp(ctx, c)
}

// CommitPrincipal implements principal.Store.
func (x *Exact) CommitPrincipal(ctx context.Context, c *principal.Commit) (commit.Verdict, error) {
	defer x.change(string(c.ID))()
	return x.Store.CommitPrincipal(ctx, c)
}

// ReadMany implements library.ContentStore. It keeps what is read with at most two members.
func (x *Exact) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	if x.cache.limit == 0 || len(members) > 2 {
		return x.ContentStore.ReadMany(ctx, ids, members)
	}
	found, err := x.readItems(ctx, ids, members)
	if err != nil {
		return nil, err
	}
	rows := make([]library.ContentRows, len(found))
	for i, r := range found {
		rows[i] = *r
	}
	return rows, nil
}

// ReadItems implements listing.Items.
func (x *Exact) ReadItems(ctx context.Context, r *library.Reading, es []library.Entry,
	_ *commit.InFlightSet) ([]*library.ContentRows, error) {
	ids := make([]library.ContentID, len(es))
	for i := range es {
		ids[i] = es[i].Content
	}
	return x.readItems(ctx, ids, r.Members)
}

// Stats returns the current figures.
func (x *Exact) Stats() Stats { return x.cache.stats() }

// InFlightLists implements listing.Items.
func (x *Exact) InFlightLists() *commit.InFlightReader { return nil }

func (x *Exact) readItems(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]*library.ContentRows, error) {
	var k key
	for i, m := range []*principal.ID{&k.first, &k.second} {
		if i < len(members) {
			*m = members[i]
		}
	}
	keyOf := func(i int) key { k.id = string(ids[i]); return k }
	rows := make([]*library.ContentRows, len(ids))
	return x.cache.items(ctx, x.ContentStore, keyOf, members, rows, find(x.cache, rows, keyOf, current), x.now)
}

// ReadPrincipals implements principal.Store.
func (x *Exact) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	found, err := x.ReadHeaders(ctx, ids, nil)
	if err != nil {
		return nil, err
	}
	headers := make([]principal.Header, len(found))
	for i, h := range found {
		headers[i] = *h
	}
	return headers, nil
}

// ReadHeaders implements principal.Headers.
func (x *Exact) ReadHeaders(ctx context.Context, ids []principal.ID, _ *commit.InFlightRead) ([]*principal.Header, error) {
	headers := make([]*principal.Header, len(ids))
	missing := find(x.cache, headers, func(i int) key { return key{id: string(ids[i])} }, current)
	return x.cache.headers(ctx, x.Store, ids, headers, missing, x.now)
}
