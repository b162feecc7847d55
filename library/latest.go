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

// FeedConnection is a page of the PUBLIC content of a tenant, the newest first, and FeedEdge one of its edges.
type (
	FeedConnection = cursor.Connection[*Content]
	FeedEdge       = cursor.Edge[*Content]
)

// feedOf returns the feed of the public content of a tenant.
func feedOf(tenant string) feed.Feed { return feed.Feed("content:" + tenant) }

// LatestContent lists the PUBLIC content of a tenant, the newest first by creation.
//
// Errors: BAD_USER_INPUT for the tenant and the arguments; BAD_CURSOR; those of the store.
func (s *Service) LatestContent(ctx context.Context, _ *principal.Viewer, tenant string, args cursor.PageArgs) (*FeedConnection, error) {
	tenant = id.Lower(tenant)
	if err := id.CheckTenant(tenant); err != nil {
		return nil, fault.BadInputf("tenant: %s", principal.MessageOf(err))
	}
	l := &feed.List{Seals: s.Seals, Binding: cursor.Binding(cursor.OfNewContent, 0, tenant), Read: s.engine.Now()}
	now := s.engine.Now
	return feed.ReadConnection(ctx, s.feeds, feedOf(tenant), l, args, s.publicNow, func(c *Content) bool { return c.expired(now()) })
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
