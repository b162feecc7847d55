package feed

import (
	"cmp"
	"context"
	"slices"

	"carrel/core/sched"
)

// MaxScanned is the most entries that a page checks against their rows in each direction. Entries that have expired
// are skipped and do not count.
const MaxScanned = 2000

const (
	// minChecked is the smallest size of a batch after the first one of a scan, except for the last. From the third
	// batch on, each is twice as large as the one before, up to maxChecked, because others may be hiding entries
	// faster than small batches are read.
	minChecked = 8
	maxChecked = 256
)

// Query describes a page to read.
type Query struct {
	Size int
	// After is the position that the page follows, or nil to start at an end of the feed. The entry at the position
	// may have been removed.
	After *Entry
	// Newer requests the entries that are just newer than After, or the oldest ones if After is nil. Otherwise the
	// page has the entries that are just older, or the newest ones.
	Newer bool
}

// LoadVisible returns the item of each entry, or nil if it must not be shown. It decides by the rows that the entries
// are derived from.
type LoadVisible[T any] func(ctx context.Context, entries []Entry) ([]*T, error)

// Found is an item of a page, with its entry.
type Found[T any] struct {
	Entry Entry
	Item  *T
}

// Page is a page of a feed, newest first.
type Page[T any] struct {
	Found []Found[T]
	Ends
}

// Ends describes the position of a page in its feed.
type Ends struct {
	// HasNewer and HasOlder report whether more entries are shown on either side. They are also true if the scan of
	// that side ended early because too many entries are not shown.
	HasNewer, HasOlder bool
	// Newest and Oldest are the positions from which to continue on either side; nil if the page is empty, its scan
	// was not cut short, and the query had no After.
	Newest, Oldest *Entry
}

// Read reads a page of a feed. The newest page has what this process had put before the call, and what others had put
// ShownWithin before it.
func Read[T any](ctx context.Context, t *Timelines, feed Feed, q Query, load LoadVisible[T]) (*Page[T], error) {
	forward := &walk{t: t, feed: feed, from: q.After, newer: q.Newer, want: q.Size + 1, budget: maxExpired}
	walks := []*walk{forward}
	if q.After != nil { // otherwise the page begins at an end of the feed
		// An entry at the position itself is on the other side of the page.
		at := &source{pending: []Entry{*q.After}, ended: true}
		walks = append(walks, &walk{t: t, feed: feed, from: q.After, newer: !q.Newer, want: 1, budget: maxExpired, open: []*source{at}})
	} else if !q.Newer {
		h, err := t.heads.of(ctx, feed, func(ctx context.Context) ([]Entry, *Entry, error) { return t.readHead(ctx, feed) })
		if err != nil {
			return nil, err
		}
		forward.open, forward.from, forward.listed = h.sources(), h.end, h.end == nil
	}
	sides := [2]scan[T]{{found: make([]Found[T], 0, q.Size)}}
	err := sched.ForEach(ctx, t.rt, len(walks), t.width, func(i int) error { return sides[i].run(ctx, walks[i], load) })
	if err != nil {
		return nil, err
	}
	newest, oldest := sides[0].ends(q.After)
	p := &Page[T]{Found: sides[0].found, Ends: Ends{HasOlder: sides[0].more, HasNewer: sides[1].more, Newest: newest, Oldest: oldest}}
	if q.Newer {
		slices.Reverse(p.Found)
		p.HasOlder, p.HasNewer = p.HasNewer, p.HasOlder
		p.Newest, p.Oldest = p.Oldest, p.Newest
	}
	return p, nil
}

// readHead reads the head of a feed.
func (t *Timelines) readHead(ctx context.Context, feed Feed) (newestFirst []Entry, end *Entry, err error) {
	w := &walk{t: t, feed: feed, want: headSize, budget: maxExpired}
	newestFirst, err = w.take(ctx, headSize)
	if !w.ended {
		end = w.last
	}
	return newestFirst, end, err
}

// scan is the outcome of a walk whose entries are checked.
type scan[T any] struct {
	found []Found[T]
	// more reports whether another entry that is shown follows, or may follow.
	more bool
	// cut is the last entry scanned if the scan was cut short: a client continues there.
	cut *Entry
}

// run fills a page with the first w.want-1 entries of a walk that are shown, and finds out whether another one
// follows. It is cut short after MaxScanned entries, or if the walk has skipped too many expired entries.
func (s *scan[T]) run(ctx context.Context, w *walk, load LoadVisible[T]) error {
	n, larger := w.want, 0 // most pages need one batch
	for budget := MaxScanned; !s.more; {
		entries, err := w.take(ctx, min(n, budget))
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			if !w.ended {
				s.cut, s.more = w.last, true
			}
			return nil
		}
		items, err := load(ctx, entries)
		if err != nil {
			return err
		}
		for i, item := range items {
			if item == nil {
				continue
			}
			if s.more = len(s.found) == w.want-1; s.more {
				return nil
			}
			s.found = append(s.found, Found[T]{entries[i], item})
		}
		if budget -= len(entries); budget == 0 {
			s.cut, s.more = &entries[len(entries)-1], true
		}
		n = max(w.want-len(s.found), minChecked, larger)
		larger = min(2*n, maxChecked)
	}
	return nil
}

// ends returns the first and the last position of the scan, or the given one if it has none.
func (s *scan[T]) ends(otherwise *Entry) (first, last *Entry) {
	first, last = cmp.Or(s.cut, otherwise), cmp.Or(s.cut, otherwise)
	if n := len(s.found); n > 0 {
		from, to := s.found[0].Entry, s.found[n-1].Entry // copies, because a page may reverse s.found
		first, last = &from, cmp.Or(s.cut, &to)
	}
	return first, last
}
