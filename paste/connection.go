package paste

import (
	"context"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/feed"
)

// Connection is a page of the public pastes, newest first, and Edge one of its edges.
type (
	Connection = cursor.Connection[*Paste]
	Edge       = cursor.Edge[*Paste]
)

// list returns the encoder of the cursors of a page that is read now.
func (s *Service) list() *feed.List {
	return &feed.List{Seals: s.cursors, Binding: cursor.Binding(cursor.OfPastes, 0, string(feedName)), Read: s.engine.Now()}
}

// CursorAt returns the cursor of a position in the feed.
func (s *Service) CursorAt(e feed.Entry) string { return s.list().Cursor(e) }

// Latest returns a page of the public pastes.
//
// Errors: BAD_USER_INPUT for the arguments; BAD_CURSOR; those of the store.
func (s *Service) Latest(ctx context.Context, args cursor.PageArgs) (*Connection, error) {
	l := s.list()
	l.Read = l.Read.Add(-feed.ShownWithin) // the page may miss entries that others have put since then
	now := s.engine.Now
	return feed.ReadConnection(ctx, s.feeds, feedName, l, args, s.shown, func(p *Paste) bool { return p.expired(now()) })
}

// LoadBodies reads the long bodies of a page, and removes pastes from it that have ended since
// the page was read.
//
// Errors: those of the store.
func (s *Service) LoadBodies(ctx context.Context, c *Connection) error {
	bodies, err := s.Bodies(ctx, c.Nodes())
	if err != nil {
		return err
	}
	kept := c.Edges[:0]
	for i, e := range c.Edges {
		if bodies[i] != nil {
			e.Node.Body.Text = *bodies[i]
			kept = append(kept, e)
		}
	}
	c.Edges = kept
	return nil
}

// shown returns the pastes of entries, or nil for an entry that is not to be shown according to its
// paste. It is a feed.LoadVisible. Such entries are removed in the background.
func (s *Service) shown(ctx context.Context, entries []feed.Entry) ([]*Paste, error) {
	ps, err := s.readPastes(ctx, refsOf(entries))
	if err != nil {
		return nil, err
	}
	now := s.engine.Now()
	for i, p := range ps {
		if p != nil && p.listed() && p.CreatedAt == entries[i].Created {
			continue
		}
		ps[i] = nil
		if e := entries[i]; e.Until == 0 || e.Until > now {
			s.journal.Repair(commit.Repair{Kind: commit.Paste, Key: e.ID, Row: e})
		}
	}
	return ps, nil
}

// refsOf returns references to the pastes of entries.
func refsOf(entries []feed.Entry) []Ref {
	refs := make([]Ref, len(entries))
	for i, e := range entries {
		refs[i] = Ref{ID: ID(e.ID), CreatedAt: e.Created}
	}
	return refs
}

// repair removes an entry that the feed must not have, or corrects it.
func (s *Service) repair(ctx context.Context, r commit.Repair) error {
	e, ok := r.Row.(feed.Entry)
	if !ok {
		return nil
	}
	p, err := s.read(ctx, ID(r.Key))
	switch {
	case err != nil:
		return err
	case p == nil || p.CreatedAt != e.Created:
		// The row was removed after the paste ended, and an id is never reused.
		return s.feeds.Drop(ctx, feedName, e, s.engine.Now())
	}
	return s.applyIndex(ctx, p)
}
