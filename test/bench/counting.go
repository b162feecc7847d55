package main

import (
	"context"
	"sync/atomic"

	"carrel/backend"
	"carrel/library"
	"carrel/principal"
)

// counting is a store that counts what a change of content reads and writes.
type counting struct {
	principal.Store
	library.ContentStore
	library.LibraryStore

	indexedRows atomic.Int64 // member rows for which the index was updated
	rows        atomic.Int64 // single rows read, without pages of member rows
}

// count lets a store count.
func count(s *backend.Store) *counting {
	c := &counting{Store: s.Principals, ContentStore: s.Contents, LibraryStore: s.Libraries}
	s.Principals, s.Contents, s.Libraries = c, c, c
	return c
}

func (c *counting) reset() {
	c.indexedRows.Store(0)
	c.rows.Store(0)
}

// Read implements library.ContentStore.
func (c *counting) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	c.rows.Add(int64(1 + len(q.Members)))
	return c.ContentStore.Read(ctx, id, q)
}

// ReadMany implements library.ContentStore.
func (c *counting) ReadMany(ctx context.Context, ids []library.ContentID, members []principal.ID) ([]library.ContentRows, error) {
	c.rows.Add(int64(len(ids) * (1 + len(members))))
	return c.ContentStore.ReadMany(ctx, ids, members)
}

// ApplyIndex implements library.ContentStore.
func (c *counting) ApplyIndex(ctx context.Context, e *library.IndexUpdate) error {
	c.indexedRows.Add(int64(len(e.Rows)))
	return c.ContentStore.ApplyIndex(ctx, e)
}

// PageLibrary implements library.LibraryStore.
func (c *counting) PageLibrary(ctx context.Context, s library.Slice) ([]library.Entry, error) {
	es, err := c.LibraryStore.PageLibrary(ctx, s)
	c.rows.Add(int64(len(es)))
	return es, err
}

// Roles implements library.LibraryStore.
func (c *counting) Roles(ctx context.Context, owner principal.ID, ids []library.ContentID) ([]library.ContentRole, error) {
	c.rows.Add(int64(len(ids)))
	return c.LibraryStore.Roles(ctx, owner, ids)
}

// ReadPrincipals implements principal.Store.
func (c *counting) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	c.rows.Add(int64(len(ids)))
	return c.Store.ReadPrincipals(ctx, ids)
}
