package library

import (
	"context"
	"fmt"
	"sync"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/feed"
	"carrel/core/id"
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

// Bytes returns the length of the texts of the items, which were read whether they are selected or not.
func (c *FeedConnection) Bytes() (n int) {
	for _, e := range c.Edges {
		n += e.Node.Bytes()
	}
	return n
}

// FeedEdge is an item with its position in the feed.
type FeedEdge struct {
	Node *Content

	at   feed.Entry
	seal func(feed.Entry) string
}

// Cursor returns the cursor of the edge.
func (e *FeedEdge) Cursor() string { return e.seal(e.at) }

// feedOf returns the feed of the public content of a tenant.
func feedOf(tenant string) feed.Feed { return feed.Feed("content:" + tenant) }

// LatestContent implements API.
//
// Errors: BAD_USER_INPUT for the tenant and the arguments; BAD_CURSOR; those of the store.
func (s *Service) LatestContent(ctx context.Context, _ *principal.Viewer, tenant string, args cursor.PageArgs) (*FeedConnection, error) {
	tenant = id.Lower(tenant)
	if err := id.CheckTenant(tenant); err != nil {
		return nil, fault.BadInputf("tenant: %s", principal.MessageOf(err))
	}
	l := feed.List{Seals: s.Seals, Binding: cursor.Binding(cursor.OfNewContent, 0, tenant), Read: s.engine.Now()}
	q, err := l.Query(args)
	if err != nil {
		return nil, err
	}
	page, err := feed.Read(ctx, s.feeds, feedOf(tenant), q, s.publicNow)
	if err != nil {
		return nil, err
	}
	c := &FeedConnection{Edges: make([]*FeedEdge, 0, len(page.Found)), PageInfo: l.Info(page.Ends)}
	now := s.engine.Now()
	for _, f := range page.Found {
		// A page can take several reads, and this item may have expired since its own.
		if !f.Item.expired(now) {
			c.Edges = append(c.Edges, &FeedEdge{Node: f.Item, at: f.Entry, seal: l.Cursor})
		}
	}
	return c, nil
}

// publicNow returns the items of entries, nil for those that are not PUBLIC now. It implements
// feed.LoadVisible. Entries of deleted items are removed in the background.
func (s *Service) publicNow(ctx context.Context, entries []feed.Entry) ([]*Content, error) {
	ids := make([]ContentID, len(entries))
	for i, e := range entries {
		ids[i] = ContentID(e.ID)
	}
	rows, err := s.contents.ReadMany(ctx, ids, nil)
	if err != nil {
		return nil, fmt.Errorf("read the content of a feed: %w", err)
	}
	now := s.engine.Now()
	cs := make([]*Content, len(rows))
	for i := range rows {
		h := &rows[i].Header
		switch {
		case h.State != commit.Live || h.CreatedAt != entries[i].Created:
			s.journal.Repair(commit.Repair{Kind: commit.Content, Key: entries[i].ID, Row: entries[i]})
		case h.Visibility == principal.Public && !h.expired(now):
			cs[i] = &h.Content
		}
	}
	return cs, nil
}

// feedPublic updates the entry of an item in the feed of its tenant: an item has an entry from
// the time that it was first PUBLIC, for as long as it may become PUBLIC again.
func (s *Service) feedPublic(ctx context.Context, h *Header) error {
	feed, e := feedOf(h.ID.Tenant()), feed.Entry{Created: h.CreatedAt, ID: string(h.ID)}
	switch {
	case h.State == commit.Live && h.Visibility == principal.Public && !s.listed.has(h.ID):
		if err := s.engine.Retry(ctx, func() error { return s.feeds.Put(ctx, feed, e, h.MTS) }); err != nil {
			return err
		}
		s.listed.add(h.ID)
	case h.State == commit.Deleted && h.wasPublic():
		return s.engine.Retry(ctx, func() error { return s.feeds.Drop(ctx, feed, e, h.MTS) })
	}
	return nil
}

// RepairFeed adds the entry of an item to the feed of its tenant, if it is missing. It reports
// whether it was.
func (u Upkeep) RepairFeed(ctx context.Context, h *Header) (wrong bool, err error) {
	if wrong, err = u.FeedIsWrong(ctx, h); err != nil || !wrong {
		return false, err
	}
	u.s.listed.forget(h.ID)
	return true, u.s.feedPublic(ctx, h)
}

// FeedIsWrong reports whether an item that is PUBLIC is missing in the feed of its tenant.
// Entries of deleted items do not count: readers remove them.
func (u Upkeep) FeedIsWrong(ctx context.Context, h *Header) (bool, error) {
	if h.State != commit.Live || h.Visibility != principal.Public {
		return false, nil
	}
	_, there, err := u.s.feeds.Find(ctx, feedOf(h.ID.Tenant()), feed.Entry{Created: h.CreatedAt, ID: string(h.ID)})
	if err != nil {
		return false, fmt.Errorf("read the feed of public content: %w", err)
	}
	return !there, nil
}

// wasPublic reports whether the item is or was PUBLIC, as far as the header records it.
func (h *Header) wasPublic() bool {
	return h.Visibility == principal.Public || h.Widest == principal.Public || h.PublicUntil != 0
}

// DropFromFeed removes an entry of the feed of public content whose item was deleted, or was
// created again at another time.
func (u Upkeep) DropFromFeed(ctx context.Context, e feed.Entry) error {
	id := ContentID(e.ID)
	rows, err := u.s.contents.Read(ctx, id, ContentQuery{Serial: true})
	if err != nil {
		return err
	}
	if h := &rows.Header; h.State == commit.Live && h.CreatedAt == e.Created {
		return nil
	}
	return u.s.feeds.Drop(ctx, feedOf(id.Tenant()), e, u.s.engine.Now())
}

// mostListed is the number of items that a process remembers as listed in their feeds.
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

func (l *listedContent) forget(id ContentID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ids, id)
}

func (l *listedContent) add(id ContentID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids == nil || len(l.ids) >= mostListed {
		l.ids = make(map[ContentID]bool)
	}
	l.ids[id] = true
}
