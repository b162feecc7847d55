package main

import (
	"context"
	"sync/atomic"

	"carrel/backend"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// counting is a store that counts the operations of a change of content.
type counting struct {
	backend.Store

	commits       atomic.Int64 // conditional writes, each synced
	inFlightLists atomic.Int64 // writes of the in-flight list
	indexWrites   atomic.Int64 // calls
	indexedRows   atomic.Int64 // member rows for which the index was updated
	cleanups      atomic.Int64
	pages         atomic.Int64 // of member rows
	rows          atomic.Int64 // single rows read, without pages of member rows
}

func (c *counting) reset() {
	for _, n := range []*atomic.Int64{&c.commits, &c.inFlightLists, &c.indexWrites, &c.indexedRows, &c.cleanups, &c.pages, &c.rows} {
		n.Store(0)
	}
}

// Read implements library.ContentStore.
func (c *counting) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	c.rows.Add(int64(1 + len(q.Members)))
	return c.Store.Read(ctx, id, q)
}

// ReadMany implements library.ContentStore.
func (c *counting) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	c.rows.Add(int64(len(ids) * (1 + len(members))))
	return c.Store.ReadMany(ctx, ids, members)
}

// MembersPage implements library.ContentStore.
func (c *counting) MembersPage(ctx context.Context, id library.ContentID, after principal.ID, limit int, serial bool) (*library.ContentRows, error) {
	c.pages.Add(1)
	return c.Store.MembersPage(ctx, id, after, limit, serial)
}

// Commit implements library.ContentStore.
func (c *counting) Commit(ctx context.Context, commit *library.ContentCommit) (commit.Verdict, error) {
	c.commits.Add(1)
	return c.Store.Commit(ctx, commit)
}

// ApplyIndex implements library.ContentStore.
func (c *counting) ApplyIndex(ctx context.Context, e *library.IndexUpdate) error {
	c.indexWrites.Add(1)
	c.indexedRows.Add(int64(len(e.Rows)))
	return c.Store.ApplyIndex(ctx, e)
}

// CleanUp implements library.ContentStore.
func (c *counting) CleanUp(ctx context.Context, s *library.Cleanup) error {
	c.cleanups.Add(1)
	return c.Store.CleanUp(ctx, s)
}

// PutInFlightList implements commit.JournalStore.
func (c *counting) PutInFlightList(ctx context.Context, l commit.InFlightList) error {
	c.inFlightLists.Add(1)
	return c.Store.PutInFlightList(ctx, l)
}

// PageLibrary implements library.LibraryStore.
func (c *counting) PageLibrary(ctx context.Context, s library.Slice) ([]library.Entry, error) {
	es, err := c.Store.PageLibrary(ctx, s)
	c.rows.Add(int64(len(es)))
	return es, err
}

// OpenLibrary implements library.LibraryStore.
func (c *counting) OpenLibrary(ctx context.Context, s library.Slice, newest bool) (*library.Opening, error) {
	o, err := c.Store.OpenLibrary(ctx, s, newest)
	if err == nil {
		c.rows.Add(int64(len(o.Entries) + 2))
	}
	return o, err
}

// Roles implements library.LibraryStore.
func (c *counting) Roles(ctx context.Context, owner principal.ID, ids []library.ContentID) ([]library.ContentRole, error) {
	c.rows.Add(int64(len(ids)))
	return c.Store.Roles(ctx, owner, ids)
}

// ReadPrincipals implements principal.Store.
func (c *counting) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	c.rows.Add(int64(len(ids)))
	return c.Store.ReadPrincipals(ctx, ids)
}
