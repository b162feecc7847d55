package feed

import (
	"context"

	"carrel/core/clock"
	"carrel/core/cursor"
)

// List encodes and decodes the cursors of a connection over a feed.
type List struct {
	Seals *cursor.Sealer
	// Binding is what the cursors are bound to (cursor.Binding).
	Binding []byte
	// Read is when the page was read.
	Read clock.Instant
}

// Query converts the arguments of a connection.
//
// Errors: BAD_USER_INPUT; BAD_CURSOR.
func (l *List) Query(args cursor.PageArgs) (Query, error) {
	page, err := args.Resolve()
	if err != nil {
		return Query{}, err
	}
	q := Query{Size: page.Size, Newer: page.Backward}
	if page.Cursor != nil {
		at, _, err := l.Position(*page.Cursor)
		if err != nil {
			return Query{}, err
		}
		q.After = &at
	}
	return q, nil
}

// Position returns the position that a cursor encodes, and when it was read, truncated to cursor.ReadUnit; 0 if that
// is unknown. Its error is BAD_CURSOR.
func (l *List) Position(c string) (e Entry, read clock.Instant, err error) {
	at, err := l.Seals.Open(l.Binding, cursor.Descending, c)
	if err != nil {
		return Entry{}, 0, err
	}
	return Entry{Created: at.At, ID: at.ID}, at.Read, nil
}

// Cursor returns the cursor of a position.
func (l *List) Cursor(e Entry) string {
	return l.Seals.Seal(l.Binding, cursor.Position{Order: cursor.Descending, At: e.Created, ID: e.ID, Read: l.Read})
}

// Info returns the PageInfo of a page with the given ends.
func (l *List) Info(ends Ends) cursor.PageInfo {
	info := cursor.PageInfo{HasNextPage: ends.HasOlder, HasPreviousPage: ends.HasNewer}
	if ends.Newest != nil {
		info.Start = func() string { return l.Cursor(*ends.Newest) }
		info.End = func() string { return l.Cursor(*ends.Oldest) }
	}
	return info
}

// ReadConnection reads the page of a feed that args request. A page can take several reads, so it leaves out the items
// that expired reports to have expired since their own.
//
// Errors: BAD_USER_INPUT for the arguments; BAD_CURSOR; those of the store and of load.
func ReadConnection[T any](ctx context.Context, t *Timelines, feed Feed, l *List, args cursor.PageArgs, load LoadVisible[T],
	expired func(*T) bool) (*cursor.Connection[*T], error) {
	q, err := l.Query(args)
	if err != nil {
		return nil, err
	}
	page, err := Read(ctx, t, feed, q, load)
	if err != nil {
		return nil, err
	}
	c := &cursor.Connection[*T]{Edges: make([]*cursor.Edge[*T], 0, len(page.Found)), PageInfo: l.Info(page.Ends)}
	for _, f := range page.Found {
		if !expired(f.Item) {
			c.Edges = append(c.Edges, &cursor.Edge[*T]{Node: f.Item, Seal: func() string { return l.Cursor(f.Entry) }})
		}
	}
	return c, nil
}
