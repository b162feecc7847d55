package paste

import (
	"context"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/timeline"
)

// Connection is a page of the public pastes, the newest first.
type Connection struct {
	Edges []*Edge
	Info  cursor.PageInfo
}

// Edge is a paste with its place.
type Edge struct {
	Paste *Paste

	at    timeline.Entry
	seals *places
}

// Cursor returns the place of the edge.
func (e *Edge) Cursor() string { return e.seals.cursor(e.at) }

// places seals the places of one page.
type places struct {
	seals *cursor.Sealer
	read  cursor.Place // when the page was read
}

// boundTo is what the cursors of the feed are bound to.
var boundTo = cursor.Binding(cursor.OfPastes, 0, string(feedName))

func (p *places) cursor(e timeline.Entry) string {
	at := p.read
	at.Order, at.Position, at.ID = cursor.Descending, e.Created, e.ID
	return p.seals.Seal(boundTo, at)
}

// Latest returns a page of the public pastes.
//
// Errors: BAD_USER_INPUT for the arguments; BAD_CURSOR; those of the store.
func (s *Service) Latest(ctx context.Context, args cursor.PageArgs) (*Connection, error) {
	page, err := args.Resolve()
	if err != nil {
		return nil, err
	}
	q := timeline.Query{Size: page.Size, Newer: page.Backward}
	if page.Cursor != nil {
		at, err := s.cursors.Open(boundTo, cursor.Descending, *page.Cursor)
		if err != nil {
			return nil, err
		}
		q.Place = &timeline.Entry{Created: at.Position, ID: at.ID}
	}
	seals := &places{seals: s.cursors, read: cursor.Place{Read: s.Now()}}
	found, err := timeline.Read(ctx, s.feeds, feedName, q, s.shown)
	if err != nil {
		return nil, err
	}
	c := &Connection{Edges: make([]*Edge, len(found.Found))}
	for i, f := range found.Found {
		c.Edges[i] = &Edge{Paste: f.Item, at: f.Entry, seals: seals}
	}
	c.Info = cursor.PageInfo{HasNextPage: found.HasOlder, HasPreviousPage: found.HasNewer}
	if found.Newest != nil {
		c.Info.Start = func() string { return seals.cursor(*found.Newest) }
		c.Info.End = func() string { return seals.cursor(*found.Oldest) }
	}
	return c, nil
}

// shown returns the pastes of entries, nil where the row does not justify the entry. It
// implements timeline.Judge. Such an entry is removed in the background.
func (s *Service) shown(ctx context.Context, entries []timeline.Entry) ([]*Paste, error) {
	ids := make([]ID, len(entries))
	for i, e := range entries {
		ids[i] = ID(e.ID)
	}
	ps, err := s.Pastes(ctx, ids)
	if err != nil {
		return nil, err
	}
	now := s.Now()
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

// repair removes an entry that its paste does not justify, or writes it as it should be.
// It implements what Engine.Repairs asks for.
func (s *Service) repair(ctx context.Context, r commit.Repair) error {
	e, ok := r.Row.(timeline.Entry)
	if !ok {
		return nil
	}
	p, err := s.read(ctx, ID(r.Key))
	switch {
	case err != nil:
		return err
	case p == nil || p.CreatedAt != e.Created:
		// The row has been removed since it ended, and an id is never used again.
		return s.feeds.Drop(ctx, feedName, e, s.Now())
	}
	return s.enforce(ctx, p)
}
