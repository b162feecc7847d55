package timeline

import (
	"context"
	"slices"

	"carrel/core/clock"
)

// MaxScanned is the most entries that a page checks against their rows in each direction. Entries
// that have expired are skipped and do not count.
const MaxScanned = 2000

const (
	// minChecked is the smallest number of entries in a batch after the first one of a scan. Only the last
	// batch may be smaller.
	minChecked = 8
	// maxChecked is the size up to which batches grow. From the third one on, each is twice as large as
	// the one before, because others may be hiding entries faster than small batches are read.
	maxChecked = 256
)

// Query describes a page to read.
type Query struct {
	Size int
	// After is the position that the page follows, or nil to start at an end of the feed. The entry
	// at the position may have been removed.
	After *Entry
	// Newer requests the entries that are just newer than After, or the oldest ones if After is
	// nil. Otherwise the page has the entries that are just older, or the newest ones.
	Newer bool
}

// LoadVisible returns the item of each entry, or nil if it must not be shown. It decides by the
// rows that the entries are derived from.
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
	// HasNewer and HasOlder report whether more entries are shown on either side. They are also true if the
	// scan of that side ended early because too many entries are not shown.
	HasNewer, HasOlder bool
	// Newest and Oldest are the positions from which to continue on either side; nil if
	// the page is empty, its scan was not cut short, and the query had no After.
	Newest, Oldest *Entry
}

// Read reads a page of a feed.
func Read[T any](ctx context.Context, t *Timelines, feed Feed, q Query, load LoadVisible[T]) (*Page[T], error) {
	var forward, backward scan[T]
	sides := 1
	if q.After != nil {
		sides = 2 // otherwise the page begins at an end of the feed
	}
	err := t.each(ctx, sides, func(side int) (err error) {
		if side == 0 {
			forward, err = run(ctx, t, feed, q.After, q.Newer, q.Size, nil, load)
			return err
		}
		// An entry at the position itself is on the other side of the page.
		backward, err = run(ctx, t, feed, q.After, !q.Newer, 0, []Entry{*q.After}, load)
		return err
	})
	if err != nil {
		return nil, err
	}
	if q.After == nil && !q.Newer {
		forward.walk.refresh(ctx)
	}
	p := &Page[T]{Found: forward.found, Ends: Ends{HasOlder: forward.more, HasNewer: backward.more, Newest: q.After, Oldest: q.After}}
	if forward.hasEnds {
		p.Newest, p.Oldest = &forward.first, &forward.last
	}
	if q.Newer {
		slices.Reverse(p.Found)
		p.HasOlder, p.HasNewer = p.HasNewer, p.HasOlder
		p.Newest, p.Oldest = p.Oldest, p.Newest
	}
	return p, nil
}

// scan is the outcome of a walk whose entries are checked.
type scan[T any] struct {
	walk  *walk
	found []Found[T]
	// more reports whether another entry that is shown follows, or may follow.
	more bool
	// first and last are the first and the last entry shown. If the scan was cut short, last is the
	// last entry scanned, and so is first if none is shown.
	first, last Entry
	// hasEnds reports whether first and last are set.
	hasEnds bool
}

// run walks until it has found want entries and one more, the feed ends, MaxScanned entries
// were checked, or the walk has skipped too many expired entries. ahead are entries that come
// before those of the walk.
func run[T any](ctx context.Context, t *Timelines, feed Feed, from *Entry, newer bool, want int, ahead []Entry, load LoadVisible[T]) (scan[T], error) {
	var s scan[T]
	now := clock.Of(t.rt.Now())
	w, err := t.newWalk(ctx, feed, from, newer, want+1, now, t.gaps.beginSkipping(feed, t.rt.Elapsed(), now, from == nil && !newer))
	if err != nil {
		return s, err
	}
	s.walk = w
	n, larger := want+1, 0 // most pages need one batch
	for budget := MaxScanned; ; {
		entries := ahead
		if ahead = nil; len(entries) == 0 {
			if entries, err = w.take(ctx, min(n, budget)); err != nil {
				return s, err
			}
			if len(entries) == 0 {
				if w.budget == 0 {
					s.cut(*w.last)
				}
				return s, nil
			}
		}
		items, err := load(ctx, entries)
		if err != nil {
			return s, err
		}
		before := len(s.found)
		if s.add(entries, items, want) {
			return s, nil
		}
		if budget -= len(entries); budget <= 0 {
			s.cut(entries[len(entries)-1])
			return s, nil
		}
		n = max(want+1-len(s.found), minChecked, larger)
		larger = min(2*n, maxChecked)
		if len(s.found) == before {
			// Since the page began, the entries that follow may have expired, or may have been hidden and
			// removed.
			w.asOf = clock.Of(t.rt.Now())
			w.discard(n)
		}
	}
}

// add adds checked entries. It reports whether the page is full.
func (s *scan[T]) add(entries []Entry, items []*T, want int) (full bool) {
	for i, item := range items {
		switch {
		case item == nil:
			continue
		case len(s.found) == want:
			s.more = true
			return true
		}
		s.found = append(s.found, Found[T]{entries[i], item})
		if s.last = entries[i]; !s.hasEnds {
			s.first, s.hasEnds = entries[i], true
		}
	}
	return false
}

// cut ends the page at the last entry that was scanned, where a client continues.
func (s *scan[T]) cut(at Entry) {
	s.more = true
	if s.last = at; !s.hasEnds {
		s.first, s.hasEnds = s.last, true
	}
}
