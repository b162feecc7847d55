package library

import (
	"context"
	"fmt"
	"sync"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/timeline"
	"carrel/principal"
)

// FeedConnection is a page of the PUBLIC content of a tenant, the newest first.
type FeedConnection struct {
	Edges    []*FeedEdge
	PageInfo cursor.PageInfo
}

// Nodes returns the items of the edges.
func (c *FeedConnection) Nodes() []*Content {
	nodes := make([]*Content, len(c.Edges))
	for i, e := range c.Edges {
		nodes[i] = e.Node
	}
	return nodes
}

// FeedEdge is an item with its place.
type FeedEdge struct {
	Node *Content

	at   timeline.Entry
	seal func(timeline.Entry) string
}

// Cursor returns the place of the edge.
func (e *FeedEdge) Cursor() string { return e.seal(e.at) }

// feedOf names the feed of the public content of a tenant.
func feedOf(tenant string) timeline.Feed { return timeline.Feed("content:" + tenant) }

// LatestContent implements API.
//
// Errors: BAD_USER_INPUT for the tenant and the arguments; BAD_CURSOR; those of the store.
func (s *Service) LatestContent(ctx context.Context, _ *principal.Viewer, tenant string, args cursor.PageArgs) (*FeedConnection, error) {
	tenant = id.Lower(tenant)
	if err := id.CheckTenant(tenant); err != nil {
		return nil, fault.BadInputf("tenant: %s", principal.MessageOf(err))
	}
	l := timeline.List{Seals: s.Seals, Bound: cursor.Binding(cursor.OfNewContent, 0, tenant), Read: s.Now()}
	q, err := l.Query(args)
	if err != nil {
		return nil, err
	}
	page, err := timeline.Read(ctx, s.feeds, feedOf(tenant), q, s.publicNow)
	if err != nil {
		return nil, err
	}
	c := &FeedConnection{Edges: make([]*FeedEdge, len(page.Found)), PageInfo: l.Info(page.Ends)}
	for i, f := range page.Found {
		c.Edges[i] = &FeedEdge{Node: f.Item, at: f.Entry, seal: l.Cursor}
	}
	return c, nil
}

// publicNow returns the items of entries, nil for those that are not PUBLIC now. It
// implements timeline.Judge.
func (s *Service) publicNow(ctx context.Context, entries []timeline.Entry) ([]*Content, error) {
	ids := make([]ContentID, len(entries))
	for i, e := range entries {
		ids[i] = ContentID(e.ID)
	}
	rows, err := s.contents.ReadMany(ctx, ids, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the content of a feed: %w", err)
	}
	now := s.Now()
	cs := make([]*Content, len(rows))
	for i := range rows {
		h := &rows[i].Header
		if h.State == commit.Live && h.Visibility == principal.Public && (h.ExpiresAt == nil || *h.ExpiresAt > now) && h.CreatedAt == entries[i].Created {
			cs[i] = &h.Content
		}
	}
	return cs, nil
}

// feedPublic brings the feed of a tenant in line with an item: an item has an entry once it
// was PUBLIC, for as long as it may become PUBLIC again.
func (s *Service) feedPublic(ctx context.Context, h *Header) error {
	feed, e := feedOf(h.ID.Tenant()), timeline.Entry{Created: h.CreatedAt, ID: string(h.ID)}
	switch {
	case h.State == commit.Live && h.Visibility == principal.Public && !s.listed.has(h.ID):
		if err := s.Insist(ctx, func() error { return s.feeds.Put(ctx, feed, e, h.MTS) }); err != nil {
			return err
		}
		s.listed.add(h.ID)
	case h.State == commit.Deleted && h.Widest == principal.Public:
		return s.Insist(ctx, func() error { return s.feeds.Drop(ctx, feed, e, h.MTS) })
	}
	return nil
}

// mostListed is how many items a process remembers as listed in their feeds.
const mostListed = 10_000

// listedContent are items that this process knows to be in the feed of their tenant, so
// that not every change of them writes the entry again.
type listedContent struct {
	mu  sync.Mutex
	ids map[ContentID]bool
}

func (l *listedContent) has(id ContentID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids[id]
}

func (l *listedContent) add(id ContentID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids == nil || len(l.ids) >= mostListed {
		l.ids = make(map[ContentID]bool)
	}
	l.ids[id] = true
}
